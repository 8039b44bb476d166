/** Reads what causes are worked out from. The number of requests is bounded, however many pods there are. */
import { controllerOptions, relatedBudget } from "../../../controller/index.ts";
import { RECREATE_ACTIVE_LABEL, RECREATE_POD_UID_LABEL } from "../../../crds/index.ts";
import { formatSelector, keyOf, type ObjectRef } from "../../../kube/core/index.ts";
import {
  type AnyObject,
  at,
  countAt,
  isControlledBy,
  listAt,
  numberAt,
  selectorAt,
  textAt,
  textsAt,
} from "../../fields.ts";
import { objectName } from "../../resource_types.ts";
import type { Target } from "../../target.ts";
import { budgetNamed, refusalEvent } from "./budgets.ts";
import type {
  BudgetFacts,
  ClaimFacts,
  EventFacts,
  Facts,
  LeaseFacts,
  NodeFacts,
  RecreateFacts,
  SubjectFacts,
} from "./facts.ts";
import { needsAgent } from "./nodes.ts";
import {
  type ConditionFacts,
  conditionsOf,
  identityOf,
  type PodFacts,
  podFactsOf,
  stateOf,
  timeAt,
} from "./pod_facts.ts";
import { isAtRest } from "./pod_reasons.ts";
import { type PodSource, podSourceOf } from "./pod_sources.ts";
import type { Reader, Scope } from "./reader.ts";
import { lastLine, shownName } from "./shown_text.ts";
import { wordsOfRefusals } from "./subject_reasons.ts";

/** Pods at work beyond are not kept. */
const mostPods = 2000;
/** States of pods whose events are read. */
const mostStates = 6;
const mostNodes = 10;
const mostClaims = 6;
const mostLogs = 3;
/** Workloads between an object and its pods whose events are read. */
const mostBetween = 4;
const mostBudgets = 4;

/** Undefined for a kind of which nothing but its plan is known. */
export async function gatherFacts(
  reader: Reader,
  { type }: Pick<Target, "type">,
  object: AnyObject,
  now: number,
): Promise<Facts | undefined> {
  const source = podSourceOf(type);
  if (source === undefined) return undefined;
  const subject = subjectFactsOf(object, objectName(type, object.metadata.name ?? ""), source);
  const [found, leases] = await Promise.all([
    podsOf(reader, source, object, subject, now),
    readLeases(reader, source),
  ]);
  const { pods, podCount, requests, between, newestPodAt, protectedPods } = found;
  const examples = examplesOf(pods);
  // What is said about a pod itself counts for its state.
  const about = source.kind === "Pod" ? [] : [object, ...between.slice(0, mostBetween)];
  const [events, refusedPods, podEvents, nodes, claims, logs, agents] = await Promise.all([
    Promise.all(about.map((each) => eventsAbout(reader, each))).then((all) => all.flat()),
    protectedPods.size === 0 ? new Map<string, number>() : readRefusals(reader, subject.namespace),
    byKey(examples, stateOf, ({ namespace, uid }) => readEvents(reader, namespace, uid)),
    byKey(nodesOf(pods), String, (name) => readNode(reader, name)),
    byKey(claimsOf(examples), keyOf, (claim) => readClaim(reader, claim)),
    byKey(logsOf(examples), logKey, (log) => readLog(reader, log)),
    pods.some((pod) => needsAgent(pod, requests)) ? readAgents(reader) : undefined,
  ]);
  const budgetNames = [
    ...wordsOfRefusals(subject, events).map(budgetNamed),
    ...[...refusedPods.keys()].map((pod) => protectedPods.get(pod)),
  ];
  const budgets = [...new Set(budgetNames.filter((name) => name !== undefined))].slice(0, mostBudgets);
  return {
    now,
    subject,
    budgets: await Promise.all(
      budgets.map(async (name) => ({
        name,
        counts: await readCounts(reader, { namespace: subject.namespace, name }),
        refusedPods: new Map([...refusedPods].filter(([pod]) => protectedPods.get(pod) === name)),
      })),
    ),
    pods,
    podCount,
    newestPodAt,
    requests,
    leases,
    agents,
    events: events.sort((a, b) => b.at - a.at),
    eventsOf: (pod) => podEvents.get(stateOf(pod)) ?? [],
    node: (name) => nodes.get(name),
    claim: (namespace, name) => claims.get(keyOf({ namespace, name })),
    lastLine: (pod, container) => logs.get(logKey({ pod, container })),
  };
}

export function subjectFactsOf(
  object: AnyObject,
  name: string,
  { observes }: Pick<PodSource, "observes">,
): SubjectFacts {
  const subsets = new Map<string, ReadonlyMap<string, ConditionFacts>>();
  for (const subset of listAt(object, "status", "subsetStatuses"))
    subsets.set(textAt(subset, "name") ?? "", conditionsOf(subset));
  const spec = at(object, "spec");
  return {
    name,
    namespace: textAt(object, "metadata", "namespace") ?? "",
    uid: uidOf(object),
    createdAt: timeAt(object, "metadata", "creationTimestamp"),
    deletionAt: timeAt(object, "metadata", "deletionTimestamp"),
    finalizers: listAt(object, "metadata", "finalizers").filter((text) => typeof text === "string"),
    generation: numberAt(object, "metadata", "generation") ?? 0,
    observedGeneration: observes ? (numberAt(object, "status", "observedGeneration") ?? 0) : undefined,
    conditions: conditionsOf(at(object, "status")),
    subsets,
    minReadySeconds:
      numberAt(spec, "minReadySeconds") ??
      numberAt(spec, "updateStrategy", "rollingUpdate", "minReadySeconds") ??
      0,
  };
}

interface FoundPods {
  /** Not at rest, by name. */
  readonly pods: readonly PodFacts[];
  readonly podCount: number;
  readonly newestPodAt: number | undefined;
  readonly requests: readonly RecreateFacts[];
  /** Those that a budget protects, with its name. */
  readonly protectedPods: ReadonlyMap<string, string>;
  /** Objects between the subject and its pods. */
  readonly between: readonly AnyObject[];
}

async function podsOf(
  reader: Reader,
  source: PodSource,
  object: AnyObject,
  { namespace, minReadySeconds }: SubjectFacts,
  now: number,
): Promise<FoundPods> {
  if (source.selector === "none")
    return {
      pods: [],
      podCount: 0,
      newestPodAt: undefined,
      requests: [],
      between: [],
      protectedPods: new Map(),
    };
  const labelSelector = formatSelector(source.selector?.(object) ?? selectorAt(object, "spec", "selector"));
  const podName = source.podName?.(object);
  const fieldSelector = podName === undefined ? undefined : `metadata.name=${podName}`;
  const scope: Scope = { namespace, labelSelector, fieldSelector };
  const [requests, between] = await Promise.all([
    readRequests(reader, namespace),
    readBetween(reader, source, object, scope),
  ]);
  const owners = new Set([object, ...between].map(uidOf));
  const belongs = (pod: AnyObject): boolean => source.carries?.(pod, object) ?? isControlledBy(pod, owners);
  const requested = new Set(requests.map(({ pod }) => pod));
  const pods: PodFacts[] = [];
  const protectedPods = new Map<string, string>();
  let podCount = 0;
  let newestPodAt: number | undefined;
  const lists = source.kind === "Pod" ? [[object]] : reader.pages("", "Pod", scope);
  for await (const page of lists) {
    for (const pod of page) {
      if (!belongs(pod)) continue;
      const facts = podFactsOf(pod);
      podCount++;
      const budget = relatedBudget(textsAt(pod, "metadata", "annotations"));
      // What a budget refuses is its own to tell.
      if (budget !== undefined && source.kind !== "PodUnavailableBudget")
        protectedPods.set(facts.name, budget);
      newestPodAt = Math.max(newestPodAt ?? 0, facts.createdAt ?? 0);
      if (pods.length < mostPods && !isAtRest(facts, { minReadySeconds, requested, now })) pods.push(facts);
    }
  }
  return {
    pods: pods.sort((a, b) => (a.name < b.name ? -1 : 1)),
    podCount,
    newestPodAt,
    requests,
    between,
    protectedPods,
  };
}

/** What the object controls, and what that controls in turn. */
async function readBetween(
  reader: Reader,
  { between = [] }: PodSource,
  object: AnyObject,
  scope: Scope,
): Promise<AnyObject[]> {
  const lists = await Promise.all(between.map(([group, kind]) => reader.list(group, kind, scope)));
  const owners = new Set([uidOf(object)]);
  const found: AnyObject[] = [];
  for (const item of lists.flatMap((list) => list ?? [])) {
    if (!isControlledBy(item, owners)) continue;
    owners.add(uidOf(item));
    found.push(item);
  }
  return found;
}

function uidOf(object: AnyObject): string {
  return textAt(object, "metadata", "uid") ?? "";
}

/** One pod of each state, those that most pods are in first. */
function examplesOf(pods: readonly PodFacts[]): PodFacts[] {
  const states = [...Map.groupBy(pods, stateOf).values()].sort((a, b) => b.length - a.length);
  return states.slice(0, mostStates).flatMap((same) => same.slice(0, 1));
}

async function byKey<T, V>(
  items: readonly T[],
  key: (item: T) => string,
  read: (item: T) => Promise<V | undefined>,
): Promise<ReadonlyMap<string, V>> {
  const found = new Map<string, V>();
  const values = await Promise.all(items.map(read));
  for (const [index, item] of items.entries()) {
    const value = values[index];
    if (value !== undefined) found.set(key(item), value);
  }
  return found;
}

async function eventsAbout(reader: Reader, object: AnyObject): Promise<EventFacts[]> {
  const namespace = textAt(object, "metadata", "namespace") ?? "default";
  return readEvents(reader, namespace, uidOf(object));
}

async function readEvents(reader: Reader, namespace: string, uid: string): Promise<EventFacts[]> {
  if (uid === "") return [];
  const found = await reader.list("", "Event", { namespace, fieldSelector: `involvedObject.uid=${uid}` });
  return (found ?? []).map(eventFactsOf).sort((a, b) => b.at - a.at);
}

/** By name, the pods of the namespace that budgets refused to let go, and when last. */
async function readRefusals(reader: Reader, namespace: string): Promise<ReadonlyMap<string, number>> {
  const found = await reader.list("", "Event", { namespace, fieldSelector: `reason=${refusalEvent}` });
  const last = new Map<string, number>();
  for (const event of found ?? []) {
    const pod = textAt(event, "involvedObject", "name") ?? "";
    last.set(pod, Math.max(last.get(pod) ?? 0, eventFactsOf(event).at));
  }
  return last;
}

async function readCounts(reader: Reader, ref: ObjectRef): Promise<BudgetFacts["counts"]> {
  const budget = await reader.get("policy.kruise.io", "PodUnavailableBudget", ref);
  if (budget === undefined || budget === "missing") return undefined;
  const count = (name: string): number => countAt(budget, "status", name);
  return {
    available: count("currentAvailable"),
    desired: count("desiredAvailable"),
    total: count("totalReplicas"),
  };
}

/** Either form of an event's time: of those that are counted, or of a series. */
export function eventFactsOf(event: AnyObject): EventFacts {
  const created = timeAt(event, "metadata", "creationTimestamp");
  const first = timeAt(event, "firstTimestamp") ?? timeAt(event, "eventTime") ?? created ?? 0;
  return {
    isWarning: event["type"] === "Warning",
    reason: textAt(event, "reason") ?? "",
    message: textAt(event, "message") ?? "",
    firstAt: first,
    count: numberAt(event, "series", "count") ?? numberAt(event, "count") ?? 1,
    at: timeAt(event, "series", "lastObservedTime") ?? timeAt(event, "lastTimestamp") ?? first,
  };
}

function nodesOf(pods: readonly PodFacts[]): string[] {
  const names = new Set(pods.map(({ node }) => node).filter((node) => node !== ""));
  return [...names].slice(0, mostNodes);
}

async function readNode(reader: Reader, name: string): Promise<NodeFacts | undefined> {
  const node = await reader.get("", "Node", { name });
  if (node === undefined) return undefined;
  if (node === "missing") return { exists: false, ready: undefined };
  return { exists: true, ready: conditionsOf(node["status"]).get("Ready") };
}

function claimsOf(pods: readonly PodFacts[]): ObjectRef[] {
  return pods
    .filter(({ node }) => node === "")
    .flatMap(({ namespace, claims }) => claims.map((name) => ({ namespace, name })))
    .slice(0, mostClaims);
}

async function readClaim(reader: Reader, ref: ObjectRef): Promise<ClaimFacts | undefined> {
  const claim = await reader.get("", "PersistentVolumeClaim", ref);
  if (claim === undefined) return undefined;
  if (claim === "missing") return { exists: false, phase: "", warning: "" };
  const phase = textAt(claim, "status", "phase") ?? "";
  if (phase === "Bound") return { exists: true, phase, warning: "" };
  const [events, storageClass] = await Promise.all([eventsAbout(reader, claim), missingClass(reader, claim)]);
  return {
    exists: true,
    phase,
    warning: storageClass ?? events.find(({ isWarning }) => isWarning)?.message ?? "",
  };
}

async function missingClass(reader: Reader, claim: AnyObject): Promise<string | undefined> {
  const name = textAt(claim, "spec", "storageClassName") ?? "";
  if (name === "") return undefined;
  const found = await reader.get("storage.k8s.io", "StorageClass", { name });
  return found === "missing" ? `StorageClass ${shownName(name)} does not exist` : undefined;
}

interface ContainerLog {
  readonly pod: PodFacts;
  readonly container: string;
  readonly previous: boolean;
}

const logKey = ({ pod, container }: Pick<ContainerLog, "pod" | "container">): string =>
  `${stateOf(pod)} ${container}`;

/** Containers that ended badly and left no message of their own. */
function logsOf(examples: readonly PodFacts[]): ContainerLog[] {
  const logs = examples.flatMap((pod) =>
    pod.containers
      .filter(({ end, ready }) => end !== undefined && end.message === "" && !ready)
      .map(({ name, hasEnded }) => ({ pod, container: name, previous: !hasEnded })),
  );
  return logs.slice(0, mostLogs);
}

async function readLog(
  reader: Reader,
  { pod, container, previous }: ContainerLog,
): Promise<string | undefined> {
  const text = await reader.log(pod, container, previous);
  return text === undefined ? undefined : lastLine(text);
}

async function readRequests(reader: Reader, namespace: string): Promise<RecreateFacts[]> {
  const labelSelector = `${RECREATE_ACTIVE_LABEL}=true`;
  const found = await reader.list("apps.kruise.io", "ContainerRecreateRequest", { labelSelector, namespace });
  return (found ?? [])
    .filter((request) => textAt(request, "status", "phase") !== "Completed")
    .map((request) => ({
      name: textAt(request, "metadata", "name") ?? "",
      uid: uidOf(request),
      pod: identityOf({
        namespace: textAt(request, "metadata", "namespace") ?? "",
        uid: textAt(request, "metadata", "labels", RECREATE_POD_UID_LABEL) ?? "",
      }),
      containers: listAt(request, "spec", "containers").flatMap(
        (container) => textAt(container, "name") ?? [],
      ),
      phase: textAt(request, "status", "phase") ?? "",
      message: textAt(request, "status", "message") ?? "",
      createdAt: timeAt(request, "metadata", "creationTimestamp"),
    }));
}

/** Of whoever carries the kind out; with several shards there is one each. */
async function readLeases(reader: Reader, { group }: PodSource): Promise<LeaseFacts[] | undefined> {
  const isOurs = group === "apps.kruise.io";
  const namespace = isOurs ? controllerOptions().systemNamespace : "kube-system";
  const names = isOurs ? /^kruise-manager(-\d{1,4})?$/ : /^kube-controller-manager$/;
  const found = await reader.list("coordination.k8s.io", "Lease", { namespace });
  const leases = found?.filter((lease) => names.test(textAt(lease, "metadata", "name") ?? ""));
  // Not every cluster shows who carries out the built-in kinds.
  if (leases === undefined || (leases.length === 0 && !isOurs)) return undefined;
  return leases.map(leaseOf);
}

function leaseOf(lease: AnyObject): LeaseFacts {
  return {
    key: `${textAt(lease, "metadata", "namespace") ?? ""}/${textAt(lease, "metadata", "name") ?? ""}`,
    holder: textAt(lease, "spec", "holderIdentity") ?? "",
    renewedAt: timeAt(lease, "spec", "renewTime"),
    durationMs: (numberAt(lease, "spec", "leaseDurationSeconds") ?? 15) * 1000,
  };
}

/** Where the pods of the agents are. */
export function agentPods(): { readonly namespace: string; readonly labelSelector: string } {
  return { namespace: controllerOptions().systemNamespace, labelSelector: "control-plane=daemon" };
}

/** By node, whether its agent is ready. */
export async function readAgents(reader: Reader): Promise<ReadonlyMap<string, boolean> | undefined> {
  const pods = await reader.list("", "Pod", agentPods());
  if (pods === undefined) return undefined;
  const agents = new Map<string, boolean>();
  for (const pod of pods) {
    const { node, conditions } = podFactsOf(pod);
    agents.set(node, agents.get(node) === true || conditions.get("Ready")?.status === "True");
  }
  return agents;
}
