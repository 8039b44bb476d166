/** How a command that changed an object says so: a sentence, or the object as -o asks. */
import { stringify } from "yaml";
import type { Call } from "./command.ts";
import { CliError } from "./errors.ts";
import { type AnyObject, type Fields, isFields } from "./fields.ts";
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

/** An object, or a list of them, as `json` or `yaml`. */
export function renderObject(value: object, format: "json" | "yaml"): string {
  const ordered = inUsualOrder(value);
  return format === "json"
    ? `${JSON.stringify(ordered, undefined, 4)}\n`
    : stringify(ordered, { lineWidth: 0 });
}

/** Who it is first, what it is to be, and what is observed last; the server may have sent them in any order. */
function inUsualOrder(value: object): object {
  const { apiVersion, kind, metadata, status, ...rest }: Fields = { ...value };
  const items = rest["items"];
  return withoutAbsent({
    apiVersion,
    kind,
    metadata,
    ...rest,
    ...(Array.isArray(items)
      ? { items: items.map((item: unknown) => (isFields(item) ? inUsualOrder(item) : item)) }
      : {}),
    status,
  });
}

function withoutAbsent(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, member]) => member !== undefined));
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
