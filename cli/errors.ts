import { isKubeError, type KubeError } from "../kube/index.ts";

/** A refusal that the user can act upon: printed as one line, without a stack. */
export class CliError extends Error {
  override readonly name = "CliError";
  /** Exit code of the process. */
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? 1;
  }
}

/** One line for standard error, in the words that kubectl's users know. */
export function describeError(error: unknown): string {
  if (error instanceof CliError) return `error: ${error.message}`;
  if (isKubeError(error)) return describeKubeError(error);
  if (error instanceof Error) return `error: ${error.message}`;
  return `error: ${String(error)}`;
}

function describeKubeError(error: KubeError): string {
  if (error.status !== undefined) {
    // The client puts the request before the server's words; the words name the object already.
    const words = error.message.replace(/^[A-Z]+ [\w./-]+: /, "");
    return `Error from server (${error.reason}): ${words}`;
  }
  if (error.code === "Timeout")
    return `Unable to connect to the server: ${error.message}; where it is only slow, give a longer --request-timeout`;
  if (error.code === "Network") {
    return `Unable to connect to the server: ${error.message}; see whether it runs, and whether --kubeconfig and --context name the right one`;
  }
  if (error.code === "Config" && error.message.startsWith("no credentials"))
    return `error: ${error.message}; give --kubeconfig FILE, or start a cluster to try with "refit up"`;
  if (error.code === "Config" && error.message.startsWith("kubeconfig"))
    return `error: ${error.message}; give another one with --kubeconfig FILE or KUBECONFIG`;
  return `error: ${error.message}`;
}
