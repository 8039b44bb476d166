/** Kinds that are answered and never stored: access and token reviews, bindings by the older path. */

import { formatTime } from "../../kube/core/index.ts";
import { type Fields, fieldsAt, numberAt, textAt } from "../json.ts";
import { coreShape, coreSource, virtualResources } from "../resources/builtin.ts";
import { splitApiVersion } from "../resources/resource.ts";
import { Shape } from "../resources/shape.ts";
import { serviceAccountUser, type Tokens } from "../tokens.ts";
import type { World } from "../world.ts";
import { methodNotAllowed, notFound } from "./api_error.ts";
import { readObject } from "./body.ts";
import { type Exchange, jsonReply, type Reply } from "./exchange.ts";
import type { ResourcePath } from "./path.ts";
import { bindPod } from "./pod_calls.ts";
import type { Target } from "./target.ts";

type VirtualCall = (world: World, exchange: Exchange, path: ResourcePath) => Promise<Reply>;

/** The handler of a path whose resource is not stored; undefined when there is none. */
export function virtualCall(path: ResourcePath): VirtualCall | undefined {
  const entry = virtualResources().find((candidate) => {
    const { group, version } = splitApiVersion(textAt(candidate, "groupVersion"));
    return group === path.group && version === path.version && textAt(candidate, "name") === path.plural;
  });
  if (entry === undefined || path.name !== "") return undefined;
  return async (world, exchange, at) => {
    if (exchange.method !== "POST") throw methodNotAllowed();
    if (at.plural === "bindings") {
      const pods = world.registry.served("", "v1", "pods");
      if (pods === undefined) throw methodNotAllowed();
      return bindPod(world, exchange, {
        served: pods,
        namespace: at.namespace,
        name: "",
        subresource: "binding",
      });
    }
    return review(world, exchange, entry);
  };
}

async function review({ tokens }: Pick<World, "tokens">, exchange: Exchange, entry: Fields): Promise<Reply> {
  const apiVersion = textAt(entry, "groupVersion");
  const kind = textAt(entry, "kind");
  const { group, version } = splitApiVersion(apiVersion);
  const shape = coreShape(group, version, kind) ?? new Shape({}, coreSource);
  const body = await readObject(exchange, { apiVersion, kind, shape, custom: false });
  return jsonReply(201, { ...body, status: statusOf(tokens, exchange, kind, body) });
}

const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };

function statusOf(tokens: Tokens, exchange: Exchange, kind: string, body: Fields): Fields {
  switch (kind) {
    case "TokenReview": {
      const user = tokens.userOf(textAt(body, "spec", "token"));
      if (user === undefined) return { user: {}, error: "invalid bearer token" };
      return { authenticated: true, user, audiences: ["https://kubernetes.default.svc"] };
    }
    case "SelfSubjectReview":
      return { userInfo: exchange.user };
    case "SelfSubjectRulesReview":
      return {
        resourceRules: [everything],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
        incomplete: false,
      };
    default:
      return { allowed: true, reason: "the sandbox lets every known user do everything" };
  }
}

/** `serviceaccounts/token`: a token that the server will know its bearer by. */
export async function requestToken(
  world: Pick<World, "clock" | "tokens">,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  const account = target.served.resource.table.get(target.namespace, target.name);
  if (account === undefined) throw notFound(target.served, target.name);
  const shape = coreShape("authentication.k8s.io", "v1", "TokenRequest") ?? new Shape({}, coreSource);
  const body = await readObject(exchange, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    shape,
    custom: false,
  });
  const seconds = numberAt(body, "spec", "expirationSeconds") ?? 3600;
  const user = serviceAccountUser(target.namespace, target.name, account.object.metadata.uid ?? "");
  return jsonReply(201, {
    ...body,
    spec: { ...fieldsAt(body, "spec"), expirationSeconds: seconds },
    status: {
      token: world.tokens.issue(user),
      expirationTimestamp: formatTime(world.clock.now() + seconds * 1000),
    },
  });
}
