/**
 * Writes gen/protobuf_fields.json from the .proto files of the Kubernetes API modules: the field numbers of the
 * built-in kinds. Run by hand: `node sandbox/resources/gen_protobuf_fields.ts <k8s.io module folder> <version>`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { objectsAt, textAt } from "../json.ts";
import coreTypes from "./gen/core_types.json" with { type: "json" };

const [folder = "", version = ""] = process.argv.slice(2);
const files = [
  ...[
    "core/v1",
    "apps/v1",
    "batch/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "policy/v1",
    "rbac/v1",
    "storage/v1",
    "scheduling/v1",
    "coordination/v1",
    "events/v1",
    "discovery/v1",
    "networking/v1",
    "node/v1",
    "admissionregistration/v1",
    "authorization/v1",
    "authentication/v1",
  ].map((path) => `api@${version}/${path}/generated.proto`),
  `apimachinery@${version}/pkg/apis/meta/v1/generated.proto`,
  `apimachinery@${version}/pkg/runtime/generated.proto`,
  `apimachinery@${version}/pkg/util/intstr/generated.proto`,
  `apimachinery@${version}/pkg/api/resource/generated.proto`,
];

/** Full message name -> `number name type` lines; `type` starts with `[]` or `{}` for lists and maps. */
const messages = new Map<string, string[]>();
const scalars = new Set(["string", "bytes", "bool", "int32", "int64", "uint32", "double", "fixed32"]);

for (const file of files) {
  const text = readFileSync(`${folder}/${file}`, "utf8").replace(/\/\/.*$/gm, "");
  const scope = /^package ([\w.]+);/m.exec(text)?.[1] ?? "";
  for (const match of text.matchAll(/^message (\w+) \{([^}]*)\}/gm)) {
    const lines: string[] = [];
    for (const field of (match[2] ?? "").matchAll(
      /^\s*(?:(optional|repeated)\s+)?(?:map<string,\s*\.?([\w.]+)>|\.?([\w.]+))\s+(\w+)\s*=\s*(\d+)/gm,
    )) {
      const [, label, mapValue, plain, name, number] = field;
      const type = mapValue ?? plain ?? "";
      const full = scalars.has(type) || type.startsWith("k8s.io.") ? type : `${scope}.${type}`;
      const prefix = mapValue !== undefined ? "{}" : label === "repeated" ? "[]" : "";
      lines.push(`${number} ${name} ${prefix}${full}`);
    }
    messages.set(`${scope}.${match[1]}`, lines);
  }
}

const wanted = new Set<string>();
function want(name: string): void {
  const lines = messages.get(name);
  if (lines === undefined || wanted.has(name)) return;
  wanted.add(name);
  for (const line of lines) want((line.split(" ")[2] ?? "").replace(/^(\[\]|\{\})/, ""));
}
const kinds: Record<string, string> = {};
for (const [schema, value] of Object.entries(coreTypes.schemas)) {
  for (const kind of objectsAt(value, "x-kubernetes-group-version-kind")) {
    const name = schema.replace(/^io\.k8s\./, "k8s.io.");
    if (!messages.has(name)) continue;
    const group = textAt(kind, "group");
    const apiVersion = group === "" ? textAt(kind, "version") : `${group}/${textAt(kind, "version")}`;
    const scopes = objectsAt(value, "x-kubernetes-group-version-kind");
    if (scopes.length > 1) continue;
    kinds[`${apiVersion} ${textAt(kind, "kind")}`] = name;
    want(name);
    want(`${name}List`);
  }
}
const meta = "k8s.io.apimachinery.pkg.apis.meta.v1";
for (const name of ["DeleteOptions", "Status", "WatchEvent", "ListMeta"]) want(`${meta}.${name}`);
want("k8s.io.apimachinery.pkg.runtime.Unknown");
const table = Object.fromEntries(
  [...wanted].sort().map((name) => [name, messages.get(name)?.join(";") ?? ""]),
);
const target = new URL("gen/protobuf_fields.json", import.meta.url);
writeFileSync(target, `${JSON.stringify({ kinds, messages: table }).replaceAll('","', '",\n"')}\n`);
console.log(`${wanted.size} messages, ${Object.keys(kinds).length} kinds`);
