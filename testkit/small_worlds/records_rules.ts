/** What a PersistentPodState may record, and what has to be there in the end. Spec: persistentpodstate 4, pod-webhook 4.6. */
import { numberAt, objectAt, textAt, textsAt } from "../../controller/native/json_fields.ts";
import { groupOf, type PersistentPodState } from "../../crds/index.ts";
import { applyMergePatch, type JsonObject, jsonEqual, type Labels } from "../../kube/core/index.ts";
import type { Request } from "./pending_requests.ts";
import {
  isGoing,
  isReady,
  labelsOf,
  NAME,
  nodeOf,
  ownerOf,
  type Server,
  type Stored,
  uidOf,
} from "./records_server.ts";

type PodRecord = NonNullable<NonNullable<PersistentPodState["status"]>["podStates"]>[string];

/** By pod. */
export type Records = ReadonlyMap<string, PodRecord>;

export function recordsIn(status: PersistentPodState["status"]): Map<string, PodRecord> {
  return new Map(Object.entries(status?.podStates ?? {}));
}

/** Rule 10: undefined where nothing is to be recorded. */
function targetIn({ record, workload }: Stored): JsonObject | undefined {
  if (record === undefined || workload === undefined || isGoing(workload)) return undefined;
  const { apiVersion, kind, name } = record.spec.targetRef;
  const isIt =
    groupOf(apiVersion) === groupOf(textAt(workload, "apiVersion")) &&
    kind === "StatefulSet" &&
    name === textAt(objectAt(workload, "metadata"), "name");
  return isIt ? workload : undefined;
}

/** Rule 7: the names of the first `replicas` ordinals that are not reserved. */
export function windowOf(workload: JsonObject): string[] {
  const spec = objectAt(workload, "spec");
  const reserved = Array.isArray(spec["reserveOrdinals"]) ? spec["reserveOrdinals"] : [];
  const names: string[] = [];
  const first = numberAt(objectAt(spec, "ordinals"), "start") ?? 0;
  for (let ordinal = first; names.length < (numberAt(spec, "replicas") ?? 1); ordinal++)
    if (!reserved.includes(ordinal)) names.push(`${NAME}-${ordinal}`);
  return names;
}

function keysOf({ spec }: PersistentPodState): string[] {
  const preferred = (spec.preferredPersistentTopology ?? []).flatMap(
    ({ preference }) => preference.keys ?? [],
  );
  return [...(spec.requiredPersistentTopology?.keys ?? []), ...preferred];
}

function picked(all: Labels, keys: readonly string[]): Labels {
  return Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));
}

/** Rules 4 to 6: what is recorded of a pod that is ready on this node; `before`: what is known of one of its name. */
function recordOf(
  record: PersistentPodState,
  pod: JsonObject,
  node: JsonObject,
  before: PodRecord | undefined,
): PodRecord {
  const keys = keysOf(record);
  const wanted = (record.spec.persistentPodAnnotations ?? []).map(({ key }) => key);
  const isKept =
    wanted.length === 0 &&
    before?.nodeName === nodeOf(pod) &&
    jsonEqual(Object.keys(before.nodeTopologyLabels ?? {}).sort(), [...new Set(keys)].sort());
  if (isKept) return before;
  const labels = picked(labelsOf(node), keys);
  const annotations = picked(textsAt(objectAt(pod, "metadata"), "annotations"), wanted);
  return {
    nodeName: nodeOf(pod),
    ...(Object.keys(labels).length === 0 ? {} : { nodeTopologyLabels: labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

/**
 * What there is to be recorded for who sees this and knows of these records: rules 3 to 9. Undefined: nothing, as there is no
 * workload (rule 10).
 */
export function recordsFor(seen: Stored, known: Records): Records {
  const { record } = seen;
  const target = targetIn(seen);
  if (record === undefined || target === undefined) return new Map();
  const window = windowOf(target);
  const records = new Map(known);
  // Rule 11.
  const active = [...seen.pods].filter(
    ([, pod]) => window.length > 0 && !isGoing(pod) && ownerOf(pod) === uidOf(target),
  );
  for (const [name, pod] of active) {
    const node = seen.nodes.get(nodeOf(pod));
    if (isReady(pod) && node !== undefined) records.set(name, recordOf(record, pod, node, known.get(name)));
  }
  if (record.spec.persistentPodStateRetentionPolicy === "WhenDeleted") return records;
  const kept = [...window, ...active.map(([name]) => name)];
  return new Map([...records].filter(([name]) => kept.includes(name)));
}

/** What a pass that saw this record is about to store, and what it has to be by all that the controller has seen. */
export function checkStatus({ record }: Stored, known: Records, { body }: Request): void {
  if (record === undefined) throw new Error("a status of nothing is written");
  const status: PersistentPodState["status"] = Object(
    applyMergePatch(record.status ?? {}, objectAt(body, "status")),
  );
  if (jsonEqual(status, record.status)) throw new Error("a status is written that is there");
  const found = Object.fromEntries(recordsIn(status));
  const wanted = Object.fromEntries(known);
  if (!jsonEqual(found, wanted))
    throw new Error(`it records ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  if (status?.observedGeneration !== record.metadata.generation)
    throw new Error(`it has observed ${status?.observedGeneration}`);
}

/** Each record that is new in `after` has to be true: a pod of this workload was ready there. Rules 3 and 4. */
export function checkStored(before: Server, after: Server): void {
  const former = recordsIn(before.record?.status);
  for (const [name, pod] of recordsIn(after.record?.status)) {
    if (jsonEqual(pod, former.get(name) ?? {})) continue;
    const wrong = wrongRecord(after, name, pod);
    if (wrong !== undefined) throw new Error(wrong);
  }
}

function wrongRecord(
  { workload, ran, labels }: Server,
  name: string,
  { nodeName = "", nodeTopologyLabels = {} }: PodRecord,
): string | undefined {
  const owner = uidOf(workload);
  if (workload !== undefined && !ran.includes(`${name} on ${nodeName} of ${owner}`))
    return `${name} is recorded on ${nodeName}, where none of ${owner} was ready`;
  const had = labels.get(nodeName) ?? [];
  const keys = Object.keys(nodeTopologyLabels);
  if (!had.some((each) => jsonEqual(picked(each, keys), nodeTopologyLabels)))
    return `${name} is recorded with labels that ${nodeName} has never had`;
  return undefined;
}

/** Rules 12 to 15: what admission has made of a pod while this record was there. */
export function checkAdmission(pod: JsonObject, name: string, record: PersistentPodState | undefined): void {
  const found = record?.status?.podStates?.[name]?.nodeTopologyLabels ?? {};
  const spec = objectAt(pod, "spec");
  const required = picked(found, record?.spec.requiredPersistentTopology?.keys ?? []);
  const terms = (record?.spec.preferredPersistentTopology ?? []).flatMap(({ weight, preference }) => {
    const known = (preference.keys ?? []).filter((key) => key in found);
    const matchExpressions = known.map((key) => ({ key, operator: "In", values: [found[key]] }));
    return known.length === 0 ? [] : [{ weight, preference: { matchExpressions } }];
  });
  const nodeAffinity = objectAt(objectAt(spec, "affinity"), "nodeAffinity");
  const preferred = nodeAffinity["preferredDuringSchedulingIgnoredDuringExecution"] ?? [];
  const by = textsAt(objectAt(pod, "metadata"), "annotations")["kruise.io/injected-persistent-pod-state"];
  const isSteered = Object.keys(found).length > 0;
  if (
    !jsonEqual(textsAt(spec, "nodeSelector"), required) ||
    !jsonEqual(preferred, terms) ||
    by !== (isSteered ? record?.metadata.name : undefined)
  )
    throw new Error(`${name} is admitted as ${JSON.stringify(pod)}, its record is ${JSON.stringify(found)}`);
}

/** Rule 21: the spec that the annotations ask for. Undefined: none is asked for (rules 22 and 23). */
function specAskedBy(workload: JsonObject): object | undefined {
  const annotations = textsAt(objectAt(workload, "metadata"), "annotations");
  const list = (name: string): string[] => annotations[`kruise.io/${name}`]?.split(",") ?? [];
  const required = list("required-persistent-topology");
  const preferred = list("preferred-persistent-topology");
  if (annotations[SWITCH] !== "true" || required.length + preferred.length === 0) return undefined;
  return {
    targetRef: { apiVersion: textAt(workload, "apiVersion"), kind: textAt(workload, "kind"), name: NAME },
    ...(required.length === 0 ? {} : { requiredPersistentTopology: { keys: required } }),
    ...(preferred.length === 0
      ? {}
      : { preferredPersistentTopology: [{ weight: 100, preference: { keys: preferred } }] }),
  };
}

export const SWITCH = "kruise.io/auto-generate-persistent-pod-state";

/** `isGenerated`: a record that is there was made from annotations. Rules 20 to 26, with docs/compatibility.md. */
function wrongGeneration({ record, workload }: Server, isForgotten: boolean): string | undefined {
  const owner = record?.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
  if (workload === undefined || isGoing(workload))
    return owner === undefined ? undefined : "a record of a workload that is gone";
  const asked = specAskedBy(workload);
  if (record === undefined)
    return asked === undefined || isForgotten ? undefined : "no record that is asked for";
  if (owner === undefined) return undefined;
  if (owner !== uidOf(workload)) return `a record for ${owner}`;
  const { persistentPodStateRetentionPolicy: _, ...spec } = record.spec;
  const { [SWITCH]: isOn } = textsAt(objectAt(workload, "metadata"), "annotations");
  if (asked === undefined)
    return isOn === "true" || isForgotten ? undefined : "a record that is asked for no more";
  return jsonEqual(spec, asked) ? undefined : `a record with ${JSON.stringify(spec)}`;
}

/**
 * What is wrong when nothing is under way; undefined: all is as it was asked for. `known`: what the controller that runs has been to
 * record; `isForgotten`: one died, or somebody deleted the record, so that nobody may know of the last change of the annotations.
 */
export function wrongWith(server: Server, known: Records, isForgotten: boolean): string | undefined {
  const { record, workload, pods } = server;
  const generation = wrongGeneration(server, isForgotten);
  if (generation !== undefined) return generation;
  if (workload !== undefined && !isGoing(workload)) {
    const names = [...pods].flatMap(([name, pod]) => (ownerOf(pod) === uidOf(workload) ? [name] : [])).sort();
    if (!jsonEqual(names, windowOf(workload))) return `the pods ${names}`;
  }
  if (record === undefined) return undefined;
  const records = recordsIn(record.status);
  const found = Object.fromEntries(records);
  const recorded = Object.fromEntries(recordsFor(server, records));
  if (!jsonEqual(recorded, found)) return `${JSON.stringify(found)} instead of ${JSON.stringify(recorded)}`;
  const lost = [...known].filter(([name, one]) => !jsonEqual(one, records.get(name) ?? {}));
  if (lost.length > 0) return `${JSON.stringify(found)}, and not ${JSON.stringify(lost)}`;
  if (record.status?.observedGeneration !== record.metadata.generation)
    return `${record.status?.observedGeneration} observed`;
  for (const [name, one] of records) {
    const wrong = isForgotten ? undefined : wrongRecord(server, name, one);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
