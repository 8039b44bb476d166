/** Built-in DaemonSets: one pod on every node that the template suits. */
import {
  daemonTolerations,
  matchesNode,
  refOf,
  scaledValue,
  untoleratedTaint,
} from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { StoredObject } from "../cluster.ts";
import {
  type DaemonSetObject,
  isDaemonSet,
  isFinished,
  isNode,
  type NodeObject,
  type PodObject,
  type PodTemplate,
} from "../objects/index.ts";
import { availableInMs, createdAt, isActive } from "./pod_index.ts";
import { forgetRevisions, type Revisions, syncRevisions } from "./revisions.ts";
import {
  claimPods,
  createPod,
  deletePod,
  podFromTemplate,
  refusedRetryMs,
  type WorkloadDeps,
  type WorkloadKind,
  WorkloadLoop,
} from "./workload.ts";

const kind: WorkloadKind = {
  resource: "daemonsets.apps",
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  component: "daemonset-controller",
};
const revisionLabel = "controller-revision-hash";

export function startDaemonSets(deps: WorkloadDeps): WorkloadLoop {
  const ofNodes = {
    resource: "nodes",
    keysOf: (_: StoredObject, keys: ReadonlyMap<string, string>) => keys.values(),
  };
  return new WorkloadLoop(deps, kind, (object, key) => reconcile(deps, object, key), ofNodes);
}

interface Pass {
  readonly deps: WorkloadDeps;
  readonly set: DaemonSetObject;
  readonly revisions: Revisions;
  readonly hash: string;
  readonly now: number;
  /** Node name -> its pods of this set that are neither finished nor going. */
  readonly onNode: Map<string, PodObject[]>;
  /** Nodes that must have a pod; nodes where one that is there may stay. */
  readonly shouldRun: ReadonlySet<string>;
  readonly mayStay: ReadonlySet<string>;
}

async function reconcile(deps: WorkloadDeps, object: StoredObject, key: string): Promise<Next> {
  if (!isDaemonSet(object)) return undefined;
  const pods = claimPods(deps, kind, object);
  if (object.metadata.deletionTimestamp) return undefined;
  const revisions = syncRevisions(deps, kind, object);
  if (!revisions) return undefined;
  const pass = passOf(deps, object, revisions, pods);
  let wakeAfterMs = await place(pass, pods);
  if (object.spec.updateStrategy?.type !== "OnDelete") await update(pass);
  const nextAvailable = writeStatus(pass, key);
  wakeAfterMs ??= nextAvailable;
  const used = new Set(pods.map((pod) => `${object.metadata.name}-${pod.metadata.labels?.[revisionLabel]}`));
  forgetRevisions(deps, revisions, used, object.spec.revisionHistoryLimit ?? 10);
  return wakeAfterMs;
}

function passOf(
  deps: WorkloadDeps,
  set: DaemonSetObject,
  revisions: Revisions,
  pods: readonly PodObject[],
): Pass {
  const onNode = Map.groupBy(pods.filter(isActive), targetNode);
  const shouldRun = new Set<string>();
  const mayStay = new Set<string>();
  for (const node of deps.cluster.list("nodes")) {
    if (!isNode(node)) continue;
    const fit = suits(set.spec.template, node);
    if (fit.shouldRun) shouldRun.add(node.metadata.name ?? "");
    if (fit.mayStay) mayStay.add(node.metadata.name ?? "");
  }
  const hash = revisions.update.metadata.labels?.[revisionLabel] ?? "";
  return { deps, set, revisions, hash, now: deps.clock.now(), onNode, shouldRun, mayStay };
}

function suits(template: PodTemplate, node: NodeObject): { shouldRun: boolean; mayStay: boolean } {
  const { metadata, spec } = node;
  const selected = matchesNode(template.spec, { name: metadata.name ?? "", labels: metadata.labels ?? {} });
  const tolerations = daemonTolerations(template.spec);
  const isFree = (effects?: readonly string[]): boolean =>
    untoleratedTaint(spec.taints ?? [], tolerations, effects) === undefined;
  return { shouldRun: selected && isFree(), mayStay: selected && isFree(["NoExecute"]) };
}

/** The node that a daemon pod is on or meant for. */
function targetNode(pod: PodObject): string {
  if (pod.spec.nodeName) return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.find((field) => field.key === "metadata.name")?.values?.[0] ?? "";
}

async function place(pass: Pass, pods: readonly PodObject[]): Promise<Next> {
  const { deps, set } = pass;
  for (const pod of pods) {
    if (isFinished(pod) && !pod.metadata.deletionTimestamp) await deletePod(deps, kind, set, pod);
  }
  for (const [node, present] of pass.onNode) {
    const surplus = pass.mayStay.has(node) ? surplusOn(pass, present) : present;
    for (const pod of surplus) await deletePod(deps, kind, set, pod);
    const left = present.filter((pod) => !surplus.includes(pod));
    pass.onNode.set(node, left);
  }
  for (const node of pass.shouldRun) {
    if ((pass.onNode.get(node) ?? []).length > 0) continue;
    if (!(await createPod(deps, kind, set, podFor(pass, node)))) return refusedRetryMs;
  }
  return undefined;
}

/** All but the oldest, where no surge is under way. */
function surplusOn({ set, hash }: Pass, present: readonly PodObject[]): readonly PodObject[] {
  if (present.length < 2) return [];
  const mayPair = surgeOf(set) > 0;
  const isPair = present.some((pod) => hashOf(pod) === hash) && present.some((pod) => hashOf(pod) !== hash);
  if (mayPair && isPair && present.length === 2) return [];
  return present.toSorted((a, b) => createdAt(a) - createdAt(b)).slice(1);
}

function hashOf(pod: PodObject): string {
  return pod.metadata.labels?.[revisionLabel] ?? "";
}

function podFor({ set, hash }: Pass, node: string): PodObject {
  const pod = podFromTemplate(set, kind, set.spec.template, {
    [revisionLabel]: hash,
    "pod-template-generation": String(set.metadata.generation ?? 1),
  });
  const field = { key: "metadata.name", operator: "In", values: [node] };
  const before =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  // The field takes the place of the fields of every term; what the terms say of labels was evaluated before.
  const terms = before?.length
    ? before.map((term) => ({ ...term, matchFields: [field] }))
    : [{ matchFields: [field] }];
  pod.spec.affinity = {
    ...pod.spec.affinity,
    nodeAffinity: {
      ...pod.spec.affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
    },
  };
  pod.spec.tolerations = daemonTolerations(pod.spec);
  return pod;
}

function surgeOf(set: DaemonSetObject): number {
  return scaledValue(set.spec.updateStrategy?.rollingUpdate?.maxSurge ?? 0, 100, true) > 0 ? 1 : 0;
}

async function update(pass: Pass): Promise<void> {
  const { deps, set, hash } = pass;
  const rolling = set.spec.updateStrategy?.rollingUpdate;
  const nodes = [...pass.shouldRun].filter((node) => (pass.onNode.get(node) ?? []).length > 0);
  const available = (pod: PodObject | undefined) =>
    pod !== undefined && availableInMs(pod, set.spec.minReadySeconds ?? 0, pass.now) === 0;
  const isOld = (pod: PodObject) => hashOf(pod) !== hash;
  if (surgeOf(set) > 0) {
    const surge = scaledValue(rolling?.maxSurge ?? 0, pass.shouldRun.size, true);
    let pairs = nodes.filter((node) => (pass.onNode.get(node) ?? []).length > 1).length;
    for (const node of nodes) {
      const present = pass.onNode.get(node) ?? [];
      const old = present.find(isOld);
      const fresh = present.find((pod) => !isOld(pod));
      if (old && available(fresh)) await deletePod(deps, kind, set, old);
      else if (old && !fresh && pairs < surge) {
        pairs += 1;
        await createPod(deps, kind, set, podFor(pass, node));
      }
    }
    return;
  }
  let budget = scaledValue(rolling?.maxUnavailable ?? 1, pass.shouldRun.size, true);
  budget -=
    pass.shouldRun.size - nodes.filter((node) => (pass.onNode.get(node) ?? []).some(available)).length;
  const old = nodes.flatMap((node) => (pass.onNode.get(node) ?? []).filter(isOld));
  // Pods that do not serve cost nothing.
  for (const pod of old.filter((candidate) => !available(candidate))) await deletePod(deps, kind, set, pod);
  for (const pod of old.filter(available).slice(0, Math.max(0, budget)))
    await deletePod(deps, kind, set, pod);
}

function writeStatus(pass: Pass, key: string): Next {
  const { deps, set, hash } = pass;
  const counts = { scheduled: 0, ready: 0, available: 0, updated: 0, misscheduled: 0 };
  let wakeAfterMs: Next;
  for (const [node, pods] of Map.groupBy(deps.pods.ownedBy(set).filter(isActive), targetNode)) {
    if (!pass.shouldRun.has(node)) {
      counts.misscheduled += 1;
      continue;
    }
    counts.scheduled += 1;
    const waits = pods.map((pod) => availableInMs(pod, set.spec.minReadySeconds ?? 0, pass.now));
    if (waits.some((wait) => wait !== undefined)) counts.ready += 1;
    if (waits.includes(0)) counts.available += 1;
    for (const wait of waits) if (wait) wakeAfterMs = Math.min(wait, wakeAfterMs ?? wait);
    if (pods.some((pod) => hashOf(pod) === hash)) counts.updated += 1;
  }
  deps.cluster.update(kind.resource, refOf(key), (draft) => {
    if (!isDaemonSet(draft) || draft.metadata.uid !== set.metadata.uid) return;
    const { numberAvailable: _available, numberUnavailable: _unavailable, ...status } = draft.status ?? {};
    const unavailable = pass.shouldRun.size - counts.available;
    draft.status = {
      ...status,
      currentNumberScheduled: counts.scheduled,
      numberMisscheduled: counts.misscheduled,
      desiredNumberScheduled: pass.shouldRun.size,
      numberReady: counts.ready,
      observedGeneration: set.metadata.generation ?? 0,
      updatedNumberScheduled: counts.updated,
      ...(counts.available > 0 ? { numberAvailable: counts.available } : {}),
      ...(unavailable > 0 ? { numberUnavailable: unavailable } : {}),
    };
  });
  return wakeAfterMs;
}
