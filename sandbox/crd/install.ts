/** Serves the kinds of definitions as they come, change and go. */
import { type Clock, formatTime, jsonEqual } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, fieldsAt, isFields, objectsAt, setAt, textAt, textsAt, valueAt } from "../json.ts";
import type { Registry } from "../resources/registry.ts";
import {
  apiVersionOf,
  type Resource,
  type ScalePaths,
  type Served,
  type Subresource,
} from "../resources/resource.ts";
import type { ReadField } from "../resources/selectable.ts";
import { Shape, type ShapeSource } from "../resources/shape.ts";
import type { World } from "../world.ts";
import { deleteAtOnce } from "../writes/delete.ts";
import { requestAtOnce } from "../writes/request.ts";
import { updateAtOnce } from "../writes/update.ts";
import { customPrinter } from "./columns.ts";
import { converter } from "./conversion.ts";
import { cleanupFinalizer } from "./definition.ts";
import { jsonPath } from "./json_path.ts";
import { customStrategy } from "./strategy.ts";

const resourceName = "customresourcedefinitions.apiextensions.k8s.io";

type Parts = Pick<World, "clock" | "random" | "registry" | "storage" | "webhooks">;

export function serveDefinitions(world: Parts): void {
  world.registry.known(resourceName).table.subscribe({
    onChange({ type, current }) {
      const { object } = current;
      if (type === "DELETED") uninstall(world, object);
      else if (object.metadata.deletionTimestamp !== undefined) cleanUp(world, object);
      else install(world, object);
    },
  });
}

function install(world: Parts, definition: StoredObject): void {
  const conflicts = nameConflicts(world.registry, definition);
  if (conflicts === "") serve(world, definition);
  recordStatus(world, definition, conflicts);
}

/** Another definition of the group that has the kind or one of the names already. */
function nameConflicts(registry: Registry, definition: StoredObject): string {
  const own = definition.metadata.name ?? "";
  const group = textAt(definition, "spec", "group");
  const names = namesOf(definition);
  const kinds = [
    textAt(definition, "spec", "names", "kind"),
    textAt(definition, "spec", "names", "listKind"),
  ];
  for (const served of registry.all()) {
    if (served.group !== group || served.resource.name === own) continue;
    const taken = [served.plural, served.singular, ...served.shortNames].find((name) => names.includes(name));
    if (taken !== undefined) return `${JSON.stringify(taken)} is already in use`;
    if (kinds.includes(served.kind)) return `${JSON.stringify(served.kind)} is already in use`;
  }
  return "";
}

function namesOf(definition: StoredObject): string[] {
  const names = fieldsAt(definition, "spec", "names");
  return [textAt(names, "plural"), textAt(names, "singular"), ...textsAt(names, "shortNames")];
}

function serve(world: Parts, definition: StoredObject): void {
  const spec = fieldsAt(definition, "spec");
  const name = definition.metadata.name ?? "";
  const group = textAt(spec, "group");
  const versions = objectsAt(spec, "versions");
  const stored = versions.find((version) => version["storage"] === true);
  if (stored === undefined) return;
  const apiVersionIn = (version: Fields): string => apiVersionOf(group, textAt(version, "name"));
  const shapes = new Map(versions.map((version) => [apiVersionIn(version), shapeOf(version)]));
  const namespaced = textAt(spec, "scope") === "Namespaced";
  const indexes = { "metadata.name": (object: StoredObject) => object.metadata.name ?? "" };
  const table = world.storage.table({ name, namespaced, indexes });
  world.registry.remove(name);
  // What was converted or shown by the former definition is made again.
  for (const revision of table.list()) revision.forms.clear();
  for (const version of versions) {
    if (version["served"] !== true) continue;
    const hasStatus = isFields(valueAt(version, "subresources", "status"));
    const resource: Resource = {
      name,
      group,
      plural: textAt(spec, "names", "plural"),
      kind: textAt(spec, "names", "kind"),
      namespaced,
      table,
      storedApiVersion: apiVersionIn(stored),
      strategy: customStrategy(shapes, hasStatus, scalePaths(version)),
      custom: true,
      convert: converter(world, () => spec, shapes),
    };
    const shape = shapes.get(apiVersionIn(version)) ?? shapeOf(version);
    world.registry.add(servedVersion(spec, version, resource, shape));
  }
}

function shapeOf(version: Fields): Shape {
  const source: ShapeSource = { components: {}, structural: true };
  return new Shape(fieldsAt(version, "schema", "openAPIV3Schema"), source);
}

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

function servedVersion(spec: Fields, version: Fields, resource: Resource, shape: Shape): Served {
  const names = fieldsAt(spec, "names");
  const name = textAt(version, "name");
  const apiVersion = apiVersionOf(resource.group, name);
  const scale = scalePaths(version);
  const warning = textAt(version, "deprecationWarning") || `${apiVersion} ${resource.kind} is deprecated`;
  return {
    resource,
    group: resource.group,
    version: name,
    kind: resource.kind,
    apiVersion,
    plural: resource.plural,
    singular: textAt(names, "singular"),
    listKind: textAt(names, "listKind"),
    shortNames: textsAt(names, "shortNames"),
    categories: textsAt(names, "categories"),
    verbs,
    subresources: subresourcesOf(version, resource, scale !== undefined),
    shape,
    printer: customPrinter(version),
    selectable: selectableFields(version),
    deprecation: version["deprecated"] === true ? warning : undefined,
    ...(scale === undefined ? {} : { scale }),
  };
}

function subresourcesOf(version: Fields, resource: Resource, scale: boolean): Map<string, Subresource> {
  const found = new Map<string, Subresource>();
  const base = { verbs: ["get", "patch", "update"] };
  if (isFields(valueAt(version, "subresources", "status"))) {
    found.set("status", {
      ...base,
      name: "status",
      group: resource.group,
      version: textAt(version, "name"),
      kind: resource.kind,
    });
  }
  if (scale)
    found.set("scale", { ...base, name: "scale", group: "autoscaling", version: "v1", kind: "Scale" });
  return found;
}

function scalePaths(version: Fields): ScalePaths | undefined {
  const scale = valueAt(version, "subresources", "scale");
  if (!isFields(scale)) return undefined;
  const selector = textAt(scale, "labelSelectorPath");
  return {
    replicas: steps(textAt(scale, "specReplicasPath")),
    statusReplicas: steps(textAt(scale, "statusReplicasPath")),
    selector: selector === "" ? undefined : steps(selector),
  };
}

function steps(path: string): string[] {
  return path.split(".").filter((step) => step !== "");
}

function selectableFields(version: Fields): Map<string, ReadField> {
  const fields = new Map<string, ReadField>();
  for (const entry of objectsAt(version, "selectableFields")) {
    const path = textAt(entry, "jsonPath");
    const read = jsonPath(path);
    if (read !== undefined) fields.set(path.replace(/^\./, ""), (object) => String(read(object)[0] ?? ""));
  }
  return fields;
}

/** Conditions, accepted names and stored versions, as the naming controller writes them. */
function recordStatus(world: Parts, definition: StoredObject, conflicts: string): void {
  const status = statusOf(world.clock, definition, conflicts);
  if (jsonEqual(status, definition["status"])) return;
  updateDefinition(world, definition, (draft) => {
    draft["status"] = status;
  });
}

function updateDefinition(
  { registry }: Parts,
  { metadata: { name = "" } }: StoredObject,
  change: (draft: StoredObject) => void,
): void {
  updateAtOnce(requestAtOnce(registry.knownView(resourceName), { name }), change);
}

function statusOf(clock: Clock, definition: StoredObject, conflicts: string): Fields {
  const names = fieldsAt(definition, "spec", "names");
  const stored = objectsAt(definition, "spec", "versions").find((version) => version["storage"] === true);
  const known = textsAt(fieldsAt(definition, "status"), "storedVersions");
  const storage = textAt(stored, "name");
  const accepted = conflicts === "";
  const condition = (type: string, status: boolean, reason: string, message: string): Fields => {
    const before = objectsAt(definition, "status", "conditions").find((one) => one["type"] === type);
    const text = status ? "True" : "False";
    const same = before !== undefined && before["status"] === text;
    const lastTransitionTime = same ? before["lastTransitionTime"] : formatTime(clock.now());
    return { lastTransitionTime, message, reason, status: text, type };
  };
  return {
    acceptedNames: accepted ? names : { plural: "", kind: "" },
    conditions: [
      accepted
        ? condition("NamesAccepted", true, "NoConflicts", "no conflicts found")
        : condition("NamesAccepted", false, "NamesConflict", conflicts),
      accepted
        ? condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted")
        : condition("Established", false, "NotAccepted", "not all names are accepted"),
    ],
    storedVersions: known.includes(storage) ? known : [...known, storage],
  };
}

/** A definition goes when the last object of its kind is gone. */
function cleanUp(world: Parts, definition: StoredObject): void {
  if (!(definition.metadata.finalizers ?? []).includes(cleanupFinalizer)) return;
  const resource = world.registry.resource(definition.metadata.name ?? "");
  const served = resource && world.registry.storedView(resource);
  const release = (): void =>
    updateDefinition(world, definition, (draft) => {
      const finalizers = draft.metadata.finalizers?.filter((name) => name !== cleanupFinalizer);
      setAt(draft, ["metadata", "finalizers"], finalizers);
    });
  if (served === undefined || served.resource.table.size === 0) {
    release();
    return;
  }
  const { table } = served.resource;
  const stop = table.subscribe({
    onChange() {
      if (table.size > 0) return;
      stop();
      release();
    },
  });
  for (const { namespace, name } of table.list()) {
    deleteAtOnce(world.clock, requestAtOnce(served, { namespace, name }), {});
  }
}

function uninstall(world: Parts, definition: StoredObject): void {
  const name = definition.metadata.name ?? "";
  world.registry.remove(name);
  world.storage.dropTable(name);
}
