/** What a server stores around one PersistentPodState, and how it answers. Values: each step makes another one. */
import { objectAt, objectsAt, textAt, textsAt } from "../../controller/native/json_fields.ts";
import { controllerIn } from "../../controller/native/owners.ts";
import type { PersistentPodState } from "../../crds/index.ts";
import { applyMergePatch, type JsonObject, jsonEqual, type Labels } from "../../kube/core/index.ts";
import type { Reply, Request } from "./pending_requests.ts";
import { put } from "./pull_state.ts";

/** By what they are, what is stored of it: the record, its workload, pods and nodes by name. */
export interface Stored {
  readonly record: PersistentPodState | undefined;
  /** A StatefulSet of either group. */
  readonly workload: JsonObject | undefined;
  readonly pods: ReadonlyMap<string, JsonObject>;
  readonly nodes: ReadonlyMap<string, JsonObject>;
}

export interface Server extends Stored {
  /** Of the newest write. */
  readonly version: number;
  /** Where pods were ready, and for whom: {@link readinessOf}. */
  readonly ran: readonly string[];
  /** All labels that nodes have had. */
  readonly labels: ReadonlyMap<string, readonly Labels[]>;
}

export const NAME = "web";
export const NAMESPACE = "default";
const SOME_TIME = "2026-01-01T00:00:00Z";

export function answerOf(
  server: Server,
  request: Request,
): { readonly server: Server; readonly reply: Reply } {
  const { verb, subresource, body } = request;
  const unchanged = (reply: Reply) => ({ server, reply });
  const written = (next: Server) => ({ server: next, reply: replyOf(next.record) });
  const { record } = server;
  if (verb === "create") {
    if (record !== undefined) return unchanged({ error: "AlreadyExists" });
    return written(withRecord(server, { ...Object(body), metadata: { ...objectAt(body, "metadata") } }));
  }
  if (record === undefined) return unchanged({ error: "NotFound" });
  if (verb === "get") return unchanged(replyOf(record));
  if (!isExpected(record, request)) return unchanged({ error: "Conflict" });
  if (verb === "delete") return { server: withRecord(server, undefined), reply: {} };
  const part = subresource === "status" ? "status" : "spec";
  const patched = applyMergePatch(record, { [part]: objectAt(body, part) });
  return written(withRecord(server, Object(patched)));
}

/** Whether the object is the one that the write is for. The status of a custom resource is written whatever the UID is. */
export function isExpected(record: PersistentPodState | undefined, request: Request): boolean {
  const { uid: storedUid, resourceVersion: storedVersion } = record?.metadata ?? {};
  const { uid, resourceVersion, subresource } = request;
  const isIt = (expected: string, found: unknown): boolean => expected === "" || expected === found;
  return (subresource === "status" || isIt(uid, storedUid)) && isIt(resourceVersion, storedVersion);
}

function replyOf(record: PersistentPodState | undefined): Reply {
  return record === undefined ? {} : { object: { ...record } };
}

/** A new one, or another version of the one that is there. */
export function withRecord(server: Server, record: PersistentPodState | undefined): Server {
  const version = server.version + 1;
  if (record === undefined) return { ...server, version, record };
  const { metadata, spec } = record;
  const { uid = `record-${version}`, generation = 0 } = metadata;
  const isSame = server.record !== undefined && jsonEqual(server.record.spec, spec);
  const identity = { name: NAME, namespace: NAMESPACE, uid, resourceVersion: String(version) };
  const numbered = { ...metadata, ...identity, generation: isSame ? generation : generation + 1 };
  return { ...server, version, record: { ...record, metadata: numbered } };
}

export function withWorkload(server: Server, workload: JsonObject | undefined): Server {
  const version = server.version + 1;
  if (workload === undefined) return { ...server, version, workload };
  const metadata = { ...objectAt(workload, "metadata"), resourceVersion: String(version) };
  return { ...server, version, workload: { ...workload, metadata } };
}

/** A new one, or another version of the one that is there. */
export function withPod(server: Server, name: string, pod: JsonObject | undefined): Server {
  const version = server.version + 1;
  if (pod === undefined) return { ...server, version, pods: put(server.pods, name, pod) };
  const { uid = `${name}-${version}`, ...metadata } = objectAt(pod, "metadata");
  const identity = { name, namespace: NAMESPACE, uid, resourceVersion: String(version) };
  const stored: JsonObject = { ...pod, metadata: { ...metadata, ...identity } };
  const ran = isReady(stored) ? [...new Set([...server.ran, readinessOf(stored)])].sort() : server.ran;
  return { ...server, version, ran, pods: put(server.pods, name, stored) };
}

export function withNode(server: Server, name: string, labels: Labels | undefined, isClosed = false): Server {
  const version = server.version + 1;
  const metadata = { name, uid: name, resourceVersion: String(version), labels: { ...labels } };
  const node = { apiVersion: "v1", kind: "Node", metadata, spec: { unschedulable: isClosed } };
  const had = server.labels.get(name) ?? [];
  return {
    ...server,
    version,
    nodes: put(server.nodes, name, labels && node),
    labels: labels === undefined ? server.labels : put(server.labels, name, [...had, labels]),
  };
}

/** Somebody deletes it. */
export function withoutPod(server: Server, name: string): Server {
  const pod = server.pods.get(name);
  if (pod === undefined || isGoing(pod)) return server;
  const metadata = { ...objectAt(pod, "metadata"), deletionTimestamp: SOME_TIME };
  return withPod(server, name, { ...pod, metadata });
}

export function isGoing(object: JsonObject): boolean {
  return "deletionTimestamp" in objectAt(object, "metadata");
}

export function going(object: JsonObject): JsonObject {
  return { ...object, metadata: { ...objectAt(object, "metadata"), deletionTimestamp: SOME_TIME } };
}

export function isReady(pod: JsonObject): boolean {
  return objectsAt(objectAt(pod, "status"), "conditions").some((each) => each["status"] === "True");
}

export function nodeOf(pod: JsonObject): string {
  return textAt(objectAt(pod, "spec"), "nodeName");
}

export function uidOf(object: JsonObject | undefined): string {
  return object === undefined ? "" : textAt(objectAt(object, "metadata"), "uid");
}

export function ownerOf(object: JsonObject): string {
  return controllerIn(objectAt(object, "metadata"))?.uid ?? "";
}

export function labelsOf(object: JsonObject): Labels {
  return textsAt(objectAt(object, "metadata"), "labels");
}

export function readinessOf(pod: JsonObject): string {
  return `${textAt(objectAt(pod, "metadata"), "name")} on ${nodeOf(pod)} of ${ownerOf(pod)}`;
}
