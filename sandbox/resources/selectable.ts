/** Field selectors of the built-in kinds, and which of them are indexed. */
import type { StoredObject } from "../cluster.ts";
import { textAt, valueAt } from "../json.ts";

export type ReadField = (object: StoredObject) => string;

const text =
  (...path: readonly string[]): ReadField =>
  (object) =>
    textAt(object, ...path);

const flag =
  (...path: readonly string[]): ReadField =>
  (object) =>
    String(valueAt(object, ...path) === true);

const number =
  (...path: readonly string[]): ReadField =>
  (object) =>
    String(valueAt(object, ...path) ?? 0);

const referenced = [
  "kind",
  "namespace",
  "name",
  "uid",
  "apiVersion",
  "resourceVersion",
  "fieldPath",
] as const;

const fields: Readonly<Record<string, Readonly<Record<string, ReadField>>>> = {
  pods: {
    "spec.nodeName": text("spec", "nodeName"),
    "spec.restartPolicy": text("spec", "restartPolicy"),
    "spec.schedulerName": text("spec", "schedulerName"),
    "spec.serviceAccountName": text("spec", "serviceAccountName"),
    "spec.hostNetwork": flag("spec", "hostNetwork"),
    "status.phase": text("status", "phase"),
    "status.podIP": text("status", "podIP"),
    "status.nominatedNodeName": text("status", "nominatedNodeName"),
  },
  events: {
    ...Object.fromEntries(
      referenced.map((name) => [`involvedObject.${name}`, text("involvedObject", name)] as const),
    ),
    reason: text("reason"),
    reportingComponent: text("reportingComponent"),
    source: (object) => textAt(object, "source", "component") || textAt(object, "reportingComponent"),
    type: text("type"),
  },
  "events.events.k8s.io": {
    ...Object.fromEntries(
      referenced.map((name) => [`regarding.${name}`, text("involvedObject", name)] as const),
    ),
    reason: text("reason"),
    reportingController: text("reportingComponent"),
    type: text("type"),
  },
  namespaces: { "status.phase": text("status", "phase"), name: text("metadata", "name") },
  nodes: { "spec.unschedulable": flag("spec", "unschedulable") },
  secrets: { type: text("type") },
  services: { "spec.clusterIP": text("spec", "clusterIP"), "spec.type": text("spec", "type") },
  persistentvolumes: { name: text("metadata", "name") },
  persistentvolumeclaims: { name: text("metadata", "name") },
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
