/**
 * Writes gen/core_types.json from the discovery and OpenAPI documents of a real API server: names, verbs and types
 * of the built-in resources that the sandbox serves. Run by hand with KUBECONFIG set when the version changes:
 * `node sandbox/resources/gen_core_types.ts`.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { type Fields, isFields, listAt, objectsAt, textAt, valueAt } from "../json.ts";

const groupVersions = [
  "v1",
  "apps/v1",
  "batch/v1",
  "autoscaling/v2",
  "autoscaling/v1",
  "policy/v1",
  "rbac.authorization.k8s.io/v1",
  "storage.k8s.io/v1",
  "scheduling.k8s.io/v1",
  "coordination.k8s.io/v1",
  "events.k8s.io/v1",
  "discovery.k8s.io/v1",
  "networking.k8s.io/v1",
  "node.k8s.io/v1",
  "admissionregistration.k8s.io/v1",
  "apiextensions.k8s.io/v1",
  "authorization.k8s.io/v1",
  "authentication.k8s.io/v1",
];

/** Not served: what they would do is not carried out by the sandbox. */
const left = /^(componentstatuses|validatingadmissionpolic.*|.*\/proxy|ipaddresses|servicecidrs)/;

function fetchJson(path: string): unknown {
  const text = execFileSync("kubectl", ["get", "--raw", path], { maxBuffer: 1 << 28 }).toString();
  return JSON.parse(text);
}

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isFields(value)) return value;
  const kept: Fields = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "description" && typeof member === "string") continue;
    kept[name] = withoutDescriptions(member);
  }
  return kept;
}

function references(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) references(item, found);
  else if (isFields(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (name === "$ref" && typeof member === "string") found.add(member.slice(member.lastIndexOf("/") + 1));
      else references(member, found);
    }
  }
}

const schemas: Fields = {};
const resources: Fields[] = [];
for (const groupVersion of groupVersions) {
  const path = groupVersion === "v1" ? "api/v1" : `apis/${groupVersion}`;
  for (const resource of objectsAt(fetchJson(`/${path}`), "resources")) {
    if (left.test(textAt(resource, "name"))) continue;
    const { storageVersionHash: _hash, ...rest } = resource;
    resources.push({ groupVersion, ...rest });
  }
  const components = valueAt(fetchJson(`/openapi/v3/${path}`), "components", "schemas");
  if (isFields(components)) Object.assign(schemas, withoutDescriptions(components));
}

const wanted = new Set<string>();
for (const [name, schema] of Object.entries(schemas)) {
  for (const kind of objectsAt(schema, "x-kubernetes-group-version-kind")) {
    const group = textAt(kind, "group");
    const groupVersion = group === "" ? textAt(kind, "version") : `${group}/${textAt(kind, "version")}`;
    const known = resources.some((resource) => {
      const served = textAt(resource, "group")
        ? `${textAt(resource, "group")}/${textAt(resource, "version")}`
        : "";
      const at = served || textAt(resource, "groupVersion");
      return at === groupVersion && `${textAt(resource, "kind")}` === textAt(kind, "kind");
    });
    if (known && listAt(schema, "x-kubernetes-group-version-kind").length === 1) wanted.add(name);
  }
}
wanted.add("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
wanted.add("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta");
wanted.add("io.k8s.apimachinery.pkg.apis.meta.v1.Status");
for (const name of wanted) references(schemas[name], wanted);
const kept: Fields = {};
for (const name of [...wanted].sort()) kept[name] = schemas[name];
const target = new URL("gen/core_types.json", import.meta.url);
writeFileSync(target, `${JSON.stringify({ resources, schemas: kept })}\n`);
console.log(`${resources.length} resources, ${Object.keys(kept).length} schemas`);
