/** Built-in Jobs: pods until enough of them have succeeded, or too many have failed. */
import { type Condition, formatTime, refOf } from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { StoredObject } from "../cluster.ts";
import {
  isJob,
  isPodReady,
  type JobObject,
  type JobStatus,
  type PodObject,
  timeOf,
} from "../objects/index.ts";
import type { Timing } from "../stages/profile.ts";
import { isActive } from "./pod_index.ts";
import {
  createPod,
  deletePod,
  podFromTemplate,
  refusedRetryMs,
  type WorkloadDeps,
  type WorkloadKind,
  WorkloadLoop,
} from "./workload.ts";

const kind: WorkloadKind = {
  resource: "jobs.batch",
  apiVersion: "batch/v1",
  kind: "Job",
  component: "job-controller",
};
const indexKey = "batch.kubernetes.io/job-completion-index";

type BackOff = Timing["backOff"];

/** `backOff`: the waits before a failed pod gets a successor; they double from the first, as a kubelet's do. */
export function startJobs(deps: WorkloadDeps, backOff: BackOff): WorkloadLoop {
  return new WorkloadLoop(deps, kind, (object, key) => reconcile(deps, backOff, object, key));
}

interface Pass {
  readonly deps: WorkloadDeps;
  /** Milliseconds until pods may be made again after failures. */
  readonly retryInMs: number;
  readonly job: JobObject;
  readonly now: number;
  readonly active: readonly PodObject[];
  readonly succeeded: number;
  readonly failed: number;
  readonly doneIndexes: ReadonlySet<number>;
}

async function reconcile(
  deps: WorkloadDeps,
  backOff: BackOff,
  object: StoredObject,
  key: string,
): Promise<Next> {
  if (!isJob(object) || object.metadata.deletionTimestamp) return undefined;
  const over = overCondition(object);
  if (over) return removeLater(deps, object, over, key);
  const pass = passOf(deps, backOff, object);
  const outcome = outcomeOf(pass);
  let wakeAfterMs: Next;
  if (outcome) {
    for (const pod of pass.active) await deletePod(deps, kind, object, pod);
  } else {
    wakeAfterMs = await work(pass);
  }
  writeStatus(pass, key, outcome);
  if (outcome) {
    const [type, words] =
      outcome.type === "Failed"
        ? (["Warning", outcome.message] as const)
        : (["Normal", "Job completed"] as const);
    deps.events.write(object, type, outcome.reason ?? "", words ?? "", kind.component);
    return 0;
  }
  const deadline = deadlineIn(pass);
  return wakeAfterMs === undefined ? deadline : Math.min(wakeAfterMs, deadline ?? wakeAfterMs);
}

function overCondition(job: JobObject): Condition | undefined {
  return (job.status?.conditions ?? []).find(
    (condition) =>
      (condition.type === "Complete" || condition.type === "Failed") && condition.status === "True",
  );
}

async function removeLater(deps: WorkloadDeps, job: JobObject, over: Condition, key: string): Promise<Next> {
  const seconds = job.spec.ttlSecondsAfterFinished;
  if (seconds === undefined) return undefined;
  const wait = (timeOf(over.lastTransitionTime) ?? 0) + seconds * 1_000 - deps.clock.now();
  if (wait > 0) return wait;
  await deps.writer.remove(kind.resource, refOf(key), { propagationPolicy: "Foreground" });
  return undefined;
}

function passOf(deps: WorkloadDeps, backOff: BackOff, job: JobObject): Pass {
  const pods = deps.pods.ownedBy(job);
  const doneIndexes = new Set<number>();
  let succeeded = 0;
  let failed = 0;
  for (const pod of pods) {
    const phase = pod.status?.phase;
    if (phase === "Failed") failed += 1;
    if (phase !== "Succeeded") continue;
    succeeded += 1;
    const index = indexOf(pod);
    if (index !== undefined) doneIndexes.add(index);
  }
  if (job.spec.completionMode === "Indexed") succeeded = doneIndexes.size;
  // Pods that have been cleaned away since stay counted.
  succeeded = Math.max(succeeded, job.status?.succeeded ?? 0);
  failed = Math.max(failed, job.status?.failed ?? 0);
  const active = pods.filter(isActive);
  const now = deps.clock.now();
  return { deps, retryInMs: retryInMs(pods, backOff, now), job, now, active, succeeded, failed, doneIndexes };
}

/** The wait that the failures since the last success cost, counted from the last of them. */
export function retryInMs(pods: readonly PodObject[], { firstMs, longestMs }: BackOff, now: number): number {
  let successAt = Number.NEGATIVE_INFINITY;
  for (const pod of pods) if (pod.status?.phase === "Succeeded") successAt = Math.max(successAt, endOf(pod));
  const failures = pods
    .filter((pod) => pod.status?.phase === "Failed")
    .map(endOf)
    .filter((at) => at > successAt);
  if (failures.length === 0) return 0;
  const wait = Math.min(longestMs, firstMs * 2 ** (failures.length - 1));
  return Math.max(0, Math.max(...failures) + wait - now);
}

/** When the last container of a finished pod ended; when it is unknown, the pod's own creation. */
function endOf(pod: PodObject): number {
  const ends = (pod.status?.containerStatuses ?? []).map(
    ({ state }) => timeOf(state?.terminated?.finishedAt) ?? 0,
  );
  return Math.max(timeOf(pod.metadata.creationTimestamp ?? undefined) ?? 0, ...ends);
}

function indexOf(pod: PodObject): number | undefined {
  const text = pod.metadata.annotations?.[indexKey];
  return text === undefined ? undefined : Number(text);
}

function outcomeOf({ job, now, active, succeeded, failed }: Pass): Condition | undefined {
  const { completions, backoffLimit = 6, activeDeadlineSeconds, suspend } = job.spec;
  const over = (type: "Complete" | "Failed", reason: string, message: string): Condition => ({
    type,
    status: "True",
    reason,
    message,
  });
  const restarts =
    job.spec.template.spec.restartPolicy === "OnFailure"
      ? active.reduce((sum, pod) => sum + restartsOf(pod), 0)
      : 0;
  if (failed > backoffLimit || restarts >= Math.max(1, backoffLimit)) {
    return over("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  const startedAt = timeOf(job.status?.startTime);
  if (!suspend && activeDeadlineSeconds !== undefined && startedAt !== undefined) {
    if (now >= startedAt + activeDeadlineSeconds * 1_000) {
      return over("Failed", "DeadlineExceeded", "Job was active longer than specified deadline");
    }
  }
  const enough = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  return enough
    ? over("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
    : undefined;
}

function restartsOf(pod: PodObject): number {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses].reduce(
    (sum, status) => sum + status.restartCount,
    0,
  );
}

function deadlineIn({ job, now }: Pass): Next {
  const startedAt = timeOf(job.status?.startTime) ?? now;
  const seconds = job.spec.activeDeadlineSeconds;
  return seconds === undefined || job.spec.suspend
    ? undefined
    : Math.max(0, startedAt + seconds * 1_000 - now);
}

async function work(pass: Pass): Promise<Next> {
  const { deps, job, active, succeeded } = pass;
  const { completions, suspend } = job.spec;
  const parallelism = suspend ? 0 : (job.spec.parallelism ?? 1);
  // Without a number of completions, the first success ends the making of new pods.
  const left =
    completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
  const wanted = Math.min(parallelism, Math.max(0, left));
  for (const pod of active.slice(wanted)) await deletePod(deps, kind, job, pod);
  if (wanted > active.length && pass.retryInMs > 0) return pass.retryInMs;
  const free = freeIndexes(pass);
  for (let missing = wanted - active.length; missing > 0; missing--) {
    if (!(await createPod(deps, kind, job, podOf(job, free.shift())))) return refusedRetryMs;
  }
  return undefined;
}

function freeIndexes({ job, active, doneIndexes }: Pass): number[] {
  if (job.spec.completionMode !== "Indexed") return [];
  const taken = new Set([...doneIndexes, ...active.map((pod) => indexOf(pod) ?? -1)]);
  return Array.from({ length: job.spec.completions ?? 0 }, (_, index) => index).filter(
    (index) => !taken.has(index),
  );
}

function podOf(job: JobObject, index: number | undefined): PodObject {
  const { name = "", uid = "" } = job.metadata;
  const pod = podFromTemplate(job, kind, job.spec.template, {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
    ...(index === undefined ? {} : { [indexKey]: String(index) }),
  });
  if (index !== undefined) {
    pod.metadata.annotations = { ...pod.metadata.annotations, [indexKey]: String(index) };
    pod.metadata.generateName = `${name}-${index}-`;
    pod.spec.hostname = `${name}-${index}`;
  }
  return pod;
}

function writeStatus(pass: Pass, key: string, outcome: Condition | undefined): void {
  const { deps, job, now } = pass;
  const active = deps.pods.ownedBy(job).filter(isActive);
  const time = formatTime(now);
  deps.cluster.update(kind.resource, refOf(key), (draft) => {
    if (!isJob(draft) || draft.metadata.uid !== job.metadata.uid) return;
    const status: JobStatus = {
      ...draft.status,
      active: active.length,
      ready: active.filter(isPodReady).length,
      succeeded: pass.succeeded,
      failed: pass.failed,
    };
    if (active.length === 0) delete status.active;
    if (pass.succeeded === 0) delete status.succeeded;
    if (pass.failed === 0) delete status.failed;
    if (!job.spec.suspend) status.startTime ??= time;
    if (outcome) status.conditions = [...conditionsBefore(draft), ...finalConditions(outcome, time)];
    if (outcome?.type === "Complete") status.completionTime = time;
    draft.status = status;
  });
}

function conditionsBefore(job: JobObject): Condition[] {
  return (job.status?.conditions ?? []).filter(({ type }) => !finalTypes.includes(type));
}

const finalTypes = ["SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"];

/** The outcome, after the condition that announces it. */
function finalConditions(outcome: Condition, time: string): Condition[] {
  const announced = outcome.type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  return [{ ...outcome, type: announced }, outcome].map((condition) => ({
    ...condition,
    lastProbeTime: time,
    lastTransitionTime: time,
  }));
}
