/** PodUnavailableBudget: which pods it protects, how many may go, and which were refused. Spec: protection A4. */

import { relatedBudget } from "../../../controller/index.ts";
import { counted } from "../../../kube/core/index.ts";
import { type AnyObject, countAt, fieldsAt, intOrStringAt, numberAt, textAt, textsAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import { age } from "../../text_table.ts";
import { endOfRefusals, refusalEvent } from "../causes/budgets.ts";
import { type Cause, holding } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { timeAt } from "../causes/pod_facts.ts";
import { minute } from "../causes/pod_reason.ts";
import { shownName, shownText } from "../causes/shown_text.ts";
import { patchCommand } from "../patch_command.ts";
import { earliestOf, type Findings, named, statusSource } from "./status_source.ts";

/** Refusals before that are over. */
const lately = 60 * minute;

interface Related {
  /** Names of the pods that it protects. */
  readonly pods: readonly string[];
  /** Events `PubPreventPodDeletion` of the namespace. */
  readonly refusals: readonly AnyObject[];
}

export const podUnavailableBudgetStatus = statusSource<Related>({
  group: "policy.kruise.io",
  kind: "PodUnavailableBudget",
  isLasting: true,
  async read(reader, { metadata: { name, namespace = "" } }) {
    const isProtected = (pod: AnyObject): boolean =>
      relatedBudget(textsAt(pod, "metadata", "annotations")) === name;
    const pods = await reader.collect("", "Pod", { namespace }, isProtected);
    const fieldSelector = `reason=${refusalEvent}`;
    const refusals = await reader.list("", "Event", { namespace, fieldSelector });
    return { pods: pods.map((pod) => textAt(pod, "metadata", "name") ?? ""), refusals: refusals ?? [] };
  },
  explain: explainPodUnavailableBudget,
});

export function explainPodUnavailableBudget(
  budget: AnyObject,
  { pods, refusals }: Related,
  facts: Facts,
): Findings {
  const count = (name: string): number => countAt(budget, "status", name);
  const refusal = refused(pods, refusals, facts);
  const protectedPods = `${counted(pods.length, "pod")} protected${named(pods)}`;
  return {
    summary: `${protectedPods}, ${count("currentAvailable")} available, ${count("desiredAvailable")} must stay, ${count("unavailableAllowed")} may go now`,
    causes: holding([
      noPods(pods, facts),
      exhausted(budget, pods, refusal !== undefined, facts),
      protectsNothing(budget, pods, facts),
      leaving(budget, facts),
      refusal,
    ]),
  };
}

function noPods(pods: readonly string[], { subject }: Facts): Cause | undefined {
  if (pods.length > 0) return undefined;
  return {
    reason: "NoPods",
    message: "spec.selector or spec.targetRef matches no pod",
    until: "a pod matches, or the budget is corrected",
    since: subject.createdAt,
    next: `kubectl get pods --show-labels${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}

function limitField(budget: AnyObject): string | undefined {
  return ["maxUnavailable", "minAvailable"].find((each) => intOrStringAt(budget, "spec", each) !== undefined);
}

/** `maxUnavailable is 1`, as the spec says it. */
function limitOf(budget: AnyObject): string {
  const name = limitField(budget);
  if (name === undefined) return "it sets no limit";
  return `${name} is ${shownText(String(intOrStringAt(budget, "spec", name)))}`;
}

/** A limit that lets no pod go is no fault by itself: it is one when somebody was refused, or when pods are out of service. */
function exhausted(
  budget: AnyObject,
  pods: readonly string[],
  wasAsked: boolean,
  { subject }: Facts,
): Cause | undefined {
  const available = countAt(budget, "status", "currentAvailable");
  const desired = countAt(budget, "status", "desiredAvailable");
  const total = numberAt(budget, "status", "totalReplicas") ?? 0;
  if (pods.length === 0 || desired === 0 || available > desired) return undefined;
  const end = endOfRefusals(desired, total);
  return {
    reason: "BudgetExhausted",
    message: `no pod may go: ${available} of ${total} available, ${desired} must stay (${limitOf(budget)})`,
    ...end,
    outlook: available < total || wasAsked ? end.outlook : "held",
    next: patchCommand(subject, { spec: limitBelow(budget, available, total) }),
  };
}

function protectsNothing(budget: AnyObject, pods: readonly string[], { subject }: Facts): Cause | undefined {
  if (pods.length === 0 || numberAt(budget, "status", "desiredAvailable") !== 0) return undefined;
  return {
    reason: "NoLimit",
    message: `it refuses nothing: no pod must stay (${limitOf(budget)})`,
    until: "its limit is changed",
    next: patchCommand(subject, { spec: { [limitField(budget) ?? "maxUnavailable"]: 1 } }),
    outlook: "held",
  };
}

/** The limit that lets one pod go. */
function limitBelow(budget: AnyObject, available: number, total: number): object {
  return limitField(budget) === "minAvailable"
    ? { minAvailable: Math.max(0, available - 1) }
    : { maxUnavailable: Math.max(1, total - available + 1) };
}

/** Allowed by admission, and not seen by the controller yet. */
function leaving(budget: AnyObject, { subject }: Facts): Cause | undefined {
  const entries = [
    ...Object.entries(fieldsAt(budget, "status", "disruptedPods")),
    ...Object.entries(fieldsAt(budget, "status", "unavailablePods")),
  ];
  if (entries.length === 0) return undefined;
  const since = entries.map(([name]) => {
    const deletedAt = timeAt(budget, "status", "disruptedPods", name);
    return deletedAt ?? timeAt(budget, "status", "unavailablePods", name);
  });
  return {
    reason: "Disrupting",
    message: `${counted(entries.length, "pod")}: allowed to go, and counted as gone${named(entries.map(([name]) => name))}`,
    until: "the controller sees it, 20 s after a deletion or 10 s after an update at the latest",
    since: earliestOf(since),
    next: `kubectl get ${subject.name}${inNamespace(subject.namespace)} -o yaml`,
    outlook: "moving",
  };
}

function refused(
  pods: readonly string[],
  events: readonly AnyObject[],
  { now, subject }: Facts,
): Cause | undefined {
  const own = new Set(pods);
  const recent = events.flatMap((event) => {
    const pod = textAt(event, "involvedObject", "name") ?? "";
    const at =
      timeAt(event, "series", "lastObservedTime") ??
      timeAt(event, "lastTimestamp") ??
      timeAt(event, "eventTime") ??
      0;
    return own.has(pod) && now - at < lately ? [{ pod: shownName(pod), at }] : [];
  });
  const latest = recent.toSorted((a, b) => b.at - a.at)[0];
  if (latest === undefined) return undefined;
  const names = [...new Set(recent.map(({ pod }) => pod))];
  return {
    reason: "Refused",
    message: `deletions, evictions or updates of ${counted(names.length, "pod")} were refused in the last hour, last ${age(now - latest.at)} ago${named(names)}`,
    until: "the budget has room, and the request is sent again",
    next: `kubectl get events${inNamespace(subject.namespace)} --field-selector reason=${refusalEvent}`,
    outlook: "held",
  };
}
