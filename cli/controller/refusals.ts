/** Counts refusals and writes the audit file of protection. Spec: platform 3, 4.1; protection A5, B5. */
import { accessSync, appendFile, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Refusal } from "../../controller/index.ts";
import { createCounter, type Log, type Registry } from "../../kube/index.ts";
import { CliError } from "../errors.ts";

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
  const count = counters(registry);
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

function counters(registry: Registry): (refusal: Refusal) => void {
  const object = ["kind_namespace_name", "username"];
  const cluster = ["name", "username"];
  const namespaces = createCounter(
    registry,
    "namespace_deletion_protection",
    "Refused deletions of namespaces.",
    cluster,
  );
  const definitions = createCounter(
    registry,
    "crd_deletion_protection",
    "Refused deletions of definitions.",
    cluster,
  );
  const workloads = createCounter(
    registry,
    "workload_deletion_protection",
    "Refused deletions of workloads.",
    object,
  );
  const budgets = createCounter(
    registry,
    "pod_unavailable_budget",
    "Operations on pods that a PodUnavailableBudget refused.",
    object,
  );
  return ({ event, kind, namespace, name, userName: username, counted = { kind, name } }) => {
    const labels = { kind_namespace_name: `${counted.kind}_${namespace}_${counted.name}`, username };
    if (event === "PodUnavailableBudget") budgets.inc(labels);
    else if (kind === "Namespace") namespaces.inc({ name, username });
    else if (kind === "CustomResourceDefinition") definitions.inc({ name, username });
    else workloads.inc(labels);
  };
}
