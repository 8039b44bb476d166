/** How a server answers the writes for EphemeralJobs, and what nodes do. Values: each step makes another one. */
import { CLEANUP_FINALIZER } from "../../controller/kinds/ephemeral_job/model.ts";
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import type { EphemeralJob, EphemeralJobSpec } from "../../crds/index.ts";
import {
  applyMergePatch,
  applyStrategicPatch,
  type JsonObject,
  jsonEqual,
  own,
} from "../../kube/core/index.ts";
import { type Failure, isMet, type PassWrite } from "./effect_passes.ts";
import { BROKEN, isGoing } from "./ephemeral_rules.ts";
import type { JobWrite, Stored } from "./ephemeral_state.ts";
import { put } from "./pull_state.ts";

/** What comes of the containers in a pod. Default: they succeed. `refuses`: the pod takes none. */
export type Habit = "fails" | "hangs" | "never starts" | "cannot run" | "refuses";

const start = "2026-01-01T00:00:00Z";
export const startMs = Date.parse(start);

export function jobOf(name: string, spec: Partial<EphemeralJobSpec>, uid = name): EphemeralJob {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "EphemeralJob",
    metadata: { name, namespace: "ns", uid, generation: 1, resourceVersion: "1", creationTimestamp: start },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: { ephemeralContainers: [{ name: "look" }] },
      ...spec,
    },
  };
}

/** `age`: seconds. */
export function podOf(name: string, age: number, uid = name): JsonObject {
  const creationTimestamp = new Date(startMs - age * 1000).toISOString();
  return {
    metadata: { name, namespace: "ns", uid, creationTimestamp, labels: { app: "web" } },
    spec: {},
    status: { phase: "Running" },
  };
}

export function withPod(stored: Stored, name: string, change: object): Pick<Stored, "pods"> {
  const pod = stored.pods.get(name);
  return { pods: put(stored.pods, name, pod && applyMergePatch(pod, change)) };
}

export function withJob(
  { jobs }: Pick<Stored, "jobs">,
  name: string,
  change: Partial<EphemeralJob["metadata"]> | { readonly spec: Partial<EphemeralJobSpec> },
): Pick<Stored, "jobs"> {
  const job = jobs.get(name);
  if (job === undefined) return { jobs };
  const generation = (job.metadata.generation ?? 0) + 1;
  const changed =
    "spec" in change
      ? { ...job, metadata: { ...job.metadata, generation }, spec: { ...job.spec, ...change.spec } }
      : { ...job, metadata: { ...job.metadata, generation, ...change } };
  return { jobs: put(jobs, name, changed) };
}

/** It stays until its finalizer is taken away. */
export function withoutJob(stored: Pick<Stored, "jobs">, name: string): Pick<Stored, "jobs"> {
  const { finalizers = [] } = stored.jobs.get(name)?.metadata ?? {};
  if (finalizers.length === 0) return { jobs: put(stored.jobs, name, undefined) };
  return withJob(stored, name, { deletionTimestamp: start });
}

export function jobWritten(stored: Stored, name: string, write: JobWrite): Stored | "race" {
  const job = stored.jobs.get(name);
  const isExact = write.is !== "status" || write.isExact;
  if (job === undefined || (isExact && job !== write.base)) return "race";
  if (job.metadata.uid !== write.base.metadata.uid)
    throw new Error("the status of a job that is gone is written to another one");
  const become = (after: EphemeralJob | undefined): Stored => ({
    ...stored,
    jobs: put(stored.jobs, name, after),
  });
  switch (write.is) {
    case "status":
      return become({ ...job, status: Object(applyMergePatch(job.status ?? {}, write.patch)) });
    case "add finalizer":
      return become({ ...job, metadata: { ...job.metadata, finalizers: [CLEANUP_FINALIZER] } });
    case "remove finalizer":
      return become(undefined);
    case "delete object":
      return { ...stored, ...withoutJob(stored, name) };
  }
}

/** Containers that are there already must stay as they are. */
export function containersWritten(
  stored: Stored,
  write: PassWrite,
  habits: Readonly<Record<string, Habit>>,
): Stored | Failure {
  if (write.type !== "patch" || write.patch.type !== "strategic") throw new Error(`${write.type} of a pod`);
  const { name } = write;
  const pod = stored.pods.get(name);
  const uid = textAt(objectAt(pod ?? {}, "metadata"), "uid");
  if (pod === undefined || !isMet(write, { uid, resourceVersion: "" })) return "race";
  const after = applyStrategicPatch(pod, write.patch.body, "Pod");
  const now = ephemeralIn(after);
  const isLeft = ephemeralIn(pod).every((each) => now.some((other) => jsonEqual(each, other)));
  return isLeft && habits[name] !== "refuses"
    ? { ...stored, pods: put(stored.pods, name, after) }
    : "refused";
}

function ephemeralIn(pod: JsonObject): JsonObject[] {
  return objectsAt(objectAt(pod, "spec"), "ephemeralContainers");
}

/** One step of the node with one container, or with the pod; undefined: there is none. */
export function stepOfNode(stored: Stored, name: string, habit: Habit | undefined): Stored | undefined {
  const pod = stored.pods.get(name);
  if (pod === undefined) return undefined;
  if (isGoing(pod)) return { ...stored, pods: put(stored.pods, name, undefined) };
  const statuses = objectsAt(objectAt(pod, "status"), "ephemeralContainerStatuses");
  const stateOf = (container: string): JsonObject | undefined => {
    const found = statuses.find((one) => textAt(one, "name") === container);
    return found && objectAt(found, "state");
  };
  for (const container of ephemeralIn(pod).map((one) => textAt(one, "name"))) {
    const state = nextState(stateOf(container), habit);
    if (state === undefined) continue;
    const others = statuses.filter((one) => textAt(one, "name") !== container);
    const ephemeralContainerStatuses = [...others, { name: container, state }];
    return { ...stored, ...withPod(stored, name, { status: { ephemeralContainerStatuses } }) };
  }
  return undefined;
}

function nextState(state: JsonObject | undefined, habit: Habit | undefined): JsonObject | undefined {
  if (state === undefined) {
    if (habit === "never starts") return { waiting: { reason: "ImagePullBackOff" } };
    return habit === "cannot run" ? { waiting: { reason: BROKEN } } : { running: {} };
  }
  if (own(state, "running") === undefined || habit === "hangs") return undefined;
  return { terminated: { exitCode: habit === "fails" ? 1 : 0 } };
}
