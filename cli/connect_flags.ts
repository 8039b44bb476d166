import type { Flags } from "./arguments.ts";
import type { ConnectRequest, Impersonation } from "./command.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";

type OfFlags = "kubeconfig" | "context" | "timeoutMs" | "impersonation" | "insecure" | "trace";

/** What the global flags say of the connection. Throws CliError for values that mean nothing. */
export function connectFlags(flags: Flags, stderr: Io["stderr"]): Pick<ConnectRequest, OfFlags> {
  const isTraced = (flags.integer("verbose") ?? 0) > 0;
  return {
    kubeconfig: flags.text("kubeconfig"),
    context: flags.text("context"),
    timeoutMs: flags.milliseconds("request-timeout"),
    impersonation: impersonationOf(flags),
    trace: isTraced ? (line) => void stderr.write(`${line}\n`) : undefined,
    insecure: flags.on("insecure-skip-tls-verify"),
  };
}

function impersonationOf(flags: Flags): Impersonation | undefined {
  const user = flags.text("as");
  const groups = flags.all("as-group");
  if (user === undefined && groups.length === 0) return undefined;
  if (user === undefined || user === "")
    throw new CliError("a group is taken on by a user alone: name that user with --as NAME, too");
  return { user, groups };
}
