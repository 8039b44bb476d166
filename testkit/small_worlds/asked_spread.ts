/**
 * One process that answers for pods that come and go, call by call: how far it comes with what it has heard so far. It is asked again
 * from the start each time, because functions that wait cannot be copied; the same inputs lead them to the same call.
 */
import { PodPlacement } from "../../controller/kinds/workload_spread/pod_placement.ts";
import { writersOf } from "../../controller/plan/owners.ts";
import { workloadSpreadResource } from "../../controller/plan/resources.ts";
import { SharedInformers } from "../../controller/runtime/informers.ts";
import type { WorkloadSpread } from "../../crds/index.ts";
import type { JsonPatchOperation, ObjectRef } from "../../kube/core/index.ts";
import {
  KubeError,
  nullLog,
  nullMetrics,
  type Patch,
  type Pod,
  podResource,
  type Resource,
  type Writer,
} from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";
import { placedPod, podJson, SPREAD_KEY } from "./spread_cluster.ts";

export interface Process {
  /** The WorkloadSpread in its cache. */
  readonly cached: WorkloadSpread;
  /** Since it last had nothing to do: first what was in its cache then. */
  readonly inputs: readonly Input[];
  readonly step: Step;
  /** Version of the object that it last decided to write on. */
  readonly basis?: string;
}

export type Input =
  | { readonly is: "sees"; readonly spread: WorkloadSpread }
  | ({ readonly is: "asked" } & Question)
  | { readonly is: "hears"; readonly reply: Reply };

export interface Question {
  readonly operation: "CREATE" | "DELETE";
  readonly pod: Pod;
  /** Whether a new pod has a name before the server makes it. */
  readonly isNamed: boolean;
}

/** What it waits for. */
export type Step =
  | { readonly is: "idle" | "sleeping" | "reading" | "sizing" }
  | { readonly is: "looking"; readonly pod: string }
  | { readonly is: "writing"; readonly patch: readonly JsonPatchOperation[] };

/** What it has read or written; how many pods the workload wants; the write was refused; it has slept; there is no such pod, or this one. */
export type Reply = WorkloadSpread | number | "conflict" | "slept" | "gone" | { readonly uid: string };

/** A new pod is as its subset makes it. */
export interface Answer extends Question {
  readonly isAllowed: boolean;
  /** In which the pod may run; none: in any. */
  readonly zones: readonly string[];
}

/** What it holds by now, and the answers that the input has led to, in the order of the questions. */
export interface Consulted {
  readonly process: Process;
  readonly answers: readonly Answer[];
}

export function idleProcess(cached: WorkloadSpread): Process {
  return { cached, inputs: [{ is: "sees", spread: cached }], step: { is: "idle" } };
}

/** `now`: by its clock. */
export async function consulted(process: Process, input: Input, now: number): Promise<Consulted> {
  const inputs = [...process.inputs, input];
  const { placement, cache, waiting } = started(now);
  const answers = new Map<number, Answer>();
  for (const [index, one] of inputs.entries()) {
    answers.clear();
    if (one.is === "sees") cache.upsert(one.spread);
    else if (one.is === "hears") waiting.shift()?.hear(one.reply);
    else void answered(placement, one).then((answer) => answers.set(index, answer));
    // Whatever it can do without another reply is done by then.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const step = waiting[0]?.step ?? { is: "idle" };
  const cached = cache.get(SPREAD_KEY) ?? process.cached;
  const inOrder = [...answers].sort(([a], [b]) => a - b).map(([, answer]) => answer);
  if (step.is === "idle") return { process: idleProcess(cached), answers: inOrder };
  const basis = step.is === "writing" ? { basis: String(step.patch[0]?.value) } : {};
  return { process: { ...process, cached, inputs, step, ...basis }, answers: inOrder };
}

interface Waiting {
  readonly step: Step;
  hear(reply: Reply): void;
}

function started(now: number) {
  const waiting: Waiting[] = [];
  const replyTo = (step: Step): Promise<Reply> =>
    new Promise((hear) => {
      waiting.push({ step, hear });
    });
  const spreadFrom = async <T>({ codec, plural }: Resource<T>, step: Step): Promise<T> => {
    if (plural !== workloadSpreadResource.plural) throw notFound(plural);
    const reply = await replyTo(step);
    // As the server answers a test that fails.
    if (reply === "conflict") throw new KubeError("Invalid", "it is another one", { status: 422 });
    return codec.decode(Buffer.from(JSON.stringify(reply)), "application/json");
  };
  const writing = (patch: Patch): Step => {
    if (patch.type !== "json") throw new Error(`a patch of the type ${patch.type}`);
    return { is: "writing", patch: patch.body };
  };
  const server = fakeServer();
  const looked = async ({ namespace, name }: ObjectRef): Promise<void> => {
    const reply = await replyTo({ is: "looking", pod: name });
    if (typeof reply !== "object" || !("uid" in reply)) throw notFound(name);
    server.put("pods", { metadata: { namespace, name, uid: reply.uid } });
  };
  const client = {
    ...server.client,
    get: async <T>(resource: Resource<T>, ref: ObjectRef) => {
      if (resource.plural !== podResource.plural) return spreadFrom(resource, { is: "reading" });
      await looked(ref);
      return server.client.get(resource, ref);
    },
    patch: (<T>(resource: Resource<T>, _: unknown, patch: Patch) =>
      spreadFrom(resource, writing(patch))) satisfies Writer["patch"],
    request: async (_: string, path: string) =>
      path.includes("/replicasets/")
        ? {
            metadata: {
              ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", controller: true }],
            },
          }
        : { metadata: { uid: "web" }, spec: { replicas: await replyTo({ is: "sizing" }) } },
  };
  const clock = { ...testClock(now), sleep: async () => void (await replyTo({ is: "sleeping" })) };
  const random = () => 0;
  const shared = new SharedInformers({
    client,
    clock,
    random,
    log: nullLog,
    metrics: nullMetrics,
    namespace: "",
  });
  const placement = new PodPlacement({
    client,
    writesFor: writersOf(client),
    clock,
    random,
    options: { systemNamespace: "kruise-system" },
    informers: {
      cacheOf: (resource, indexes) => shared.cacheOf(resource, indexes),
      caughtUp: async () => undefined,
    },
  });
  return { placement, cache: shared.cacheOf(workloadSpreadResource), waiting };
}

function notFound(what: string): KubeError {
  return new KubeError("NotFound", `there is no ${what}`, { status: 404 });
}

async function answered(placement: PodPlacement, question: Question): Promise<Answer> {
  const { operation, pod, isNamed } = question;
  const answer = { ...question, isAllowed: true, zones: [] };
  try {
    if (operation === "DELETE") await placement.leave(pod);
    else {
      const placed = await placement.place(podJson(pod, isNamed), pod.namespace, pod.uid);
      if (placed !== undefined) return { ...answer, ...placedPod(pod, placed) };
    }
    return answer;
  } catch (error) {
    if (error instanceof KubeError) return { ...answer, isAllowed: false };
    throw error;
  }
}
