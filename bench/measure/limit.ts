/** What the API server takes at most: a bare loop of patches, in the run whose rollout is measured. */
import { type Client, type Clock, isKubeError } from "../../kube/index.ts";
import { eachInFlight } from "../in_flight.ts";
import { BENCH_LABEL, podObjects } from "../resources.ts";
import type { Limit } from "./result.ts";
import { ascending, distributionOf } from "./statistics.ts";

const POD_COUNT = 100;
const levels = [1, 8, 16, 64] as const;
const kinds = ["metadata", "status"] as const;

export interface LimitOptions {
  /** A client that lets exactly so many requests be in flight. */
  clientOf(inFlight: number): Client;
  clock: Clock;
  namespace: string;
  run: string;
  /** Of each kind and level. */
  patches: number;
  signal: AbortSignal;
  progress(done: number, all: number): void;
}

/** Patches pods that no node runs and no controller owns; removes them again. */
export async function measureLimit(options: LimitOptions): Promise<Limit> {
  const { clientOf, clock, namespace, patches, signal, progress } = options;
  const client = clientOf(16);
  const names = await makePods(client, options);
  const rates: Limit["rates"] = [];
  let done = 0;
  const all = levels.length * kinds.length * patches;
  for (const inFlight of levels) {
    const loop = clientOf(inFlight);
    try {
      for (const patch of kinds) {
        const latencies: number[] = [];
        const started = clock.monotonic();
        await eachInFlight(Array.from({ length: patches }).keys(), inFlight, async (index) => {
          signal.throwIfAborted();
          const sent = clock.monotonic();
          await patchPod(loop, patch, namespace, names[index % names.length] ?? "", index);
          latencies.push(clock.monotonic() - sent);
          if (++done % 50 === 0) progress(done, all);
        });
        const perSecond = patches / ((clock.monotonic() - started) / 1000);
        const { p50, p99 } = distributionOf(ascending(latencies), "client");
        rates.push({ patch, inFlight, perSecond, p50, p99 });
      }
    } finally {
      await loop.close();
    }
  }
  await eachInFlight(names, 16, (name) =>
    client.delete(podObjects, { namespace, name }, { gracePeriodSeconds: 0 }).catch(ignoreGone),
  );
  await client.close();
  return { rates, writesPerSecond: Math.max(...rates.map(({ perSecond }) => perSecond)) };
}

function ignoreGone(error: unknown): void {
  if (!isKubeError(error, "NotFound")) throw error;
}

async function makePods(client: Client, { namespace, run, patches }: LimitOptions): Promise<string[]> {
  const names = Array.from({ length: Math.min(POD_COUNT, patches) }, (_, index) => `limit-${index + 1}`);
  await eachInFlight(names, 16, (name) => client.create(podObjects, namespace, barePod(name, run, {})));
  return names;
}

/** A pod that no scheduler takes up. */
export function barePod(name: string, run: string, labels: Readonly<Record<string, string>>) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { [BENCH_LABEL]: run, ...labels } },
    spec: {
      schedulerName: "refit-bench-none",
      automountServiceAccountToken: false,
      containers: [{ name: "main", image: "registry.example/app:1" }],
    },
  };
}

function patchPod(
  client: Client,
  kind: (typeof kinds)[number],
  namespace: string,
  name: string,
  index: number,
): Promise<unknown> {
  const ref = { namespace, name };
  if (kind === "metadata") {
    const body = { metadata: { annotations: { [BENCH_LABEL]: String(index) } } };
    return client.patch(podObjects, ref, { type: "merge", body });
  }
  const condition = { type: BENCH_LABEL, status: index % 2 === 0 ? "True" : "False", message: String(index) };
  const body = { status: { conditions: [condition] } };
  return client.patch(podObjects, ref, { type: "strategic", body }, { subresource: "status" });
}
