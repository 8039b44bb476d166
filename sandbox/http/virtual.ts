/** Kinds that are answered and never stored: access and token reviews, bindings by the older path. */

import { formatTime } from "../../kube/core/index.ts";
import { fieldsAt, numberAt, textAt } from "../json.ts";
import { virtualResources } from "../resources/builtin.ts";
import { splitApiVersion } from "../resources/resource.ts";
import { serviceAccountUser } from "../tokens.ts";
import type { World } from "../world.ts";
import { methodNotAllowed, notFound } from "./api_error.ts";
import { expectedCore, readObject } from "./body.ts";
import { type Exchange, jsonReply, type Reply } from "./exchange.ts";
import type { ResourcePath } from "./path.ts";
import { bindPod } from "./pod_calls.ts";
import { reviewReply } from "./reviews.ts";
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
      const { namespace } = at;
      return bindPod(world, exchange, { served: pods, namespace, name: "", subresource: "binding" });
    }
    return reviewReply(world, exchange, at.namespace, entry);
  };
}

/** `serviceaccounts/token`: a token that the server will know its bearer by. */
export async function requestToken(
  world: Pick<World, "clock" | "tokens">,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  const account = target.served.resource.table.get(target.namespace, target.name);
  if (account === undefined) throw notFound(target.served, target.name);
  const body = await readObject(exchange, expectedCore("authentication.k8s.io/v1", "TokenRequest"));
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
