/** What the controller of EphemeralJobs must not do, told of pods as the API writes them. Spec: containers 5.4. */
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import type { EphemeralJob, EphemeralJobStatus } from "../../crds/index.ts";
import { isJsonObject, type JsonObject, jsonEqual, own } from "../../kube/core/index.ts";
import type { Pods } from "./ephemeral_pass.ts";

/** `free`: the pod has none of the job's containers yet. */
type Fate = "free" | "waiting" | "running" | "succeeded" | "failed";

interface Target {
  readonly name: string;
  readonly uid: string;
  readonly fate: Fate;
}

const MARK = "KRUISE_EJOB_ID";

/** Rule 2; the oldest first, but those that have the containers keep their place (5.2, `replicas`). */
function targetsOf(job: EphemeralJob, pods: Pods): Target[] {
  const targets = [...pods].flatMap(([name, pod]) => {
    const fate = fateIn(pod, job);
    if (fate === undefined) return [];
    const metadata = objectAt(pod, "metadata");
    const age = `${fate === "free"} ${textAt(metadata, "creationTimestamp")} ${name}`;
    return [{ name, uid: textAt(metadata, "uid"), fate, age }];
  });
  targets.sort((a, b) => (a.age < b.age ? -1 : 1));
  return targets.slice(0, job.spec.replicas ?? targets.length);
}

/** Rules 2 and 3; undefined: the pod is none of the job's. */
function fateIn(pod: JsonObject, { metadata, spec }: EphemeralJob): Fate | undefined {
  const status = objectAt(pod, "status");
  if (isGoing(pod) || ["Succeeded", "Failed"].includes(textAt(status, "phase"))) return undefined;
  if (!isSelected(pod)) return undefined;
  const wanted = spec.template.ephemeralContainers.map(({ name }) => name);
  const there = containersIn(pod);
  if (there.some(({ name, mark }) => mark !== metadata.uid && wanted.includes(name))) return undefined;
  const mine = there.filter(({ mark }) => mark === metadata.uid).map(({ name }) => name);
  if (mine.length === 0) return "free";
  const states = objectsAt(status, "ephemeralContainerStatuses")
    .filter((one) => mine.includes(textAt(one, "name")))
    .map((one) => objectAt(one, "state"));
  const codes = states.flatMap((state) => own(objectAt(state, "terminated"), "exitCode") ?? []);
  const isBroken = states.some((state) => textAt(objectAt(state, "waiting"), "reason") === BROKEN);
  if (isBroken || codes.some((code) => code !== 0)) return "failed";
  if (codes.length === mine.length) return "succeeded";
  return states.some((state) => isJsonObject(own(state, "running"))) ? "running" : "waiting";
}

export const BROKEN = "RunContainerError";

export function isGoing(pod: JsonObject): boolean {
  return textAt(objectAt(pod, "metadata"), "deletionTimestamp") !== "";
}

/** By every job here. */
export function isSelected(pod: JsonObject): boolean {
  return textAt(objectAt(objectAt(pod, "metadata"), "labels"), "app") === "web";
}

function containersIn(pod: JsonObject): { readonly name: string; readonly mark: string }[] {
  return objectsAt(objectAt(pod, "spec"), "ephemeralContainers").map((container) => {
    const mark = objectsAt(container, "env").find((one) => textAt(one, "name") === MARK);
    return { name: textAt(container, "name"), mark: textAt(mark ?? {}, "value") };
  });
}

/** Rule 4, with docs/compatibility.md: what was added counts until it ends, and who took none comes last, in turn. */
export function checkInjection(
  job: EphemeralJob,
  pods: Pods,
  given: readonly string[],
  refusing: readonly string[],
): void {
  const { spec, status, metadata } = job;
  if (spec.paused === true) throw new Error(`${given} are given containers, and the job is paused`);
  if (status?.completionTime !== undefined || metadata.deletionTimestamp !== undefined)
    throw new Error(`${given} are given containers, and the job is over`);
  const targets = targetsOf(job, pods);
  const free = targets.filter(({ fate }) => fate === "free");
  const willing = free.filter(({ uid }) => !refusing.includes(uid));
  const refused = refusing.flatMap((uid) => free.filter((target) => target.uid === uid));
  const turn = [...willing, ...refused].map(({ name }) => name).slice(0, given.length);
  if (!jsonEqual(turn, given)) throw new Error(`${given} are given containers, it is the turn of ${turn}`);
  const busy = given.length + countOf(targets, "waiting", "running");
  const { parallelism = 1 } = spec;
  if (busy > parallelism) throw new Error(`${busy} pods are at work, ${parallelism} may be`);
}

/** How many pods the job is at work in. */
export function atWork(job: EphemeralJob, pods: Pods): number {
  return countOf(targetsOf(job, pods), "waiting", "running");
}

function countOf(targets: readonly Target[], ...fates: readonly Fate[]): number {
  return targets.filter(({ fate }) => fates.includes(fate)).length;
}

/** Rule 5. What is over stays as it ended. */
export function checkStatus(job: EphemeralJob, pods: Pods, now: number, status: EphemeralJobStatus): void {
  const wrong =
    job.status?.completionTime === undefined
      ? wrongIn(job, pods, now, status)
      : jsonEqual(job.status, status)
        ? undefined
        : "another status than the one it ended with";
  if (wrong !== undefined) throw new Error(`it reports ${wrong}`);
}

/** What is wrong with the status of a job that was not over before. */
function wrongIn(
  job: EphemeralJob,
  pods: Pods,
  now: number,
  status: EphemeralJobStatus | undefined,
): string | undefined {
  const targets = targetsOf(job, pods);
  const { phase, isOver } = progressOf(job, targets, now);
  const counts = {
    match: targets.length,
    running: countOf(targets, "running"),
    succeeded: countOf(targets, "succeeded"),
    waiting: countOf(targets, "waiting"),
    failed: countOf(targets, "failed"),
  };
  const { completionTime, match, running, succeeded, waiting, failed } = status ?? {};
  const isSaidOver = completionTime !== undefined;
  const said = { match, running, succeeded, waiting, failed };
  if (jsonEqual(said, counts) && status?.phase === phase && isSaidOver === isOver) return undefined;
  return JSON.stringify([status?.phase, isSaidOver, said, "instead of", phase, isOver, counts]);
}

/** docs/compatibility.md: a job of which some pods failed and the others succeeded is over as well. */
function progressOf({ spec, status }: EphemeralJob, targets: readonly Target[], now: number) {
  const replicas = spec.replicas ?? targets.length;
  const count = (...fates: readonly Fate[]): number => countOf(targets, ...fates);
  const { activeDeadlineSeconds = Number.POSITIVE_INFINITY } = spec;
  const startedAt = status?.startTime === undefined ? now : Date.parse(status.startTime);
  if (targets.length > 0 && count("succeeded") === replicas) return { phase: "Succeeded", isOver: true };
  if (count("failed") > 0 && count("succeeded", "failed") === replicas)
    return { phase: "Failed", isOver: true };
  if (spec.paused === true) return { phase: "Paused", isOver: false };
  if (startedAt + activeDeadlineSeconds * 1000 <= now) return { phase: "Failed", isOver: true };
  if (targets.length === 0) return { phase: "Waiting", isOver: false };
  if (count("running") > 0) return { phase: "Running", isOver: false };
  return { phase: count("waiting") === replicas ? "Waiting" : "Unknown", isOver: false };
}

/** Rule 6. */
export function checkRemoval({ spec, status }: EphemeralJob, now: number): void {
  const { ttlSecondsAfterFinished = 1800 } = spec;
  if (!(Date.parse(status?.completionTime ?? "") + ttlSecondsAfterFinished * 1000 <= now))
    throw new Error("it is removed too early");
}

/** What is wrong with the status of a job for which nothing is left to be done. */
export function unsettledStatus(job: EphemeralJob, pods: Pods, now: number): string | undefined {
  const { status } = job;
  if (status?.completionTime === undefined) {
    const wrong = wrongIn(job, pods, now, status);
    return wrong && `the status ${wrong}`;
  }
  const { phase, succeeded, match } = status;
  const isEnd = phase === "Failed" || (phase === "Succeeded" && succeeded === match);
  return isEnd ? undefined : `the end ${JSON.stringify(status)}`;
}

/** Pods that a job could go to where nothing is left to be done. */
export function lackingPods(job: EphemeralJob, pods: Pods): string | undefined {
  const { spec, status } = job;
  if (spec.paused === true || status?.completionTime !== undefined) return undefined;
  const targets = targetsOf(job, pods);
  const free = countOf(targets, "free");
  const room = (spec.parallelism ?? 1) - countOf(targets, "waiting", "running");
  return free > 0 && room > 0 ? `${free} pods without the containers` : undefined;
}
