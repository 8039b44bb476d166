/** What a request is about, once its path is known to be served. */
import type { FaultTarget } from "../faults.ts";
import type { Served } from "../resources/resource.ts";
import type { Exchange } from "./exchange.ts";

export interface Target {
  readonly served: Served;
  /** Empty for cluster-scoped resources and lists over all namespaces. */
  readonly namespace: string;
  /** Empty for collections. */
  readonly name: string;
  readonly subresource: string;
}

export function faultTarget(exchange: Exchange, target: Target, verb: string): FaultTarget {
  const { name } = target.served.resource;
  return {
    verb,
    resource: target.subresource === "" ? name : `${name}/${target.subresource}`,
    namespace: target.namespace,
    name: target.name,
    userAgent: exchange.userAgent,
  };
}
