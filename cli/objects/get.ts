import { type ListOptions, listAll } from "../../kube/index.ts";
import { switchFlag, textFlag } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { followList } from "../follow.ts";
import type { Table } from "../json_codec.ts";
import {
  objectName,
  objectResource,
  pluralName,
  type ResourceType,
  tableResource,
} from "../resource_types.ts";
import { renderObject, withoutManagedFields } from "../result.ts";
import { textTable } from "../text_table.ts";

export const get: Command = {
  name: "get",
  summary: "List objects in the server's own columns.",
  usage: "TYPE[,TYPE...] [NAME...] | TYPE/NAME | all",
  details: `"all" lists every kind of apps.kruise.io and policy.kruise.io.`,
  examples: [
    "refit get clone",
    "refit get clone/sample -o yaml",
    "refit get pods -A -l app=sample",
    "refit get clone -w",
  ],
  flags: {
    output: textFlag("json|yaml|name|wide", "Form of the output.", { short: "o" }),
    "all-namespaces": switchFlag("Objects of all namespaces.", { short: "A" }),
    selector: textFlag("LABELS", "Only objects with these labels.", { short: "l" }),
    "field-selector": textFlag("FIELDS", "Only objects with these field values."),
    "no-headers": switchFlag("Leave the column headers out."),
    watch: switchFlag("Go on with a line for each change, until Ctrl-C.", { short: "w" }),
  },
  async run(call) {
    const access = await call.cluster();
    const requests = await requestsOf(call, access);
    const format = call.flags.text("output") ?? "";
    if (call.flags.on("watch")) return watchRequests(call, access, requests, format);
    if (format === "" || format === "wide") return printTables(call, access, requests, format === "wide");
    if (format === "json" || format === "yaml" || format === "name")
      return printObjects(call, access, requests, format);
    throw unknownFormat(format);
  },
};

function unknownFormat(format: string): CliError {
  return new CliError(
    `unable to match a printer suitable for the output format "${format}"; allowed are json, yaml, name and wide`,
  );
}

async function watchRequests(
  call: Call,
  access: ClusterAccess,
  requests: readonly GetRequest[],
  format: string,
): Promise<number> {
  const [request, more] = requests;
  if (request === undefined || more !== undefined)
    throw new CliError("--watch needs one type, or one object of it");
  const { type, name } = request;
  const scope = scopeOf(call, access, type);
  // One that is not there is an error, as without --watch.
  if (name !== undefined) await access.client.get(objectResource(type), { ...scope, name });
  const fieldSelector = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const options = { ...scope, ...selectorsOf(call), ...fieldSelector };
  if (format === "" || format === "wide") await watchTable(call, access, type, options, format === "wide");
  else if (format === "json" || format === "yaml" || format === "name")
    await watchObjects(call, access, type, options, format);
  else throw unknownFormat(format);
  return 130;
}

/** Whether an object has been shown in this version; one of a later list may be the same. */
class Shown {
  readonly #versions = new Map<string, string>();

  isNew(uid: string, version: string): boolean {
    if (this.#versions.get(uid) === version) return false;
    this.#versions.set(uid, version);
    return true;
  }
}

async function watchTable(
  call: Call,
  access: ClusterAccess,
  type: ResourceType,
  options: ListOptions,
  isWide: boolean,
): Promise<void> {
  const { clock } = call.host;
  const shown = new Shown();
  const layout = { isWide, prefix: "", withNamespace: call.flags.on("all-namespaces") && type.namespaced };
  const widths: number[] = [];
  let columns: Table["columns"] = [];
  let hasHeader = call.flags.on("no-headers");
  const lists = followList(access.client, tableResource(type), options, clock, call.io.signal);
  for await (const tables of lists) {
    for (const table of tables) {
      // Only the first table of a stream names its columns.
      if (table.columns.length > 0) columns = table.columns;
      const rows = table.rows.filter((row) => shown.isNew(row.uid, row.version));
      if (rows.length === 0) continue;
      const { header, cells } = cellsOf({ columns, rows }, layout);
      for (const line of textTable(hasHeader ? [] : header, cells, widths)) call.print(line);
      hasHeader = true;
    }
  }
}

async function watchObjects(
  call: Call,
  access: ClusterAccess,
  type: ResourceType,
  options: ListOptions,
  format: "json" | "yaml" | "name",
): Promise<void> {
  const shown = new Shown();
  const lists = followList(access.client, objectResource(type), options, call.host.clock, call.io.signal);
  for await (const objects of lists) {
    for (const object of objects) {
      const { name = "", uid = "", resourceVersion = "" } = object.metadata;
      if (!shown.isNew(uid, resourceVersion)) continue;
      if (format === "name") call.print(objectName(type, name));
      else
        call.io.stdout.write(
          `${format === "yaml" ? "---\n" : ""}${renderObject(withoutManagedFields(object), format)}`,
        );
    }
  }
}

interface GetRequest {
  readonly type: ResourceType;
  readonly name: string | undefined;
}

async function requestsOf(call: Call, access: ClusterAccess): Promise<GetRequest[]> {
  const [first, ...names] = call.words;
  if (first === undefined) throw new CliError("say what to list, such as: refit get clone");
  if (first === "all") return (await allKruiseTypes(access)).map((type) => ({ type, name: undefined }));
  const requests: GetRequest[] = [];
  if (first.includes("/")) {
    for (const word of call.words) {
      const [type = "", name = ""] = word.split("/");
      if (type === "" || name === "") throw new CliError(`"${word}" names no object; write TYPE/NAME`);
      requests.push({ type: await access.types.find(type), name });
    }
    return requests;
  }
  for (const word of first.split(",")) {
    const type = await access.types.find(word);
    if (names.length === 0) requests.push({ type, name: undefined });
    for (const name of names) requests.push({ type, name });
  }
  return requests;
}

async function allKruiseTypes(access: ClusterAccess): Promise<ResourceType[]> {
  const found = new Map<string, ResourceType>();
  for (const group of ["apps.kruise.io", "policy.kruise.io"]) {
    for (const type of await access.types.preferred(group)) found.set(pluralName(type), type);
  }
  return [...found.values()];
}

function scopeOf(call: Call, access: ClusterAccess, type: ResourceType): { namespace?: string } {
  return type.namespaced && !call.flags.on("all-namespaces") ? { namespace: access.namespace } : {};
}

function selectorsOf(call: Call): Pick<ListOptions, "labelSelector" | "fieldSelector"> {
  return { labelSelector: call.flags.text("selector"), fieldSelector: call.flags.text("field-selector") };
}

async function printTables(
  call: Call,
  access: ClusterAccess,
  requests: readonly GetRequest[],
  isWide: boolean,
): Promise<number> {
  const blocks: string[][] = [];
  const byType = Map.groupBy(requests, ({ type }) => type);
  for (const [type, ofType] of byType) {
    const tables: Table[] = [];
    for (const { name } of ofType) tables.push(...(await tablesOf(call, access, type, name)));
    const prefix = byType.size > 1 ? objectName(type, "") : "";
    const lines = tableLines(call, tables, {
      isWide,
      prefix,
      withNamespace: call.flags.on("all-namespaces") && type.namespaced,
    });
    if (lines.length > 0) blocks.push(lines);
  }
  if (blocks.length === 0) {
    const where = call.flags.on("all-namespaces") ? "" : ` in ${access.namespace} namespace`;
    call.warn(`No resources found${where}.`);
    return 0;
  }
  call.io.stdout.write(`${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`);
  return 0;
}

async function tablesOf(
  call: Call,
  access: ClusterAccess,
  type: ResourceType,
  name: string | undefined,
): Promise<Table[]> {
  const resource = tableResource(type);
  const scope = scopeOf(call, access, type);
  if (name !== undefined) return [await access.client.get(resource, { ...scope, name })];
  return listAll(access.client, resource, { ...scope, ...selectorsOf(call) });
}

interface Layout {
  readonly isWide: boolean;
  /** Put before names when several types are printed. */
  readonly prefix: string;
  readonly withNamespace: boolean;
}

function tableLines(call: Call, tables: readonly Table[], layout: Layout): string[] {
  const [first] = tables;
  const rows = tables.flatMap((table) => table.rows);
  if (first === undefined || rows.length === 0) return [];
  const { header, cells } = cellsOf({ columns: first.columns, rows }, layout);
  return textTable(call.flags.on("no-headers") ? [] : header, cells);
}

function cellsOf({ columns, rows }: Table, layout: Layout): { header: string[]; cells: string[][] } {
  const shown = [...columns.keys()].filter((index) => layout.isWide || columns[index]?.priority === 0);
  const header = shown.map((index) => (columns[index]?.name ?? "").toUpperCase());
  const cells = rows.map((row) => {
    const texts = shown.map((index) => `${index === 0 ? layout.prefix : ""}${cellText(row.cells[index])}`);
    return layout.withNamespace ? [row.namespace, ...texts] : texts;
  });
  return { header: layout.withNamespace ? ["NAMESPACE", ...header] : header, cells };
}

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

async function printObjects(
  call: Call,
  access: ClusterAccess,
  requests: readonly GetRequest[],
  format: "json" | "yaml" | "name",
): Promise<number> {
  const items = [];
  for (const { type, name } of requests) {
    const scope = scopeOf(call, access, type);
    const found =
      name === undefined
        ? await listAll(access.client, objectResource(type), { ...scope, ...selectorsOf(call) })
        : [await access.client.get(objectResource(type), { ...scope, name })];
    if (format === "name")
      for (const object of found) call.print(objectName(type, object.metadata.name ?? ""));
    items.push(...found.map(withoutManagedFields));
  }
  if (format === "name") return 0;
  const [only] = items;
  const isSingle = requests.length === 1 && requests[0]?.name !== undefined && only !== undefined;
  call.io.stdout.write(renderObject(isSingle ? only : { apiVersion: "v1", kind: "List", items }, format));
  return 0;
}
