/** What the API server counts, all its clients together, when it serves its metrics. */
import { type Client, isKubeError } from "../../kube/index.ts";
import { parseMetrics, type Sample, sumBy } from "./prometheus_text.ts";

const requests = "apiserver_request_total";
const processor = "process_cpu_seconds_total";
const longRunning = "apiserver_longrunning_requests";
const storeSize = "apiserver_storage_size_bytes";
const wanted: ReadonlySet<string> = new Set([requests, processor, longRunning, storeSize]);

export interface ServerMetrics {
  /** Keys as `PATCH pods/status`. */
  readonly requests: Readonly<Record<string, number>>;
  /** User and system time of its process; undefined where it does not tell. */
  readonly cpuSeconds: number | undefined;
  /** Open watches of all clients. */
  readonly watches: number;
  /** Of etcd's file, MB; undefined where it does not tell. */
  readonly storeMb: number | undefined;
}

/** Undefined when the server has no such metrics or keeps them from this user. */
export async function readServerMetrics(client: Client): Promise<ServerMetrics | undefined> {
  try {
    const text = await client.request("GET", "/metrics");
    if (typeof text !== "string") return undefined;
    const metrics = serverMetrics(text);
    return Object.keys(metrics.requests).length === 0 ? undefined : metrics;
  } catch (error) {
    if (isKubeError(error, "NotFound", "Forbidden", "Unauthorized", "MethodNotAllowed")) return undefined;
    throw error;
  }
}

export function serverMetrics(text: string): ServerMetrics {
  const samples = parseMetrics(text, wanted);
  return {
    requests: sumBy(samples, requests, (labels) => {
      const subresource = labels["subresource"] ? `/${labels["subresource"]}` : "";
      return `${labels["verb"] ?? ""} ${labels["resource"] ?? ""}${subresource}`;
    }),
    cpuSeconds: samples.find(({ name }) => name === processor)?.value,
    watches: sumBy(samples, longRunning, ({ verb = "" }) => verb)["WATCH"] ?? 0,
    storeMb: storeMbIn(samples),
  };
}

function storeMbIn(samples: readonly Sample[]): number | undefined {
  const bytes = samples.find(({ name }) => name === storeSize)?.value;
  return bytes === undefined ? undefined : bytes / 2 ** 20;
}

/** Seconds; undefined where the server does not tell, or another one of several answered, which counts for itself. */
export function serverCpuBetween(
  before: Pick<ServerMetrics, "cpuSeconds"> | undefined,
  after: Pick<ServerMetrics, "cpuSeconds"> | undefined,
): number | undefined {
  if (before?.cpuSeconds === undefined || after?.cpuSeconds === undefined) return undefined;
  const seconds = after.cpuSeconds - before.cpuSeconds;
  return seconds >= 0 ? seconds : undefined;
}
