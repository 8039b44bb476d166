/** The built-in resources, from the table of names and types and the rules of each kind. */
import { type Fields, isFields, listAt, objectsAt, textAt, textsAt } from "../json.ts";
import type { Storage } from "../storage.ts";
import { convertBuiltin } from "./conversions.ts";
import coreTypes from "./gen/core_types.json" with { type: "json" };
import { printerOf } from "./printers/index.ts";
import type { Registry } from "./registry.ts";
import { type Resource, type Served, type Subresource, splitApiVersion } from "./resource.ts";
import { selectableFields, tableIndexes } from "./selectable.ts";
import { Shape, type ShapeSource } from "./shape.ts";
import { strategyOf } from "./strategies/index.ts";

export const coreSource: ShapeSource = { components: fieldsOf(coreTypes.schemas), structural: false };

/** group/version/kind -> name of its schema. */
const schemaNames = new Map<string, string>();
for (const [name, schema] of Object.entries(coreSource.components)) {
  for (const kind of objectsAt(schema, "x-kubernetes-group-version-kind")) {
    schemaNames.set(`${textAt(kind, "group")}/${textAt(kind, "version")}/${textAt(kind, "kind")}`, name);
  }
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The type of a built-in kind, also of those that are only sent (Scale, Eviction, DeleteOptions...); else one of anything. */
export function coreShape(group: string, version: string, kind: string): Shape {
  const name = schemaNames.get(`${group}/${version}/${kind}`) ?? metaNames[kind];
  return new Shape(name === undefined ? {} : { $ref: `#/components/schemas/${name}` }, coreSource);
}

const metaNames: Readonly<Record<string, string>> = {
  DeleteOptions: "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  ObjectMeta: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
};

/** Resources whose objects another group shows too: they share one table. */
const sharedTables: Readonly<Record<string, { name: string; apiVersion: string }>> = {
  "events.events.k8s.io": { name: "events", apiVersion: "v1" },
};
const storedVersions: Readonly<Record<string, string>> = {
  "horizontalpodautoscalers.autoscaling": "autoscaling/v2",
};

export function registerBuiltin(registry: Registry, storage: Storage): void {
  for (const entry of objectsAt(coreTypes, "resources")) {
    const plural = textAt(entry, "name");
    if (plural.includes("/") || !listAt(entry, "verbs").includes("list")) continue;
    registry.add(builtinServed(entry, registry, storage));
  }
}

/** Kinds that are answered at once and never stored: access reviews, token reviews, bindings. */
export function virtualResources(): readonly Fields[] {
  return objectsAt(coreTypes, "resources").filter(
    (entry) => !textAt(entry, "name").includes("/") && !listAt(entry, "verbs").includes("list"),
  );
}

function builtinServed(entry: Fields, registry: Registry, storage: Storage): Served {
  const apiVersion = textAt(entry, "groupVersion");
  const { group, version } = splitApiVersion(apiVersion);
  const plural = textAt(entry, "name");
  const kind = textAt(entry, "kind");
  const ownName = group === "" ? plural : `${plural}.${group}`;
  const shared = sharedTables[ownName];
  const name = shared?.name ?? ownName;
  const namespaced = entry["namespaced"] === true;
  const subresources = subresourcesOf(apiVersion, plural);
  const resource: Resource = registry.resource(name) ?? {
    name,
    group,
    plural,
    kind,
    namespaced,
    table: storage.table({ name, namespaced, indexes: tableIndexes(name) }),
    storedApiVersion: shared?.apiVersion ?? storedVersions[name] ?? apiVersion,
    strategy: strategyOf(name, subresources.has("status")),
    custom: false,
    convert: (objects, to) => objects.map((object) => convertBuiltin(object, to)),
  };
  return {
    resource,
    group,
    version,
    apiVersion,
    kind,
    plural,
    singular: textAt(entry, "singularName"),
    listKind: `${kind}List`,
    shortNames: textsAt(entry, "shortNames"),
    categories: textsAt(entry, "categories"),
    verbs: textsAt(entry, "verbs"),
    subresources,
    shape: coreShape(group, version, kind),
    printer: printerOf(ownName),
    selectable: selectableFields(ownName),
    deprecation:
      name === "endpoints"
        ? "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        : undefined,
  };
}

/** Subresources of one resource, from the same table. */
function subresourcesOf(apiVersion: string, plural: string): ReadonlyMap<string, Subresource> {
  const found = new Map<string, Subresource>();
  const own = splitApiVersion(apiVersion);
  for (const entry of objectsAt(coreTypes, "resources")) {
    const name = textAt(entry, "name");
    if (textAt(entry, "groupVersion") !== apiVersion || !name.startsWith(`${plural}/`)) continue;
    const subresource = name.slice(plural.length + 1);
    found.set(subresource, {
      name: subresource,
      group: "group" in entry ? textAt(entry, "group") : own.group,
      version: textAt(entry, "version") || own.version,
      kind: textAt(entry, "kind"),
      verbs: textsAt(entry, "verbs"),
    });
  }
  return found;
}
