/** The types that revisions are written by have the fields of the schemas, and each name has one meaning. */
import t from "tap";
import { type CoreType, coreStruct, isJsonObject } from "../kube/core/index.ts";
import {
  broadcastJob,
  containerRecreateRequest,
  imageListPullJob,
  type JsonSchema,
  sidecarSet,
  unitedDeployment,
  versionSchema,
} from "./index.ts";
import type { KindDefinition } from "./kind.ts";
import { storageVersion } from "./kind.ts";
import { wireStruct, wireTypes } from "./wire_types.ts";

const own = Object.keys(wireTypes);
const fieldsOf = (name: string) => [...(wireStruct(name)?.values() ?? [])];

function elementOf(type: CoreType): CoreType {
  return type.kind === "list" || type.kind === "map" ? elementOf(type.element) : type;
}

t.test("every type that a field names exists, and hides no core type", async (t) => {
  t.strictSame(
    own.filter((name) => coreStruct(name) !== undefined),
    [],
  );
  for (const name of own) {
    t.ok(fieldsOf(name).length > 0, name);
    for (const field of fieldsOf(name)) {
      const type = elementOf(field.type);
      if (type.kind === "struct") t.ok(wireStruct(type.name), `${name}.${field.name}: ${type.name}`);
    }
  }
});

/** Fields that one side has and the other has not. Where the schema says nothing, nothing is compared. */
function differences(schema: unknown, name: string, path: string): string[] {
  const { properties, "x-kubernetes-preserve-unknown-fields": open } = isJsonObject(schema) ? schema : {};
  if (!isJsonObject(properties)) return [];
  const fields = new Map(fieldsOf(name).map((field) => [field.name, field.type]));
  const missing = Object.keys(properties).filter((field) => !fields.has(field));
  const surplus =
    open === true ? [] : [...fields.keys()].filter((field) => !Object.hasOwn(properties, field));
  const inner = Object.entries(properties).flatMap(([field, value]) => {
    const type = fields.get(field);
    const part = type === undefined ? undefined : elementOf(type);
    return part?.kind === "struct" ? differences(itemOf(value), part.name, `${path}.${field}`) : [];
  });
  return [...[...missing, ...surplus].map((field) => `${path}.${field}`), ...inner];
}

function itemOf(schema: unknown): unknown {
  const items = isJsonObject(schema) ? schema["items"] : undefined;
  return items ?? schema;
}

function specOf(kind: KindDefinition): JsonSchema {
  const { properties } = versionSchema(kind, storageVersion(kind));
  return isJsonObject(properties) && isJsonObject(properties["spec"]) ? properties["spec"] : {};
}

t.test("their fields are those of the schemas", async (t) => {
  t.strictSame(differences(specOf(broadcastJob), "BroadcastJobSpec", "spec"), []);
  t.strictSame(differences(specOf(imageListPullJob), "ImagePullTemplate", "spec"), ["spec.images"]);
  const recreation = specOf(containerRecreateRequest);
  t.strictSame(differences(recreation, "ContainerRecreateRequestSpec", "spec"), []);
  const united = specOf(unitedDeployment)["properties"];
  t.strictSame(differences(isJsonObject(united) ? united["template"] : {}, "SubsetTemplate", "template"), []);
  const sidecars = { ...specOf(sidecarSet), "x-kubernetes-preserve-unknown-fields": true };
  const notRevised = [
    "customVersion",
    "injectionStrategy",
    "namespaceSelector",
    "revisionHistoryLimit",
    "selector",
    "updateStrategy",
  ];
  t.strictSame(
    differences(sidecars, "RevisedSidecars", "spec").sort(),
    notRevised.map((name) => `spec.${name}`),
  );
});
