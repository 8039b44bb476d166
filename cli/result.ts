/** How a command that changed an object says so: a sentence, or the object as -o asks. */
import { stringify } from "yaml";
import type { Call } from "./command.ts";
import { CliError } from "./errors.ts";
import type { AnyObject } from "./fields.ts";
import { objectName, type ResourceType } from "./resource_types.ts";

export type OutputFormat = "json" | "yaml" | "name";

export function outputFormat(call: Call): OutputFormat | undefined {
  const text = call.flags.text("output");
  if (text === undefined || text === "") return undefined;
  if (text === "json" || text === "yaml" || text === "name") return text;
  throw new CliError(
    `unable to match a printer suitable for the output format "${text}"; allowed are json, yaml and name`,
  );
}

/** `json` and `yaml` of anything; without the bookkeeping that nobody reads. */
export function renderObject(value: object, format: "json" | "yaml"): string {
  return format === "json" ? `${JSON.stringify(value, undefined, 4)}\n` : stringify(value, { lineWidth: 0 });
}

export function withoutManagedFields(object: AnyObject): AnyObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

export type DryRun = "none" | "client" | "server";

export function dryRunOf(call: Call): DryRun {
  const text = call.flags.text("dry-run") ?? "none";
  if (text === "none" || text === "client" || text === "server") return text;
  if (text === "true") return "client";
  if (text === "false") return "none";
  throw new CliError(`invalid value "${text}" for --dry-run: must be none, client or server`);
}

/** Prints `cloneset.apps.kruise.io/sample paused`, or the object. */
export function printResult(
  call: Call,
  type: ResourceType,
  object: AnyObject,
  did: string,
  dryRun: DryRun = "none",
): void {
  const name = objectName(type, object.metadata.name ?? "");
  const format = outputFormat(call);
  if (format === "json" || format === "yaml") {
    call.io.stdout.write(renderObject(withoutManagedFields(object), format));
    return;
  }
  if (format === "name") {
    call.print(name);
    return;
  }
  const suffix = dryRun === "none" ? "" : dryRun === "client" ? " (dry run)" : " (server dry run)";
  call.print(`${name} ${did}${suffix}`);
}
