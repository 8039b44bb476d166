/**
 * Writes kube/core/gen/core_types.ts: JSON names, types and patch rules of the core kinds, read from the struct
 * tags of two releases of the Go modules k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver.
 *
 *   node tools/generate_core_types.ts <release>... <those of 1.32>...
 *
 * Each argument is the folder of an unpacked module, in this order. The grammar of the output is in kube/core/core_types.ts.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Field {
  name: string;
  omitEmpty: boolean;
  type: string;
  strategy: string;
  mergeKey: string;
  /** `atomic`, `set`, or the comma-separated keys of a map list; empty when the type says nothing. */
  list: string;
}

interface Package {
  /** Prefix of type names that are taken already. */
  alias: string;
  imports: Map<string, string>;
  structs: Map<string, string>;
  aliases: Map<string, string>;
}

const apiPath = "k8s.io/api/";
const extensionsPath = "k8s.io/apiextensions-apiserver/pkg/apis/";
/** Path -> group/version; the first package that claims a type name keeps it unprefixed. */
const packages: readonly [path: string, groupVersion: string, alias: string][] = [
  ["core/v1", "v1", "core"],
  ["apps/v1", "apps/v1", "apps"],
  ["batch/v1", "batch/v1", "batch"],
  ["coordination/v1", "coordination.k8s.io/v1", "coordination"],
  ["autoscaling/v1", "autoscaling/v1", "autoscalingv1"],
  ["autoscaling/v2", "autoscaling/v2", "autoscalingv2"],
  ["policy/v1", "policy/v1", "policy"],
  ["storage/v1", "storage.k8s.io/v1", "storage"],
  ["rbac/v1", "rbac.authorization.k8s.io/v1", "rbac"],
  ["admissionregistration/v1", "admissionregistration.k8s.io/v1", "admissionregistration"],
  ["discovery/v1", "discovery.k8s.io/v1", "discovery"],
  ["scheduling/v1", "scheduling.k8s.io/v1", "scheduling"],
  ["events/v1", "events.k8s.io/v1", "events"],
  ["networking/v1", "networking.k8s.io/v1", "networking"],
  ["node/v1", "node.k8s.io/v1", "node"],
];
/** All kinds of a release. */
const allPackages = [
  ...packages.map(([path, ...rest]) => [`${apiPath}${path}`, ...rest] as const),
  [`${extensionsPath}apiextensions/v1`, "apiextensions.k8s.io/v1", "apiextensions"] as const,
];
const metaPath = "k8s.io/apimachinery/pkg/apis/meta/v1";

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  bool: "bool",
  int: "int",
  int32: "int",
  int64: "int",
  uint16: "int",
  float64: "float",
  byte: "byte",
  "resource.Quantity": "quantity",
  "intstr.IntOrString": "intstr",
  "runtime.RawExtension": "any",
  "runtime.Object": "any",
  "types.UID": "string",
  "types.NodeName": "string",
  "types.NamespacedName": "string",
  // Patches replace the list of them as a whole, so that nothing asks for its parts.
  CustomResourceDefinitionVersion: "any",
};
const metaScalars: Readonly<Record<string, string>> = {
  Time: "time",
  MicroTime: "microtime",
  Duration: "string",
  FieldsV1: "any",
};

class Source {
  readonly packages = new Map<string, Package>();

  constructor(api: string, apimachinery: string, apiextensions: string) {
    this.load(metaPath, join(apimachinery, "pkg/apis/meta/v1"), "meta");
    for (const [path, , alias] of allPackages) {
      const folder = path.startsWith(apiPath)
        ? join(api, path.slice(apiPath.length))
        : join(apiextensions, "pkg/apis", path.slice(extensionsPath.length));
      this.load(path, folder, alias);
    }
  }

  private load(path: string, folder: string, alias: string): void {
    const loaded: Package = { alias, imports: new Map(), structs: new Map(), aliases: new Map() };
    for (const file of readdirSync(folder)) {
      if (!file.endsWith("types.go") && file !== "micro_time.go") continue;
      const text = readFileSync(join(folder, file), "utf8");
      for (const [, name, target] of text.matchAll(/^\t(\w+)? ?"(k8s\.io\/\S+)"$/gm)) {
        if (target) loaded.imports.set(name ?? target.split("/").at(-1) ?? "", target);
      }
      for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
        if (name && body !== undefined) loaded.structs.set(name, body);
      }
      for (const [, name, target] of text.matchAll(/^type (\w+) ((?:\[\]|map\[\w+\]|\*)?[\w.]+)$/gm)) {
        if (name && target && target !== "struct") loaded.aliases.set(name, target);
      }
      for (const [, name, target] of text.matchAll(/^\t(\w+) (string)$/gm)) {
        if (name && target) loaded.aliases.set(name, target);
      }
    }
    this.packages.set(path, loaded);
  }

  fields(path: string, struct: string, seen: (path: string, struct: string) => string): Field[] {
    const fields: Field[] = [];
    let comment = "";
    for (const line of this.packages.get(path)?.structs.get(struct)?.split("\n") ?? []) {
      const text = line.trim();
      if (text === "" || text.startsWith("//")) {
        comment = text === "" ? "" : `${comment}\n${text}`;
        continue;
      }
      const match = /^(?:(\w+)\s+)?(\S+)\s+`([^`]*)`/.exec(text);
      const json = match?.[3] && /json:"([^"]*)"/.exec(match[3])?.[1];
      if (match?.[2] !== undefined && json) {
        const [name = "", ...flags] = json.split(",");
        if (name === "" && flags.includes("inline")) {
          const [target, inner] = this.locate(path, match[2]);
          fields.push(...this.fields(target, inner, seen));
        } else if (name !== "-") {
          fields.push({
            name,
            omitEmpty: flags.includes("omitempty"),
            type: this.type(path, match[2], seen),
            strategy: /patchStrategy:"([^"]*)"/.exec(match[3] ?? "")?.[1] ?? "",
            mergeKey: /patchMergeKey:"([^"]*)"/.exec(match[3] ?? "")?.[1] ?? "",
            list: listType(comment),
          });
        }
      }
      comment = "";
    }
    return fields;
  }

  private locate(path: string, name: string): [path: string, name: string] {
    const [qualifier, local] = name.includes(".") ? name.split(".") : ["", name];
    if (!qualifier || !local) return [path, name];
    return [this.packages.get(path)?.imports.get(qualifier) ?? "", local];
  }

  private type(path: string, text: string, seen: (path: string, struct: string) => string): string {
    if (text.startsWith("*")) return `*${this.type(path, text.slice(1), seen)}`;
    if (text === "[]byte") return "bytes";
    if (text.startsWith("[]")) return `[]${this.type(path, text.slice(2), seen)}`;
    const map = /^map\[[\w.]+\](.*)$/.exec(text);
    if (map?.[1]) return `{}${this.type(path, map[1], seen)}`;
    const scalar = scalars[text];
    if (scalar) return scalar;
    const [target, name] = this.locate(path, text);
    if (target === metaPath && metaScalars[name]) return metaScalars[name];
    const found = this.packages.get(target);
    if (found?.structs.has(name)) return seen(target, name);
    const alias = found?.aliases.get(name);
    if (alias) return this.type(target, alias, seen);
    throw new Error(`${path}: what is ${text}?`);
  }
}

function listType(comment: string): string {
  const keys = [...comment.matchAll(/\+listMapKey=(\w+)/g)].map(([, key]) => key);
  if (keys.length > 0) return keys.join(",");
  const word = /\+(?:listType|structType|mapType)=(\w+)/.exec(comment)?.[1];
  return word === "atomic" || word === "set" ? word : "";
}

function main(folders: readonly string[]): void {
  const [api, apimachinery, apiextensions, olderApi, olderApimachinery, olderApiextensions] = folders;
  if (!api || !apimachinery || !apiextensions || !olderApi || !olderApimachinery || !olderApiextensions)
    throw new Error("the folders of six modules are needed");
  const newer = new Source(api, apimachinery, apiextensions);
  const older = new Source(olderApi, olderApimachinery, olderApiextensions);
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const wanted: [path: string, struct: string][] = [];
  const seen = (path: string, struct: string): string => {
    const id = `${path}.${struct}`;
    const known = names.get(id);
    if (known) return known;
    const name = taken.has(struct) ? `${newer.packages.get(path)?.alias ?? ""}.${struct}` : struct;
    taken.add(name);
    names.set(id, name);
    wanted.push([path, struct]);
    return name;
  };
  const kinds: string[] = [];
  for (const [path, groupVersion] of allPackages) {
    for (const [struct, body] of newer.packages.get(path)?.structs ?? []) {
      if (/^\s*metav1\.TypeMeta/m.test(body) && /metav1\.ObjectMeta/.test(body)) {
        kinds.push(`  "${groupVersion}/${struct}": "${seen(path, struct)}",`);
      }
    }
  }
  seen(metaPath, "Status");
  const lines: string[] = [];
  for (let next = wanted.shift(); next; next = wanted.shift()) {
    const [path, struct] = next;
    const before = new Map(
      older.fields(path, struct, (path, struct) => `${path}.${struct}`).map((field) => [field.name, field]),
    );
    const fields = newer.fields(path, struct, seen).map((field) => describe(field, before.get(field.name)));
    lines.push(`  "${seen(path, struct)}": "${fields.join(" ")}",`);
  }
  const output = [
    "// Written by tools/generate_core_types.ts; the grammar is in ../core_types.ts.",
    "export const coreTypes: Readonly<Record<string, string>> = {",
    ...lines.sort(),
    "};",
    "",
    "/** `apiVersion/kind` -> type. */",
    "export const coreKinds: Readonly<Record<string, string>> = {",
    ...kinds.sort(),
    "};",
    "",
  ];
  writeFileSync(new URL("../kube/core/gen/core_types.ts", import.meta.url), output.join("\n"));
}

/** Flags are those of 1.32 where it knows the field, because stored revisions are serialised as it did. */
function describe(field: Field, older: Field | undefined): string {
  const flags = `${(older ?? field).omitEmpty ? "?" : ""}${older ? "" : "+"}`;
  const strategy = field.strategy === "" ? "" : `~${field.strategy}`;
  const mergeKey = field.mergeKey === "" ? "" : `=${field.mergeKey}`;
  const list = field.list === "" ? "" : `@${field.list}`;
  return `${field.name}${flags}:${field.type}${strategy}${mergeKey}${list}`;
}

main(process.argv.slice(2));
