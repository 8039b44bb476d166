/** What happens below an object: status, scale, and the subresources of pods, namespaces and service accounts. */
import type { Subresource } from "../resources/resource.ts";
import type { World } from "../world.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { bindPod, evictPod, refuseStream } from "./pod_calls.ts";
import { podLog } from "./pod_log.ts";
import { getObject } from "./read.ts";
import { getScale, patchScale, putScale } from "./scale.ts";
import type { Target } from "./target.ts";
import { requestToken } from "./virtual.ts";
import { finalizeNamespace, patchObject, putObject } from "./write.ts";

export interface SubresourceCall {
  readonly verb: string;
  /** Without a reply it answers itself. */
  readonly handler: (world: World, exchange: Exchange, target: Target) => Promise<Reply | undefined>;
}

type Handlers = Readonly<Record<string, SubresourceCall["handler"]>>;

const stored: Handlers = { get: getObject, update: putObject, patch: patchObject };

const handlers: Readonly<Record<string, Handlers>> = {
  status: stored,
  ephemeralcontainers: stored,
  resize: stored,
  scale: { get: getScale, update: putScale, patch: patchScale },
  finalize: { update: finalizeNamespace },
  binding: { create: bindPod },
  eviction: { create: evictPod },
  log: { get: podLog },
  exec: { get: refuseStream, create: refuseStream },
  attach: { get: refuseStream, create: refuseStream },
  portforward: { get: refuseStream, create: refuseStream },
  token: { create: requestToken },
};

const verbs: Readonly<Record<string, string>> = { GET: "get", PUT: "update", PATCH: "patch", POST: "create" };

/** Undefined for methods that the subresource does not have. */
export function subresourceCall(method: string, subresource: Subresource): SubresourceCall | undefined {
  const verb = verbs[method];
  if (verb === undefined || !subresource.verbs.includes(verb)) return undefined;
  const handler = handlers[subresource.name]?.[verb];
  return handler === undefined ? undefined : { verb, handler };
}
