/** What holds an object up beside its pods: its controller, what the server refuses, what its conditions and events say. */
import { inNamespace } from "../../resource_types.ts";
import { age } from "../../text_table.ts";
import { budgetNamed, refusedByBudget, refusingBudgets } from "./budgets.ts";
import { type Cause, holding } from "./cause.ts";
import type { EventFacts, Facts, LeaseFacts, SubjectFacts } from "./facts.ts";
import type { ConditionFacts } from "./pod_facts.ts";
import { minute, second } from "./pod_reason.ts";
import { refusalOf } from "./refusals.ts";
import { shownText } from "./shown_text.ts";

/** Before what pods say. */
export function subjectCauses(facts: Facts): Cause[] {
  return holding([
    ...controllerAbsent(facts),
    deleting(facts),
    ...refused(facts),
    jobFailed(facts),
    deadlineExceeded(facts),
    ...closedSubsets(facts),
    injectionRefused(facts),
  ]);
}

/** After what pods say: what the others do not mention. */
export function remainingCauses(facts: Facts): Cause[] {
  return holding([notObserved(facts), ...recentWarnings(facts)]);
}

const isBehind = ({ subject }: Facts): boolean =>
  subject.observedGeneration !== undefined && subject.generation > subject.observedGeneration;

/** The clock here may not be the cluster's: a lease counts as stale only when it is so by far. */
function controllerAbsent(facts: Facts): Cause[] {
  const { leases, now, subject } = facts;
  if (leases === undefined) return [];
  const absent = leases.flatMap((lease) => {
    const problem = problemOf(lease, now);
    return problem === undefined ? [] : [{ ...problem, key: lease.key }];
  });
  const since = subject.createdAt ?? now;
  if (leases.length === 0 && isBehind(facts) && subject.observedGeneration === 0 && now - since > minute)
    absent.push({ what: "no controller has ever held a lease", since, key: "" });
  return absent.map(({ what, since, key }): Cause => {
    const namespace = key.split("/")[0] || "kruise-system";
    return {
      reason: "ControllerAbsent",
      message: what,
      until: "the controller runs and holds the lease",
      since,
      next: `kubectl get pods,leases -n ${namespace}`,
      outlook: now - (since ?? now) >= minute ? "stuck" : "moving",
      stopsController: true,
    };
  });
}

function problemOf(
  { key, holder, renewedAt, durationMs }: LeaseFacts,
  now: number,
): { what: string; since: number | undefined } | undefined {
  if (holder === "") return { what: `nobody holds lease ${key}: no controller works`, since: renewedAt };
  const patience = Math.max(3 * durationMs, minute);
  if (renewedAt === undefined || now - renewedAt <= patience) return undefined;
  const ago = age(now - renewedAt);
  const what = `lease ${key} was renewed last ${ago} ago, by ${shownText(holder)}: no controller works`;
  return { what, since: renewedAt };
}

function deleting({ subject }: Facts): Cause | undefined {
  if (subject.deletionAt === undefined) return undefined;
  const finalizers = shownText(subject.finalizers.join(", "));
  const message = `it is being deleted${finalizers === "" ? "" : `, and kept by finalizers: ${finalizers}`}`;
  return {
    reason: "Deleting",
    message,
    until: finalizers === "" ? "what it owns is gone" : "the owners of the finalizers remove them",
    since: subject.deletionAt,
    next: `kubectl get ${subject.name}${inNamespace(subject.namespace)} -o jsonpath='{.metadata.finalizers}'`,
    outlook: "moving",
  };
}

/** Conditions in which controllers keep the server's words while their writes fail. */
const failureConditions: Readonly<Record<string, "True" | "False">> = {
  FailedScale: "True",
  FailedUpdate: "True",
  FailedCreatePod: "True",
  FailedUpdatePod: "True",
  ReplicaFailure: "True",
  SubsetUpdated: "False",
};

/** Of a SidecarSet: what admission refused a new pod for. */
const injectionEvent = "FailedInjection";

const failureEvents = ["FailedCreate", "FailedUpdate", "FailedDelete", "FailedUpdateSubset"];

interface Refused {
  readonly words: string;
  readonly since: number | undefined;
  /** An event alone may be about what has succeeded since. */
  readonly isCertain: boolean;
}

function refused(facts: Facts): Cause[] {
  const { subject, now } = facts;
  const found = new Map<string, Cause>();
  for (const { words, since, isCertain } of [...refusedByConditions(facts), ...refusedByEvents(facts)]) {
    const refusal = refusalOf(words);
    const budget = budgetNamed(words);
    if (budget !== undefined) {
      found.set("PodUnavailableBudget", refusedByBudget(facts, budget, since));
      continue;
    }
    if (refusal === undefined || found.has(refusal.reason)) continue;
    found.set(refusal.reason, {
      reason: refusal.reason,
      message: `the server refuses: ${shownText(words)}`,
      until: refusal.until,
      since,
      next: refusal.next(subject.namespace, words),
      outlook: isCertain && now - (since ?? now) >= 30 * second ? "stuck" : "moving",
      stopsController: true,
    });
  }
  const budgets = found.has("PodUnavailableBudget") ? [] : refusingBudgets(facts);
  return [...found.values(), ...budgets];
}

/** What the server said of the object's writes, in its conditions and in events about it. */
export function wordsOfRefusals(subject: SubjectFacts, events: readonly EventFacts[]): string[] {
  const ofEvents = events.filter(({ isWarning, reason }) => isWarning && failureEvents.includes(reason));
  const ofConditions = Object.keys(failureConditions).flatMap(
    (type) => subject.conditions.get(type)?.message ?? [],
  );
  return [...ofConditions, ...ofEvents.map(({ message }) => message)];
}

/** Whether a controller's writes fail, by the conditions of an object. */
export function reportsFailure(conditions: ReadonlyMap<string, ConditionFacts>): boolean {
  return Object.entries(failureConditions).some(
    ([type, failing]) => conditions.get(type)?.status === failing,
  );
}

function refusedByConditions({ subject }: Facts): Refused[] {
  return Object.entries(failureConditions).flatMap(([type, failing]) => {
    const condition = subject.conditions.get(type);
    if (condition?.status !== failing || condition.message === "") return [];
    return [{ words: condition.message, since: condition.since, isCertain: true }];
  });
}

/** Kinds without such a condition; a pod that was made since says that it is over. */
function refusedByEvents({ events, newestPodAt, now }: Facts): Refused[] {
  return events
    .filter(({ isWarning, reason }) => isWarning && failureEvents.includes(reason))
    .filter(({ at }) => at > (newestPodAt ?? 0) && now - at < 10 * minute)
    .map(({ message, firstAt, at, count }) => ({
      words: message,
      since: firstAt,
      isCertain: count >= 3 && now - at < 2 * minute,
    }));
}

/** A job of any kind that has failed: it does not start again. */
export function failureOf({ conditions }: SubjectFacts): ConditionFacts | undefined {
  const condition = conditions.get("Failed");
  return condition?.status === "True" ? condition : undefined;
}

function jobFailed({ subject }: Facts): Cause | undefined {
  const condition = failureOf(subject);
  if (condition === undefined) return undefined;
  return {
    reason: shownText(condition.reason) || "JobFailed",
    message: `the job has failed: ${shownText(condition.message || condition.reason)}`,
    until: "it is deleted and created again",
    since: condition.since,
    next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "stuck",
    stopsController: true,
  };
}

function deadlineExceeded({ subject }: Facts): Cause | undefined {
  const condition = subject.conditions.get("Progressing");
  if (condition?.reason !== "ProgressDeadlineExceeded") return undefined;
  return {
    reason: "ProgressDeadlineExceeded",
    message: "it got no further within its progressDeadlineSeconds",
    until: "it gets further, or its template is changed",
    since: condition.since,
    next: `refit rollout undo ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "held",
  };
}

function closedSubsets({ subject }: Facts): Cause[] {
  return [...subject.subsets].flatMap(([name, conditions]): Cause[] => {
    const schedulable = conditions.get("Schedulable");
    if (schedulable?.status !== "False") return [];
    const detail = shownText(schedulable.message || schedulable.reason);
    return [
      {
        reason: "SubsetUnschedulable",
        message: `subset ${shownText(name)} takes no new pods${detail === "" ? "" : `: ${detail}`}`,
        until: "its pods can be scheduled again",
        since: schedulable.since,
        next: `kubectl get ${subject.name}${inNamespace(subject.namespace)} -o yaml`,
        outlook: "held",
      },
    ];
  });
}

/** Pods that are not created are no part of the set's rollout: it is done while they are refused. */
function injectionRefused({ events, now, subject }: Facts): Cause | undefined {
  const event = events.find(({ reason, at }) => reason === injectionEvent && now - at <= 10 * minute);
  if (event === undefined) return undefined;
  return {
    reason: injectionEvent,
    message: `${shownText(event.message)} (${age(now - event.at)} ago)`,
    until: "what the message names is put right, and the pod is created again",
    since: event.firstAt,
    next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "held",
  };
}

function notObserved(facts: Facts): Cause | undefined {
  const { subject } = facts;
  if (!isBehind(facts) || controllerAbsent(facts).length > 0) return undefined;
  const { generation, observedGeneration = 0 } = subject;
  return {
    reason: "NotObserved",
    message: `its controller has not reported on generation ${generation} yet, the status is of generation ${observedGeneration}`,
    until: "the controller has planned the change and its first writes are answered",
    next: "kubectl get pods,leases -n kruise-system",
    outlook: "moving",
  };
}

const mostWarnings = 3;
/** Events that other reasons are made of. */
const named: ReadonlySet<string> = new Set([...failureEvents, injectionEvent]);

/** What no other reason is made of. A job's failure says why by itself. */
function recentWarnings({ events, now, subject }: Facts): Cause[] {
  if (failureOf(subject) !== undefined) return [];
  const fresh = new Map<string, Cause>();
  for (const { isWarning, reason, message, at, firstAt } of events) {
    if (!isWarning || named.has(reason) || now - at > 10 * minute) continue;
    if (fresh.size >= mostWarnings || fresh.has(reason)) continue;
    fresh.set(reason, {
      reason: shownText(reason) || "Warning",
      message: `its controller warned ${age(now - at)} ago: ${shownText(message)}`,
      until: "what the message names is put right",
      since: firstAt,
      next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
      outlook: "held",
    });
  }
  return [...fresh.values()];
}
