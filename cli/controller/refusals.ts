/** Counts refusals and writes the audit file of protection. Spec: platform 3, 4.1; protection A5, B5. */
import { accessSync, appendFile, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Refusal } from "../../controller/index.ts";
import type { Log, Registry } from "../../kube/index.ts";
import { CliError } from "../errors.ts";
import { refusalCounters } from "./metrics.ts";

export interface AuditSettings {
  readonly folder: string;
  /** Given by the user: created when missing, and an error when that fails. Else written only where it exists. */
  readonly required: boolean;
}

const fileName = "protection.log";

/** Throws CliError when a required file cannot be written. */
export function refusalRecorder(
  registry: Registry,
  log: Log,
  audit: AuditSettings,
): (refusal: Refusal) => void {
  const count = refusalCounters(registry);
  const file = auditFile(audit);
  return (refusal) => {
    const { event, kind, namespace, name, userName } = refusal;
    count(refusal);
    log.info("refused", {
      event,
      kind,
      object: namespace === "" ? name : `${namespace}/${name}`,
      user: userName,
    });
    if (file === undefined) return;
    const line = { Event: event, Kind: kind, Namespace: namespace, Name: name, UserAgent: userName };
    appendFile(file, `${JSON.stringify(line)}\n`, (error) => {
      if (error) log.warn("the audit file could not be written", { error, file });
    });
  };
}

function auditFile({ folder, required }: AuditSettings): string | undefined {
  const file = join(folder, fileName);
  try {
    if (required) mkdirSync(folder, { recursive: true });
    else accessSync(folder, constants.W_OK);
    closeSync(openSync(file, "a", 0o640));
    return file;
  } catch (cause) {
    if (!required) return undefined;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError(`--protection-log-path: ${file} cannot be written: ${why}`, { cause });
  }
}
