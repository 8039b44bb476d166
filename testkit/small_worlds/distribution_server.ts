/** What a server stores around one ResourceDistribution, and how it answers. Values: each step makes another one. */
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import { controllerIn } from "../../controller/native/owners.ts";
import type { ResourceDistribution } from "../../crds/index.ts";
import { applyMergePatch, type JsonObject, type Labels } from "../../kube/core/index.ts";
import type { Namespace } from "../../kube/index.ts";
import type { Reply, Request } from "./pending_requests.ts";
import { put } from "./pull_state.ts";

export interface Server {
  readonly distribution: ResourceDistribution | undefined;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  /** What has the name of the copies, whoever made it, by namespace. */
  readonly copies: ReadonlyMap<string, JsonObject>;
  /** Namespaces whose quota is spent. */
  readonly full: readonly string[];
  readonly mayList: boolean;
  /** Of the newest write. */
  readonly version: number;
}

export const NAME = "settings";
const LONG_AGO = Date.UTC(2026, 0, 1);

export function answerOf(
  server: Server,
  request: Request,
): { readonly server: Server; readonly reply: Reply } {
  const { verb, namespace, subresource } = request;
  const unchanged = (reply: Reply) => ({ server, reply });
  const stored = namespace === "" ? jsonOf(server.distribution) : server.copies.get(namespace);
  if (verb === "create") {
    const found = server.namespaces.get(namespace);
    if (found === undefined) return unchanged({ error: "NotFound", namespace });
    if (found.deletionAt !== undefined) return unchanged({ error: "NamespaceTerminating" });
    if (stored !== undefined) return unchanged({ error: "AlreadyExists" });
    if (server.full.includes(namespace)) return unchanged({ error: "Forbidden" });
    const next = withCopy(server, namespace, request.body);
    return { server: next, reply: replyOf(next.copies.get(namespace)) };
  }
  if (stored === undefined) return unchanged({ error: "NotFound" });
  if (verb === "get") return unchanged({ object: stored });
  if (!isExpected(stored, request)) return unchanged({ error: "Conflict" });
  if (verb === "delete") return { server: withoutCopy(server, namespace), reply: {} };
  const { uid: _, resourceVersion: __, ...metadata } = objectAt(request.body, "metadata");
  const patched = applyMergePatch(stored, { ...request.body, metadata });
  if (subresource === "status") {
    const next = withDistribution(server, Object(patched));
    return { server: next, reply: replyOf(jsonOf(next.distribution)) };
  }
  const next = withCopy(server, namespace, patched);
  return { server: next, reply: replyOf(next.copies.get(namespace)) };
}

/** Whether the object is the one that the write is for. */
export function isExpected(stored: JsonObject | undefined, { uid, resourceVersion }: Request): boolean {
  const { uid: storedUid, resourceVersion: storedVersion } = stored ? objectAt(stored, "metadata") : {};
  const isIt = (expected: string, found: unknown): boolean => expected === "" || expected === found;
  return isIt(uid, storedUid) && isIt(resourceVersion, storedVersion);
}

function replyOf(object: JsonObject | undefined): Reply {
  return object === undefined ? {} : { object };
}

function jsonOf(object: ResourceDistribution | undefined): JsonObject | undefined {
  return object && { ...object };
}

export function withDistribution(server: Server, distribution: ResourceDistribution | undefined): Server {
  const version = server.version + 1;
  const metadata = { ...distribution?.metadata, resourceVersion: String(version) };
  return { ...server, version, distribution: distribution && { ...distribution, metadata } };
}

/** A new one, or another version of the one that is there. */
export function withCopy(server: Server, namespace: string, object: JsonObject): Server {
  const version = server.version + 1;
  const before = objectAt(object, "metadata");
  const uid = textAt(before, "uid") === "" ? `uid-${version}` : textAt(before, "uid");
  const metadata = { ...before, name: NAME, namespace, uid, resourceVersion: String(version) };
  return { ...server, version, copies: put(server.copies, namespace, { ...object, metadata }) };
}

/** One with a finalizer stays until whoever put it there is done. */
export function withoutCopy(server: Server, namespace: string): Server {
  const copy = server.copies.get(namespace);
  if (copy === undefined || isGoing(copy)) return server;
  const metadata = objectAt(copy, "metadata");
  const { finalizers } = metadata;
  if (Array.isArray(finalizers) && finalizers.length > 0)
    return withCopy(server, namespace, {
      ...copy,
      metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
  return { ...server, version: server.version + 1, copies: put(server.copies, namespace, undefined) };
}

export function withNamespace(
  server: Server,
  name: string,
  { labels = {}, isGoing: isEnding = false }: { readonly labels?: Labels; readonly isGoing?: boolean },
): Server {
  const version = server.version + 1;
  const namespace: Namespace = {
    namespace: "",
    name,
    uid: server.namespaces.get(name)?.uid ?? `uid-${version}`,
    resourceVersion: String(version),
    generation: 0,
    labels,
    annotations: {},
    owners: [],
    finalizers: [],
    createdAt: LONG_AGO,
    deletionAt: isEnding ? LONG_AGO : undefined,
  };
  return { ...server, version, namespaces: put(server.namespaces, name, namespace) };
}

export function isGoing(copy: JsonObject): boolean {
  return "deletionTimestamp" in objectAt(copy, "metadata");
}

export function controllerUidOf(copy: JsonObject | undefined): string {
  return (copy && controllerIn(objectAt(copy, "metadata"))?.uid) ?? "";
}

/** What the collector, the controller of namespaces and the holders of finalizers do next, by name. */
export function* housekeeping(server: Server): Generator<[string, Server]> {
  const { distribution, namespaces, copies } = server;
  for (const [name, copy] of copies) {
    const owner = controllerIn(objectAt(copy, "metadata"));
    const isOrphan =
      owner?.name === "d" && (owner.uid !== distribution?.metadata.uid || isEnding(distribution));
    if (isGoing(copy))
      yield [
        `${name}'s finalizer is done`,
        { ...server, version: server.version + 1, copies: put(copies, name, undefined) },
      ];
    else if (isOrphan || namespaces.get(name)?.deletionAt !== undefined)
      yield [`the copy in ${name} is collected`, withoutCopy(server, name)];
  }
  for (const [name, { deletionAt }] of namespaces)
    if (deletionAt !== undefined && !copies.has(name))
      yield [
        `${name} is gone`,
        { ...server, version: server.version + 1, namespaces: put(namespaces, name, undefined) },
      ];
  if (
    isEnding(distribution) &&
    ![...copies.values()].some((copy) => controllerUidOf(copy) === distribution?.metadata.uid)
  )
    yield ["the distribution is gone", withDistribution(server, undefined)];
}

function isEnding(distribution: ResourceDistribution | undefined): boolean {
  return distribution?.metadata.deletionTimestamp !== undefined;
}
