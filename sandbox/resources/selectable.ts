/** Field selectors of the built-in kinds, and which of them are indexed. */
import type { StoredObject } from "../cluster.ts";
import { textAt, valueAt } from "../json.ts";

export type ReadField = (object: StoredObject) => string;

const text =
  (...path: readonly string[]): ReadField =>
  (object) =>
    textAt(object, ...path);

/** Texts that are called by their path. */
const texts = (...names: readonly string[]): Record<string, ReadField> =>
  Object.fromEntries(names.map((name) => [name, text(...name.split("."))]));

const flag =
  (...path: readonly string[]): ReadField =>
  (object) =>
    String(valueAt(object, ...path) === true);

const number =
  (...path: readonly string[]): ReadField =>
  (object) =>
    String(valueAt(object, ...path) ?? 0);

const referenced = (prefix: string): Record<string, ReadField> => {
  const names = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
  return Object.fromEntries(names.map((name) => [`${prefix}.${name}`, text("involvedObject", name)]));
};

const named = { name: text("metadata", "name") };

const fields: Readonly<Record<string, Readonly<Record<string, ReadField>>>> = {
  pods: {
    ...texts("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    "spec.hostNetwork": flag("spec", "hostNetwork"),
    ...texts("status.phase", "status.podIP", "status.nominatedNodeName"),
  },
  events: {
    ...referenced("involvedObject"),
    ...texts("reason", "reportingComponent"),
    source: (object) => textAt(object, "source", "component") || textAt(object, "reportingComponent"),
    ...texts("type"),
  },
  "events.events.k8s.io": {
    ...referenced("regarding"),
    ...texts("reason"),
    reportingController: text("reportingComponent"),
    ...texts("type"),
  },
  namespaces: { ...texts("status.phase"), ...named },
  nodes: { "spec.unschedulable": flag("spec", "unschedulable") },
  secrets: texts("type"),
  services: texts("spec.clusterIP", "spec.type"),
  persistentvolumes: named,
  persistentvolumeclaims: named,
  replicationcontrollers: { "status.replicas": number("status", "replicas") },
  "replicasets.apps": { "status.replicas": number("status", "replicas") },
  "jobs.batch": { "status.successful": number("status", "succeeded") },
};

const indexed: Readonly<Record<string, readonly string[]>> = { pods: ["spec.nodeName"] };

/** Fields besides metadata.name and metadata.namespace; they read the stored form. */
export function selectableFields(resource: string): ReadonlyMap<string, ReadField> {
  return new Map(Object.entries(fields[resource] ?? {}));
}

/** Every table knows its objects by name; some by a field that many watches select by. */
export function tableIndexes(resource: string): Record<string, ReadField> {
  const indexes: Record<string, ReadField> = { "metadata.name": text("metadata", "name") };
  for (const name of indexed[resource] ?? []) {
    const read = fields[resource]?.[name];
    if (read !== undefined) indexes[name] = read;
  }
  return indexes;
}
