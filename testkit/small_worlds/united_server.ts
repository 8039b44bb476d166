/**
 * What a server stores around one UnitedDeployment, how it answers writes, and what the controllers of the workloads, the scheduler,
 * the nodes and the garbage collector do. Values: each step makes another one.
 */

import { REVISION_LABEL, SUBSET_LABEL } from "../../controller/kinds/united_deployment/names.ts";
import { type SubsetWorkload, workloadOf } from "../../controller/kinds/united_deployment/workload.ts";
import { workloadKinds } from "../../controller/kinds/united_deployment/workloads.ts";
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import type { WriteEffect } from "../../controller/plan/effects.ts";
import type { SubsetTemplateName, UnitedDeployment } from "../../crds/index.ts";
import { applyMergePatch, isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import type { ControllerRevision, Pod } from "../../kube/index.ts";
import { barePod } from "../controller/pod_builder.ts";
import { isMet, type PassWrite } from "./effect_passes.ts";
import { isReady } from "./plan_world.ts";

export interface Server {
  readonly object: UnitedDeployment;
  readonly workloads: readonly StoredWorkload[];
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  /** Of the newest write. */
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface StoredWorkload {
  readonly json: JsonObject;
  readonly seen: SubsetWorkload;
}

/** An image with which nothing gets ready. */
export const BAD = "web:bad";

const condition = { reason: "", message: "" };

export function subsetOf({ labels }: { readonly labels: Readonly<Record<string, string>> }): string {
  return labels[SUBSET_LABEL] ?? "";
}

export function podsOf({ pods }: Pick<Server, "pods">, { uid }: SubsetWorkload): readonly Pod[] {
  return pods.filter(({ controller }) => controller?.uid === uid);
}

/** Undefined: somebody else was faster, and nothing is written. */
export function written(server: Server, write: PassWrite): Server | undefined {
  const next = { ...server, version: server.version + 1 };
  if (write.type === "patch status") {
    const { object } = server;
    const { uid = "", resourceVersion = "" } = object.metadata;
    if (!isMet(write, { uid, resourceVersion })) return undefined;
    return {
      ...next,
      object: versioned(
        { ...object, status: Object(applyMergePatch(object.status ?? {}, write.status)) },
        next,
      ),
    };
  }
  const present = targetOf(server, write);
  if (write.type === "create") {
    if (present !== undefined) return server;
    return write.resource === "revisions"
      ? { ...next, revisions: [...server.revisions, revisionFrom(write)] }
      : { ...next, workloads: [...server.workloads, workloadFrom(write, next)] };
  }
  if (present === undefined) return write.type === "delete" ? server : undefined;
  if (!isMet(write, present)) return undefined;
  const { uid } = present;
  if (write.type === "delete")
    return {
      ...next,
      workloads: server.workloads.filter(({ seen }) => seen.uid !== uid),
      pods: server.pods.filter((pod) => pod.uid !== uid),
      revisions: server.revisions.filter((revision) => revision.uid !== uid),
    };
  const { body } = write.patch;
  return {
    ...next,
    workloads: server.workloads.map((each) => (each.seen.uid === uid ? patched(each, body, next) : each)),
    pods: server.pods.map((pod) => (pod.uid === uid ? labelled(pod, body) : pod)),
    revisions: server.revisions.map((each) =>
      each.uid === uid ? { ...each, ...applyMergePatch(each, body) } : each,
    ),
  };
}

export function targetOf({ workloads, pods, revisions }: Server, { resource, name }: WriteEffect) {
  const isIt = (each: { readonly name: string }): boolean => each.name === name;
  if (resource === "pods") return pods.find(isIt);
  if (resource === "revisions") return revisions.find(isIt);
  return workloads.find(({ seen }) => isIt(seen))?.seen;
}

function versioned(object: UnitedDeployment, { version }: Server): UnitedDeployment {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

/** What a person changes. */
export function changed(server: Server, spec: Partial<UnitedDeployment["spec"]>): Server {
  const { object } = server;
  const { generation = 0 } = object.metadata;
  const next = { ...server, version: server.version + 1 };
  const metadata = { ...object.metadata, generation: generation + 1 };
  return { ...next, object: versioned({ ...object, metadata, spec: { ...object.spec, ...spec } }, next) };
}

function stored(template: SubsetTemplateName, json: JsonObject, { version }: Server): StoredWorkload {
  const metadata = { ...objectAt(json, "metadata"), resourceVersion: String(version) };
  const whole = { ...json, metadata };
  return { json: whole, seen: workloadOf(workloadKinds[template], whole) };
}

function workloadFrom(
  { resource, name, body }: WriteEffect & { type: "create" },
  server: Server,
): StoredWorkload {
  const kind = Object.values(workloadKinds).find(({ type }) => type === resource);
  if (kind === undefined) throw new Error(`no workload is a ${resource}`);
  const creationTimestamp = new Date(server.now).toISOString();
  const metadata = { ...body.metadata, namespace: "ns", name, uid: `uid-${name}`, creationTimestamp };
  const { spec } = body;
  // Its own controller has revisions, of which pods below the partition get the old one.
  const status = { current: templateIn({ spec }) };
  return stored(kind.template, { metadata, spec, status }, server);
}

/** Somebody's workload for the subset, as the object itself would make it. */
export function withOrphan(server: Server, subset: string, like: string): Server {
  const found = server.workloads.find(({ seen }) => subsetOf(seen) === like);
  if (found === undefined) return server;
  const next = { ...server, version: server.version + 1 };
  const text = JSON.stringify(found.json).replaceAll(`"${like}"`, `"${subset}"`);
  const json: unknown = JSON.parse(text);
  const name = `web-${subset}-theirs`;
  const metadata = { name, uid: `uid-${name}`, ownerReferences: [] };
  const orphan = applyMergePatch(isJsonObject(json) ? json : {}, {
    metadata,
    status: { replicas: 0, readyReplicas: 0 },
  });
  return { ...next, workloads: [...server.workloads, stored(found.seen.template, orphan, next)] };
}

export function patched({ json, seen }: StoredWorkload, body: object, server: Server): StoredWorkload {
  return stored(seen.template, applyMergePatch(json, body), server);
}

function labelled(pod: Pod, body: object): Pod {
  const metadata = isJsonObject(body) ? objectAt(body, "metadata") : {};
  return { ...pod, labels: { ...pod.labels, ...Object(own(metadata, "labels")) } };
}

function revisionFrom({ name, body, texts }: WriteEffect & { type: "create" }): ControllerRevision {
  return {
    namespace: "ns",
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    createdAt: 0,
    generation: 1,
    deletionAt: undefined,
    labels: {},
    annotations: {},
    owners: [],
    finalizers: [],
    revision: Number(body["revision"]),
    data: texts?.["data"] ?? "",
  };
}

/** The pod template as text: pods that were made from another one are old. */
function templateIn(json: JsonObject): string {
  return JSON.stringify(objectAt(objectAt(json, "spec"), "template"));
}

/** With a background deletion pods go later, with one in the foreground before. */
export function collected(server: Server): Server | undefined {
  const workloads = server.workloads.filter(({ seen }) => !seen.isDeleting);
  const owners = new Set(workloads.map(({ seen }) => seen.uid));
  const pods = server.pods.filter(({ controller }) => owners.has(controller?.uid ?? ""));
  const isIdle = workloads.length === server.workloads.length && pods.length === server.pods.length;
  return isIdle ? undefined : { ...server, workloads, pods };
}

/** One step of the workload's controller with its pods. */
export function worked(server: Server, { json, seen }: StoredWorkload, isFull: boolean): Server | undefined {
  const own = podsOf(server, seen);
  const without = (pod: Pod): Server => ({ ...server, pods: server.pods.filter((other) => other !== pod) });
  const isStrict = seen.template === "statefulSetTemplate";
  const unready = own.filter((pod) => !isReady(pod));
  const last = (isStrict ? undefined : unready.at(-1)) ?? own.at(-1);
  if (own.length > seen.replicas && last !== undefined) return without(last);
  const newest = templateIn(json);
  const { partition = 0 } = seen;
  const ordinals = Array.from({ length: seen.replicas }, (_, ordinal) => ordinal);
  const nameOf = (ordinal: number): string => `${seen.name}-${ordinal}`;
  const missing = ordinals.find((ordinal) => !own.some(({ name }) => name === nameOf(ordinal)));
  if (missing !== undefined) {
    const template = missing < partition ? textAt(objectAt(json, "status"), "current") : newest;
    const pod = placed(newPod(server, seen, nameOf(missing), template), server.now, isFull);
    const pods = [...server.pods, pod].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { ...server, pods, version: server.version + 1 };
  }
  const held = new Set(ordinals.slice(0, partition).map(nameOf));
  const old = own.filter((pod) => !held.has(pod.name) && pod.annotations["template"] !== newest).reverse();
  const broken = isStrict ? undefined : old.find((pod) => unready.includes(pod));
  const most = isStrict
    ? 1
    : (workloadKinds[seen.template].maxUnavailable?.of(seen.spec, seen.replicas) ?? 1);
  const next = broken ?? (unready.length < most ? old.find((pod) => !unready.includes(pod)) : undefined);
  return next && without(next);
}

function newPod(server: Server, { name: owner, uid }: SubsetWorkload, name: string, template: string): Pod {
  const json: unknown = JSON.parse(template);
  const metadata = isJsonObject(json) ? objectAt(json, "metadata") : {};
  return barePod(name, {
    namespace: "ns",
    uid: `uid-${name}-${server.version}`,
    createdAt: server.now,
    labels: Object(own(metadata, "labels")),
    annotations: { template },
    controller: { group: "apps", kind: "StatefulSet", name: owner, uid },
  });
}

/** As scheduler and node leave it. */
function placed(pod: Pod, now: number, isFull: boolean): Pod {
  if (isFull) {
    const unschedulable = { ...condition, type: "PodScheduled", status: "False", reason: "Unschedulable" };
    return { ...pod, conditions: [{ ...unschedulable, lastTransitionAt: now }] };
  }
  const ready = { ...condition, type: "Ready", status: "True", lastTransitionAt: now };
  const isBad = pod.annotations["template"]?.includes(`"${BAD}"`) === true;
  return { ...pod, phase: "Running", nodeName: "node", conditions: isBad ? [] : [ready] };
}

/** There is room again. */
export function scheduled(server: Server, workload: SubsetWorkload): Server | undefined {
  const waiting = podsOf(server, workload).filter(({ nodeName }) => nodeName === "");
  if (waiting.length === 0) return undefined;
  const pods = server.pods.map((pod) => (waiting.includes(pod) ? placed(pod, server.now, false) : pod));
  return { ...server, pods };
}

/** The workload's controller writes down what there is. */
export function reported(server: Server, workload: StoredWorkload): Server | undefined {
  const { json, seen } = workload;
  const own = podsOf(server, seen);
  const newest = templateIn(json);
  const isUpdated = own.every(({ annotations }) => annotations["template"] === newest);
  const before = objectAt(json, "status");
  const current = isUpdated ? newest : textAt(before, "current");
  const readyReplicas = own.filter(isReady).length;
  const status = { current, replicas: own.length, readyReplicas };
  const isIdle =
    seen.currentReplicas === own.length &&
    seen.readyReplicas === readyReplicas &&
    textAt(before, "current") === current;
  return isIdle ? undefined : replaced(server, workload, { status });
}

/** Somebody patches the workload. */
export function replaced(server: Server, workload: StoredWorkload, body: object): Server {
  const next = { ...server, version: server.version + 1 };
  const workloads = server.workloads.map((each) => (each === workload ? patched(each, body, next) : each));
  return { ...next, workloads };
}

/** Of what anybody sees: neither versions nor UIDs. */
export function textOfServer({ object, workloads, pods, revisions, now }: Server): string {
  const ofWorkload = ({ json, seen }: StoredWorkload): string =>
    memo(json, () => {
      const { annotations, labels, owners, isDeleting } = seen;
      return JSON.stringify([
        seen.name,
        labels,
        annotations,
        owners.length,
        isDeleting,
        json["spec"],
        json["status"],
      ]);
    });
  const ofPod = (pod: Pod): string =>
    memo(pod, () => {
      const { name, labels, annotations, phase, conditions, createdAt, controller } = pod;
      return JSON.stringify([name, labels, annotations, phase, conditions, createdAt, controller?.uid]);
    });
  return JSON.stringify([
    memo(object, () => JSON.stringify([object.spec, object.status])),
    workloads.map(ofWorkload).sort(),
    pods.map(ofPod).sort(),
    revisions.map(({ name, revision }) => `${name} ${revision}`).sort(),
    now,
  ]);
}

const texts = new WeakMap<object, string>();

function memo(object: object, text: () => string): string {
  let known = texts.get(object);
  if (known === undefined) {
    known = text();
    texts.set(object, known);
  }
  return known;
}

export function revisionOf({ labels }: SubsetWorkload | Pod): string {
  return labels[REVISION_LABEL] ?? "";
}
