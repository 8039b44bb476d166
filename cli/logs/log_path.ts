import type { AnyObject } from "../fields.ts";
import type { LogQuery } from "./container_log.ts";

/** Path and query of a container's log, with the time of each line. */
export function logPath({ metadata }: AnyObject, container: string, query: LogQuery): string {
  const wanted = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const [namespace, pod] = [metadata.namespace ?? "", metadata.name ?? ""].map(encodeURIComponent);
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${new URLSearchParams([["container", container], ["timestamps", "true"], ...wanted])}`;
}
