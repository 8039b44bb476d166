/** The scenario `rollout`: a CloneSet is created, then its image is swapped in place. */
import {
  type Cache,
  type Client,
  type Clock,
  isKubeError,
  jsonResource,
  type KubeObject,
} from "../kube/index.ts";
import type { PodObject } from "../sandbox/index.ts";
import { BENCH_LABEL } from "./hollow_cluster.ts";
import { sampleProcess } from "./process_stats.ts";
import { difference, type RequestCounts, requestCounts } from "./request_counts.ts";

const NAME = "bench";
const SAMPLE_MS = 250;
const cloneSets = jsonResource<KubeObject>({
  group: "apps.kruise.io",
  version: "v1alpha1",
  plural: "clonesets",
  kind: "CloneSet",
  namespaced: true,
});
const namespaces = jsonResource<KubeObject>({
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

export interface RolloutOptions {
  client: Client;
  clock: Clock;
  pods: Cache<PodObject>;
  replicas: number;
  maxUnavailable: string;
  namespace: string;
  run: string;
  /** Process of the manager under test. */
  pid: number;
  metricsUrl: string | undefined;
  annotations: Readonly<Record<string, string>>;
  progress(done: number, all: number, what: string): void;
  timeoutMs: number;
}

export interface Phase {
  /** Milliseconds from the request until the last pod was ready. */
  lastReadyMs: number;
  firstMs: number;
  cpuSeconds: number;
  residentMb: { before: number; after: number; peak: number };
  requests: RequestCounts;
  requestsPerPod: number;
  podEventsPerPod: number;
}

export interface RolloutResult {
  scenario: "rollout";
  pods: number;
  create: Phase;
  rollout: Phase & {
    mostUnavailable: number;
    budget: number;
    budgetViolations: number;
    restarted: number;
    keptUid: number;
  };
}

export async function rolloutScenario(options: RolloutOptions): Promise<RolloutResult> {
  const { client, namespace, run, replicas } = options;
  await client.create(namespaces, undefined, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels: { [BENCH_LABEL]: run } },
  });
  try {
    const create = await phase(
      options,
      "created",
      () => client.create(cloneSets, namespace, manifest(options)),
      isUp("app:1"),
      exists,
    );
    const uids = new Set([...ownPods(options)].map((pod) => pod.metadata.uid));
    const watcher = watchBudget(options);
    const body = [{ op: "replace" as const, path: "/spec/template/spec/containers/0/image", value: "app:2" }];
    const swap = () => client.patch(cloneSets, { namespace, name: NAME }, { type: "json", body });
    const rollout = await phase(options, "updated", swap, isUp("app:2"), isTouched);
    watcher.stop();
    const kept = [...ownPods(options)].filter((pod) => uids.has(pod.metadata.uid));
    return {
      scenario: "rollout",
      pods: replicas,
      create,
      rollout: {
        ...rollout,
        ...watcher.result(),
        keptUid: kept.length,
        restarted: kept.filter((pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1).length,
      },
    };
  } finally {
    await clean(client, namespace);
  }
}

function manifest({ replicas, maxUnavailable, run, annotations }: RolloutOptions): object {
  const labels = { [BENCH_LABEL]: run };
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { name: NAME, labels, annotations },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      updateStrategy: { type: "InPlaceIfPossible", maxUnavailable },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "main", image: "app:1", imagePullPolicy: "IfNotPresent" }] },
      },
    },
  };
}

function* ownPods({ pods, namespace }: RolloutOptions): Iterable<PodObject> {
  for (const pod of pods.values()) if (pod.metadata.namespace === namespace) yield pod;
}

type Test = (pod: PodObject) => boolean;
const exists: Test = () => true;
const isTouched: Test = (pod) =>
  conditionOf(pod, "InPlaceUpdateReady") === "False" || pod.spec?.containers?.[0]?.image === "app:2";
const isUp =
  (image: string): Test =>
  (pod) =>
    isReady(pod) &&
    pod.status?.containerStatuses?.[0]?.image === image &&
    pod.spec?.containers?.[0]?.image === image;

function conditionOf(pod: PodObject, type: string): string | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type)?.status;
}

function isReady(pod: PodObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && conditionOf(pod, "Ready") === "True";
}

/** From a request until all pods pass `done`, with what the manager spent on it. */
async function phase(
  options: RolloutOptions,
  what: string,
  begin: () => Promise<unknown>,
  done: Test,
  first: Test,
): Promise<Phase> {
  const { clock, pid, pods, replicas, namespace } = options;
  const requestsBefore = await countsOf(options);
  const before = sampleOrFail(pid);
  let peak = before.residentMb;
  let firstMs = -1;
  let events = 0;
  const passed = new Set<string>();
  const all = Promise.withResolvers<void>();
  const started = clock.monotonic();
  const stopListening = pods.subscribe((change) => {
    const pod = change.object;
    if (change.type === "removed" || pod.metadata.namespace !== namespace) return;
    events++;
    if (firstMs < 0 && first(pod)) firstMs = clock.monotonic() - started;
    if (done(pod)) passed.add(pod.metadata.uid ?? "");
    else passed.delete(pod.metadata.uid ?? "");
    if (passed.size >= replicas) all.resolve();
  });
  const sampler = setInterval(() => {
    peak = Math.max(peak, sampleProcess(pid)?.residentMb ?? 0);
    options.progress(passed.size, replicas, what);
  }, SAMPLE_MS);
  try {
    await begin();
    await Promise.race([all.promise, late(options, what, passed)]);
    const lastReadyMs = clock.monotonic() - started;
    // The tail of status writes belongs to the phase as well.
    await clock.sleep(1500);
    const after = sampleOrFail(pid);
    const requests = difference(await countsOf(options), requestsBefore);
    const total = Object.values(requests).reduce((sum, count) => sum + count, 0);
    return {
      lastReadyMs,
      firstMs,
      cpuSeconds: after.cpuSeconds - before.cpuSeconds,
      residentMb: {
        before: before.residentMb,
        after: after.residentMb,
        peak: Math.max(peak, after.residentMb),
      },
      requests,
      requestsPerPod: total / replicas,
      podEventsPerPod: events / replicas,
    };
  } finally {
    clearInterval(sampler);
    stopListening();
  }
}

async function late(
  { clock, timeoutMs, replicas }: RolloutOptions,
  what: string,
  passed: ReadonlySet<string>,
): Promise<never> {
  await clock.sleep(timeoutMs);
  throw new Error(`only ${passed.size} of ${replicas} pods were ${what} after ${timeoutMs / 1000} s`);
}

function sampleOrFail(pid: number): NonNullable<ReturnType<typeof sampleProcess>> {
  const sample = sampleProcess(pid);
  if (sample === undefined) throw new Error(`process ${pid} is gone: the manager under test ended`);
  return sample;
}

async function countsOf({ metricsUrl }: RolloutOptions): Promise<RequestCounts> {
  return metricsUrl === undefined ? {} : requestCounts(metricsUrl);
}

/** Independent of the manager's own counting: ready pods as the watch shows them, at every event. */
function watchBudget(options: RolloutOptions): {
  stop(): void;
  result(): { mostUnavailable: number; budget: number; budgetViolations: number };
} {
  const { pods, namespace, replicas, maxUnavailable } = options;
  const budget = maxUnavailable.endsWith("%")
    ? Math.ceil((replicas * Number.parseInt(maxUnavailable, 10)) / 100)
    : Number(maxUnavailable);
  const ready = new Set<string>();
  for (const pod of ownPods(options)) if (isReady(pod)) ready.add(pod.metadata.uid ?? "");
  let most = 0;
  let violations = 0;
  const stop = pods.subscribe((change) => {
    if (change.object.metadata.namespace !== namespace) return;
    const uid = change.object.metadata.uid ?? "";
    if (change.type !== "removed" && isReady(change.object)) ready.add(uid);
    else ready.delete(uid);
    const unavailable = replicas - ready.size;
    most = Math.max(most, unavailable);
    if (unavailable > budget) violations++;
  });
  return { stop, result: () => ({ mostUnavailable: most, budget, budgetViolations: violations }) };
}

/** Removes what the scenario made; a namespace takes its contents along. */
export async function clean(client: Client, namespace: string): Promise<void> {
  try {
    await client.delete(cloneSets, { namespace, name: NAME }, { propagationPolicy: "Background" });
    await client.delete(namespaces, { name: namespace }, { propagationPolicy: "Background" });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
  }
}
