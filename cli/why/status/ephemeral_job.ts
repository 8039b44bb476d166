/** EphemeralJob: in which pods its containers have not ended well, and why. Spec: containers 5.4. */
import { type EphemeralPodState, ephemeralTargetsOf, observedPod } from "../../../controller/index.ts";
import { ephemeralJob } from "../../../crds/index.ts";
import { counted, formatSelector, isJsonObject } from "../../../kube/core/index.ts";
import { type AnyObject, at, countAt, isFields, listAt, numberAt, selectorAt, textAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import { type Cause, holding } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { conditionsOf, timeAt } from "../causes/pod_facts.ts";
import { shownName, shownText } from "../causes/shown_text.ts";
import { earliestOf, type Findings, groupedCauses, named, statusSource } from "./status_source.ts";

export const ephemeralJobStatus = statusSource<readonly AnyObject[]>({
  group: "apps.kruise.io",
  kind: "EphemeralJob",
  isLasting: false,
  async read(reader, job) {
    const { namespace = "" } = job.metadata;
    const labelSelector = formatSelector(selectorAt(job, "spec", "selector"));
    return reader.collect("", "Pod", { namespace, labelSelector });
  },
  explain: explainEphemeralJob,
});

/** One of the job's containers in one pod. */
interface Run {
  readonly pod: string;
  readonly container: string;
  readonly state: EphemeralPodState;
  /** How it ended, or why it waits: a code, and words. */
  readonly reason: string;
  readonly said: string;
  readonly since: number | undefined;
}

/** `pods`: those that the selector matches. */
export function explainEphemeralJob(job: AnyObject, pods: readonly AnyObject[], facts: Facts): Findings {
  const isOver = timeAt(job, "status", "completionTime") !== undefined;
  const targets = targetsIn(job, pods);
  const count = (name: string): number => countAt(job, "status", name);
  const runs = targets.flatMap(({ pod, state }) => runsIn(job, pod, state));
  const inState = (state: EphemeralPodState): Run[] => runs.filter((run) => run.state === state);
  const todo = targets.filter(({ state }) => state === "todo").map(({ pod }) => nameOf(pod));
  const open = isOver
    ? []
    : [
        paused(job, facts),
        targets.length === 0 ? noPods(pods.length, facts) : undefined,
        ...groupedCauses(inState("waiting"), keyOf, waitingCause(facts)),
        ...groupedCauses(inState("running"), ({ container }) => container, runningCause(facts)),
        notBegun(job, todo, runs, facts),
      ];
  return {
    summary:
      `${shownText(textAt(job, "status", "phase") ?? "") || "not reported on yet"}, ` +
      `${count("succeeded")} of ${counted(count("match"), "pod")} succeeded, ` +
      `${count("failed")} failed, ${count("running")} running, ${count("waiting")} waiting`,
    causes: holding([
      ended(job, isOver, facts),
      ...groupedCauses(inState("failed"), keyOf, failedCause(facts)),
      ...open,
    ]),
    ...(isOver ? { isDone: true } : {}),
  };
}

interface Target {
  readonly pod: AnyObject;
  readonly state: EphemeralPodState;
}

/** As the controller chooses them. */
function targetsIn(job: AnyObject, pods: readonly AnyObject[]): Target[] {
  const read = ephemeralJob.readStored(job);
  if (!("object" in read) || !isFields(read.object.spec)) return [];
  const byUid = new Map(pods.map((pod) => [textAt(pod, "metadata", "uid") ?? "", pod]));
  const observed = pods.flatMap((pod) => (isJsonObject(pod) ? [observedPod(pod)] : []));
  return ephemeralTargetsOf({ ...read.object, spec: read.object.spec }, observed).flatMap(
    ({ pod, state }) => {
      const found = byUid.get(pod.uid);
      return found === undefined ? [] : [{ pod: found, state }];
    },
  );
}

function nameOf(pod: AnyObject): string {
  return shownName(textAt(pod, "metadata", "name") ?? "");
}

/** The pod's state is that of all the job's containers in it: those that did otherwise are left out. */
function runsIn(job: AnyObject, pod: AnyObject, state: EphemeralPodState): Run[] {
  if (state === "todo" || state === "succeeded") return [];
  const names = listAt(job, "spec", "template", "ephemeralContainers").map((each) => textAt(each, "name"));
  const statuses = listAt(pod, "status", "ephemeralContainerStatuses");
  return names.flatMap((name = ""): Run[] => {
    const status = statuses.find((each) => textAt(each, "name") === name);
    const run = { pod: nameOf(pod), container: shownName(name), state };
    const exitCode = numberAt(status, "state", "terminated", "exitCode");
    const waiting = at(status, "state", "waiting");
    const isRunning = at(status, "state", "running") !== undefined;
    if (state === "failed" && exitCode !== undefined && exitCode !== 0)
      return [{ ...run, ...endOf(status, exitCode) }];
    const isAwaited = state === "failed" ? waiting !== undefined : state === "waiting" && !isRunning;
    if (isAwaited && exitCode === undefined)
      return [
        {
          ...run,
          reason: textAt(waiting, "reason") ?? "",
          said: textAt(waiting, "message") ?? "",
          since: undefined,
        },
      ];
    if (state !== "running" || !isRunning) return [];
    return [{ ...run, reason: "", said: "", since: timeAt(status, "state", "running", "startedAt") }];
  });
}

function endOf(status: unknown, exitCode: number): Pick<Run, "reason" | "said" | "since"> {
  const message = textAt(status, "state", "terminated", "message") ?? "";
  return {
    reason: "ContainerFailed",
    said: `ended with exit code ${exitCode}${message === "" ? "" : `: ${message}`}`,
    since: timeAt(status, "state", "terminated", "finishedAt"),
  };
}

const keyOf = ({ container, reason, said }: Run): string => `${container} ${reason} ${said}`;

type Grouping = (facts: Facts) => (first: Run, all: readonly Run[]) => Cause;

/** `2 pods: container debug …  (a, b)`. */
function inPods(all: readonly Run[], container: string, words: string): string {
  return `${counted(all.length, "pod")}: container ${container} ${words}${named(all.map(({ pod }) => pod))}`;
}

const failedCause: Grouping =
  ({ subject }) =>
  (first, all) => ({
    reason: shownText(first.reason) || "ContainerFailed",
    message: inPods(all, first.container, shownText(first.said) || "could not be started"),
    until: "the cause is removed, and a new job is created: a container is added to a pod once",
    since: earliestOf(all.map(({ since }) => since)),
    next: `kubectl logs ${first.pod} -c ${first.container}${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  });

const waitingCause: Grouping =
  ({ subject }) =>
  (first, all) => {
    const words = shownText([first.reason, first.said].filter((text) => text !== "").join(": "));
    const isStuck = /BackOff|^Err|Invalid/.test(first.reason);
    return {
      reason: shownText(first.reason) || "Starting",
      message: inPods(all, first.container, `has not started${words === "" ? "" : ` (${words})`}`),
      until: "the node starts it",
      since: subject.createdAt,
      next: `kubectl describe pod ${first.pod}${inNamespace(subject.namespace)}`,
      outlook: isStuck ? "stuck" : "moving",
    };
  };

const runningCause: Grouping =
  ({ subject }) =>
  (first, all) => ({
    reason: "Running",
    message: inPods(all, first.container, "runs"),
    until: "it ends, or activeDeadlineSeconds are over",
    since: earliestOf(all.map(({ since }) => since)),
    next: `kubectl logs ${first.pod} -c ${first.container}${inNamespace(subject.namespace)}`,
    outlook: "moving",
  });

function paused(job: AnyObject, { subject }: Facts): Cause | undefined {
  if (at(job, "spec", "paused") !== true) return undefined;
  return {
    reason: "Paused",
    message: "paused: it goes to no further pods",
    until: "it is resumed",
    next: `refit rollout resume ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}

/** `matched`: pods with its labels, of which none can be taken. */
function noPods(matched: number, { subject }: Facts): Cause {
  const others = `${counted(matched, "pod")} that spec.selector matches ${matched === 1 ? "has" : "have"} ended, or a container of that name already`;
  return {
    reason: "NoPods",
    message: matched === 0 ? "spec.selector matches no pod" : others,
    until: "a pod matches",
    since: subject.createdAt,
    next: `kubectl get pods --show-labels${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}

function notBegun(
  job: AnyObject,
  pods: readonly string[],
  runs: readonly Run[],
  { subject }: Facts,
): Cause | undefined {
  if (pods.length === 0 || at(job, "spec", "paused") === true) return undefined;
  const busy = new Set(runs.filter(({ state }) => state !== "failed").map(({ pod }) => pod)).size;
  const parallelism = numberAt(job, "spec", "parallelism") ?? 1;
  const isFull = busy >= parallelism;
  return {
    reason: isFull ? "Parallelism" : "NotBegun",
    message: `${counted(pods.length, "pod")}: ${isFull ? `later, parallelism is ${parallelism}` : "its containers are not added yet"}${named(pods)}`,
    until: isFull ? "pods before them are done, or spec.parallelism is raised" : "the controller adds them",
    since: subject.createdAt,
    next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: isFull ? "held" : "moving",
  };
}

/** Its deadline, or what made it end as failed. */
function ended(job: AnyObject, isOver: boolean, { subject }: Facts): Cause | undefined {
  const conditions = conditionsOf(at(job, "status"));
  const failed = conditions.get("JobFailed") ?? conditions.get("JobError");
  const isError = conditions.has("JobError");
  if (failed?.status !== "True" || !(isOver || isError)) return undefined;
  return {
    reason: shownText(failed.reason) || "JobFailed",
    message: `the job ${isError ? "cannot run" : "has failed"}: ${shownText(failed.message)}`,
    until: "a new job is created",
    since: failed.since,
    next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}
