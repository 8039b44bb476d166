/** URLs of the Kubernetes REST API. */

import type { DeleteOptions, ListOptions, Resource, WatchOptions, WriteOptions } from "./client_types.ts";
import type { ObjectRef } from "./core/types.ts";
import { KubeError } from "./errors.ts";

type Place = Pick<Resource<unknown>, "group" | "version" | "plural" | "namespaced">;

/** `/api/v1/...` or `/apis/<group>/<version>/...`; without a namespace: all of them. */
export function collectionPath(resource: Place, namespace: string | undefined): string {
  const root =
    resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const inside = resource.namespaced && namespace ? `/namespaces/${segment(namespace)}` : "";
  return `${root}${inside}/${resource.plural}`;
}

export function objectPath(resource: Place, ref: ObjectRef, subresource?: string): string {
  if (resource.namespaced && !ref.namespace) {
    throw new KubeError(
      "BadRequest",
      `${resource.plural} "${ref.name}": the resource is namespaced, a namespace is needed`,
    );
  }
  const sub = subresource ? `/${subresource.split("/").map(segment).join("/")}` : "";
  return `${collectionPath(resource, ref.namespace)}/${segment(ref.name)}${sub}`;
}

/** A name as one path segment: nothing in it can leave its place in the path. */
function segment(name: string): string {
  if (name === "" || name === "." || name === "..")
    throw new KubeError("BadRequest", `"${name}" is not a name`);
  return encodeURIComponent(name);
}

type Query = Record<string, string | number | boolean | undefined>;

export function withQuery(path: string, query: Query): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "" && value !== false) {
      parts.push(`${name}=${encodeURIComponent(String(value))}`);
    }
  }
  return parts.length === 0 ? path : `${path}?${parts.join("&")}`;
}

export function listQuery(options: ListOptions): Query {
  return {
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    limit: options.limit,
    continue: options.continue,
    // "Any" version serves from the watch cache; the server refuses it together with `continue`.
    resourceVersion: options.continue ? undefined : options.resourceVersion,
  };
}

export function watchQuery(options: WatchOptions): Query {
  return {
    watch: true,
    allowWatchBookmarks: true,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    timeoutSeconds: options.timeoutSeconds,
    sendInitialEvents: options.sendInitialEvents,
    resourceVersionMatch: options.sendInitialEvents ? "NotOlderThan" : undefined,
  };
}

export function writeQuery(options: WriteOptions): Query {
  return { fieldManager: options.fieldManager, dryRun: options.dryRun ? "All" : undefined };
}

/** DeleteOptions travel as the body. */
export function deleteBody(options: DeleteOptions): object {
  const preconditions: { uid?: string; resourceVersion?: string } = {};
  if (options.uid !== undefined) preconditions.uid = options.uid;
  if (options.resourceVersion !== undefined) preconditions.resourceVersion = options.resourceVersion;
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
    ...(options.dryRun ? { dryRun: ["All"] } : {}),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
  };
}
