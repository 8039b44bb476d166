/** From a request to the handler that answers it. */
import { errorText } from "../../kube/core/index.ts";
import { requestAttributes } from "../authorization/attributes.ts";
import { notAllowed } from "../authorization/refusal.ts";
import type { Log, World } from "../world.ts";
import { ApiError, internalError, methodNotAllowed, noSuchResource } from "./api_error.ts";
import type { Discovery } from "./discovery.ts";
import { type Exchange, jsonReply, type Reply, sendReply, statusReply, textReply } from "./exchange.ts";
import { actingAs } from "./impersonation.ts";
import { isTrue } from "./list_options.ts";
import type { OpenApi } from "./openapi.ts";
import { parsePath } from "./path.ts";
import { getObject, listObjects } from "./read.ts";
import { subresourceCall } from "./subresources.ts";
import { faultTarget, type Target } from "./target.ts";
import { virtualCall } from "./virtual.ts";
import { watchObjects } from "./watch.ts";
import { deleteMany, deleteOne, patchObject, postObject, putObject } from "./write.ts";

export interface Routes {
  readonly world: World;
  readonly discovery: Discovery;
  readonly openApi: OpenApi;
  /** What `/version` answers. */
  readonly version: Readonly<Record<string, string>>;
}

/** Undefined when the handler keeps the response open. */
type Handler = (
  world: World,
  exchange: Exchange,
  target: Target,
) => Promise<Reply | undefined> | Reply | undefined;

export async function answer(routes: Routes, exchange: Exchange): Promise<void> {
  try {
    const reply = await authorized(routes, exchange);
    if (reply !== undefined) sendReply(exchange, reply);
  } catch (error) {
    if (exchange.closed.aborted) return;
    sendReply(exchange, errorReply(routes.world.log, exchange, error));
  }
}

function errorReply(log: Log, exchange: Exchange, error: unknown): Reply {
  let refusal: ApiError;
  if (error instanceof ApiError) refusal = error;
  else {
    log("request failed inside the sandbox", {
      path: exchange.path,
      error: String(error),
      stack: error instanceof Error ? error.stack : "",
    });
    refusal = internalError(errorText(error));
  }
  const retryAfter = refusal.details?.retryAfterSeconds;
  const headers = retryAfter === undefined ? {} : { headers: { "retry-after": String(retryAfter) } };
  return { ...statusReply(exchange, refusal.code, refusal.toStatus()), ...headers };
}

/** Rights are checked before anything else, also for what does not exist. */
async function authorized(routes: Routes, exchange: Exchange): Promise<Reply | undefined> {
  const { authorizer, log } = routes.world;
  const acting = actingAs(authorizer, exchange);
  if ("reply" in acting) return acting.reply;
  const attributes = requestAttributes(acting.exchange);
  const { allowed, reason } = authorizer.authorize(attributes);
  if (!allowed) {
    const refusal = notAllowed(attributes, reason);
    log("a request was not allowed", { user: attributes.user.username, refusal: refusal.message });
    throw refusal;
  }
  return route(routes, acting.exchange);
}

async function route(routes: Routes, exchange: Exchange): Promise<Reply | undefined> {
  const plain = plainPath(routes, exchange);
  if (plain !== undefined) return plain;
  const path = parsePath(exchange.path);
  if (path === undefined || !routes.discovery.hasVersion(path.group, path.version)) {
    return textReply(404, "404 page not found\n");
  }
  const served = routes.world.registry.served(path.group, path.version, path.plural);
  if (served === undefined) {
    const call = virtualCall(path);
    if (call === undefined) throw noSuchResource();
    return call(routes.world, exchange, path);
  }
  if (served.resource.namespaced && path.namespace === "" && path.name !== "") throw noSuchResource();
  if (!served.resource.namespaced && path.namespace !== "") throw noSuchResource();
  if (served.deprecation !== undefined) exchange.warnings.push(served.deprecation);
  const { namespace, name, subresource } = path;
  const target: Target = { served, namespace, name, subresource };
  return withFaults(routes.world, exchange, target, callOf(exchange, target));
}

function plainPath(routes: Routes, exchange: Exchange): Reply | undefined {
  switch (exchange.path) {
    case "/version":
    case "/version/":
      return jsonReply(200, routes.version);
    case "/healthz":
    case "/livez":
    case "/readyz":
      return textReply(200, "ok");
    case "/":
      return jsonReply(200, {
        paths: ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"],
      });
    default:
      break;
  }
  if (exchange.path.startsWith("/openapi/")) return routes.openApi.reply(exchange);
  if (exchange.method !== "GET" && exchange.method !== "HEAD") return undefined;
  return routes.discovery.reply(exchange);
}

interface Call {
  readonly verb: string;
  readonly handler: Handler;
}

const writes: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

function callOf(exchange: Exchange, target: Target): Call {
  if (target.subresource !== "") return below(exchange, target);
  const call = plainCall(exchange, target);
  if (call === undefined || !target.served.verbs.includes(call.verb)) throw methodNotAllowed();
  return call;
}

function plainCall(exchange: Exchange, target: Target): Call | undefined {
  const one = target.name !== "";
  switch (exchange.method) {
    case "GET":
    case "HEAD":
      if (one && !isWatch(exchange)) return { verb: "get", handler: getObject };
      if (isWatch(exchange)) return { verb: "watch", handler: startWatch };
      return { verb: "list", handler: listObjects };
    case "POST":
      return one ? undefined : { verb: "create", handler: postObject };
    case "PUT":
      return one ? { verb: "update", handler: putObject } : undefined;
    case "PATCH":
      return one ? { verb: "patch", handler: patchObject } : undefined;
    case "DELETE":
      return one ? { verb: "delete", handler: deleteOne } : { verb: "deletecollection", handler: deleteMany };
    default:
      return undefined;
  }
}

function isWatch(exchange: Exchange): boolean {
  return isTrue(exchange.query.get("watch"));
}

function startWatch(world: World, exchange: Exchange, target: Target): undefined {
  watchObjects(world, exchange, target);
}

function below(exchange: Exchange, target: Target): Call {
  const subresource = target.served.subresources.get(target.subresource);
  if (subresource === undefined) throw noSuchResource();
  const call = subresourceCall(exchange.method, subresource);
  if (call === undefined) throw methodNotAllowed();
  return call;
}

async function withFaults(
  world: World,
  exchange: Exchange,
  target: Target,
  call: Call,
): Promise<Reply | undefined> {
  const { faults } = world;
  const about = faultTarget(exchange, target, call.verb);
  const wait = faults.latency(about);
  if (wait > 0) await world.clock.sleep(wait, exchange.closed);
  if (faults.strike("drop", about, (effect) => effect.when === "before") !== undefined) {
    exchange.drop();
    return undefined;
  }
  const refused = faults.strike("status", about);
  if (refused !== undefined) {
    throw new ApiError(
      refused.code,
      reasons[refused.code] ?? "InternalError",
      refused.message ?? "refused by a fault of the sandbox",
      refused.retryAfterSeconds === undefined ? undefined : { retryAfterSeconds: refused.retryAfterSeconds },
    );
  }
  const reply = await call.handler(world, exchange, target);
  if (!writes.has(call.verb) || reply === undefined) return reply;
  const cut = faults.strike("drop", about, (effect) => effect.when === "after") !== undefined;
  if (cut) exchange.drop();
  if (!exchange.query.has("dryRun")) faults.written({ ...about, name: reply.created ?? about.name });
  return cut ? undefined : reply;
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};
