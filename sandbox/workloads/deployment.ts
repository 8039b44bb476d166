/** Deployments: one ReplicaSet per template, the new one grows while the old ones shrink, within two limits. */
import {
  type Condition,
  canonicalPodTemplate,
  cloneJson,
  compileSelector,
  findCondition,
  fnv32a,
  formatTime,
  refOf,
  safeEncode,
  scaledValue,
} from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { StoredObject } from "../cluster.ts";
import {
  controllerOf,
  type DeploymentObject,
  type DeploymentStatus,
  isDeployment,
  isReplicaSet,
  type PodTemplate,
  type ReplicaSetObject,
  timeOf,
} from "../objects/index.ts";
import { createdAt } from "./pod_index.ts";
import {
  adopt,
  keyOfObject,
  ownerReference,
  type WorkloadDeps,
  type WorkloadKind,
  WorkloadLoop,
} from "./workload.ts";

const kind: WorkloadKind = {
  resource: "deployments.apps",
  apiVersion: "apps/v1",
  kind: "Deployment",
  component: "deployment-controller",
};
const replicaSets = "replicasets.apps";
const hashLabel = "pod-template-hash";
const revisionAnnotation = "deployment.kubernetes.io/revision";

export function startDeployments(deps: WorkloadDeps): WorkloadLoop {
  return new WorkloadLoop(deps, kind, (object, key) => reconcile(deps, object, key), {
    resource: replicaSets,
    keysOf(set, keys) {
      const key = keys.get(controllerOf(set)?.uid ?? "");
      return key === undefined ? [] : [key];
    },
  });
}

interface Sets {
  readonly current: ReplicaSetObject;
  readonly old: readonly ReplicaSetObject[];
}

async function reconcile(deps: WorkloadDeps, object: StoredObject, key: string): Promise<Next> {
  if (!isDeployment(object) || object.metadata.deletionTimestamp) return undefined;
  const sets = setsOf(deps, object);
  if (!object.spec.paused) {
    if (object.spec.strategy?.type === "Recreate") recreate(deps, object, sets);
    else roll(deps, object, sets);
    forgetOld(deps, object, sets.old);
  } else {
    scale(deps, object, sets.current, Math.max(0, replicasOf(object) - total(sets.old)));
  }
  return writeStatus(deps, object, key);
}

const replicasOf = (object: { spec: { replicas?: number } }): number => object.spec.replicas ?? 1;
const total = (sets: readonly ReplicaSetObject[]): number =>
  sets.reduce((sum, set) => sum + replicasOf(set), 0);
const availableOf = (set: ReplicaSetObject): number => set.status?.availableReplicas ?? 0;

function setsOf(deps: WorkloadDeps, object: DeploymentObject): Sets {
  const owned = ownedSets(deps, object);
  const wanted = canonicalPodTemplate(object.spec.template);
  const found = owned.find((set) => canonicalPodTemplate(withoutHash(set.spec.template)) === wanted);
  const current = found ?? createSet(deps, object, wanted);
  const old = owned.filter((set) => set !== found);
  const newest = Math.max(0, ...old.map(revisionOf));
  return {
    current: revisionOf(current) > newest ? current : setRevision(deps, object, current, newest + 1),
    old,
  };
}

/** The Deployment's own ReplicaSets, with those that somebody orphaned and that match its selector. */
function ownedSets(deps: WorkloadDeps, object: DeploymentObject): ReplicaSetObject[] {
  const selector = compileSelector(object.spec.selector);
  const sets: ReplicaSetObject[] = [];
  for (const set of deps.cluster.list(replicaSets, object.metadata.namespace)) {
    if (!isReplicaSet(set)) continue;
    const holder = controllerOf(set)?.uid;
    if (holder === object.metadata.uid) sets.push(set);
    if (holder !== undefined || set.metadata.deletionTimestamp) continue;
    if (!selector.matches(set.metadata.labels)) continue;
    const adopted = adopt(deps, kind, object, replicaSets, set);
    if (isReplicaSet(adopted)) sets.push(adopted);
  }
  return sets;
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

function revisionOf(set: StoredObject): number {
  return Number(set.metadata.annotations?.[revisionAnnotation] ?? 0);
}

function createSet(deps: WorkloadDeps, object: DeploymentObject, canonical: string): ReplicaSetObject {
  const hash = safeEncode(String(fnv32a(`${canonical}${object.status?.collisionCount ?? ""}`)));
  const { namespace = "", name = "", uid } = object.metadata;
  const { selector, template, minReadySeconds } = object.spec;
  const setName = `${name}-${hash}`;
  const present = deps.cluster.get(replicaSets, { namespace, name: setName });
  if (present && controllerOf(present)?.uid !== uid)
    throw new Error(`replicaset ${setName} belongs to another owner`);
  const created = deps.cluster.create(replicaSets, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      namespace,
      name: setName,
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      annotations: { ...object.metadata.annotations },
      ownerReferences: [ownerReference(object, kind)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds ? { minReadySeconds } : {}),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [hashLabel]: hash } },
      template: {
        ...cloneJson(template),
        metadata: { ...template.metadata, labels: { ...template.metadata?.labels, [hashLabel]: hash } },
      },
    },
  });
  if (!isReplicaSet(created)) throw new Error(`replicaset ${setName} was not stored`);
  return created;
}

function setRevision(
  deps: WorkloadDeps,
  object: DeploymentObject,
  set: ReplicaSetObject,
  revision: number,
): ReplicaSetObject {
  const annotate = (draft: StoredObject): void => {
    draft.metadata.annotations = { ...draft.metadata.annotations, [revisionAnnotation]: String(revision) };
  };
  deps.cluster.update(kind.resource, refOf(keyOfObject(object)), annotate);
  const updated = deps.cluster.update(replicaSets, refOf(keyOfObject(set)), annotate);
  return isReplicaSet(updated) ? updated : set;
}

function scale(deps: WorkloadDeps, object: DeploymentObject, set: ReplicaSetObject, replicas: number): void {
  const before = replicasOf(set);
  if (before === replicas) return;
  deps.cluster.update(replicaSets, refOf(keyOfObject(set)), (draft) => {
    if (isReplicaSet(draft)) draft.spec.replicas = replicas;
  });
  const direction = replicas > before ? "up" : "down";
  const message = `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`;
  deps.events.write(object, "Normal", "ScalingReplicaSet", message, kind.component);
}

function recreate(deps: WorkloadDeps, object: DeploymentObject, { current, old }: Sets): void {
  for (const set of old) scale(deps, object, set, 0);
  const oldPods = old.some((set) => deps.pods.ownedBy(set).length > 0);
  if (!oldPods) scale(deps, object, current, replicasOf(object));
}

function roll(deps: WorkloadDeps, object: DeploymentObject, { current, old }: Sets): void {
  const wanted = replicasOf(object);
  const { maxSurge, maxUnavailable } = limits(object);
  if (replicasOf(current) > wanted) {
    scale(deps, object, current, wanted);
    return;
  }
  const room = wanted + maxSurge - total([...old, current]);
  if (room > 0 && replicasOf(current) < wanted) {
    scale(deps, object, current, Math.min(wanted, replicasOf(current) + room));
    return;
  }
  const missingNew = replicasOf(current) - availableOf(current);
  let spare = total([...old, current]) - (wanted - maxUnavailable) - missingNew;
  const left = new Map(old.map((set) => [set, replicasOf(set)]));
  const shrink = (set: ReplicaSetObject, most: number): void => {
    const by = Math.min(most, left.get(set) ?? 0, spare);
    if (by <= 0) return;
    spare -= by;
    left.set(set, (left.get(set) ?? 0) - by);
  };
  const oldestFirst = old.toSorted((a, b) => createdAt(a) - createdAt(b));
  // Pods that do not serve go first: they cost nothing.
  for (const set of oldestFirst) shrink(set, replicasOf(set) - availableOf(set));
  const available = [...old, current].reduce((sum, set) => sum + availableOf(set), 0);
  spare = Math.min(spare, available - (wanted - maxUnavailable));
  for (const set of oldestFirst) shrink(set, replicasOf(set));
  for (const [set, replicas] of left) scale(deps, object, set, replicas);
}

function limits(object: DeploymentObject): { maxSurge: number; maxUnavailable: number } {
  const { maxSurge = "25%", maxUnavailable = "25%" } = object.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, replicasOf(object), true);
  const unavailable = scaledValue(maxUnavailable, replicasOf(object), false);
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function forgetOld(deps: WorkloadDeps, object: DeploymentObject, old: readonly ReplicaSetObject[]): void {
  const empty = old.filter((set) => replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0);
  const surplus = empty.length - (object.spec.revisionHistoryLimit ?? 10);
  const oldest = empty.toSorted((a, b) => revisionOf(a) - revisionOf(b)).slice(0, Math.max(0, surplus));
  for (const set of oldest) deps.cluster.remove(replicaSets, refOf(keyOfObject(set)));
}

function writeStatus(deps: WorkloadDeps, object: DeploymentObject, key: string): Next {
  const sets = ownedSets(deps, object);
  const wanted = canonicalPodTemplate(object.spec.template);
  const current = sets.find((set) => canonicalPodTemplate(withoutHash(set.spec.template)) === wanted);
  const sum = (pick: (set: ReplicaSetObject) => number | undefined) =>
    sets.reduce((all, set) => all + (pick(set) ?? 0), 0);
  const replicas = sum((set) => set.status?.replicas);
  const available = sum((set) => set.status?.availableReplicas);
  const updated = current?.status?.replicas ?? 0;
  const counts = {
    observedGeneration: object.metadata.generation ?? 0,
    replicas,
    updatedReplicas: updated,
    readyReplicas: sum((set) => set.status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, total(sets) - available),
  };
  const enough = available >= replicasOf(object) - limits(object).maxUnavailable;
  const complete = updated === replicasOf(object) && replicas === updated && available >= updated;
  const progress = progressOf(deps, object, counts, complete, current?.metadata.name ?? "");
  const now = formatTime(deps.clock.now());
  deps.cluster.update(kind.resource, refOf(key), (draft) => {
    if (!isDeployment(draft) || draft.metadata.uid !== object.metadata.uid) return;
    const known = draft.status?.conditions;
    const conditions = [
      dated(availableCondition(enough), known, now, false),
      dated(progress.condition, known, now, progress.moved),
    ];
    draft.status = withoutZeros({ ...draft.status, ...counts, conditions });
  });
  return progress.deadlineInMs;
}

interface Progress {
  readonly condition: Condition;
  /** Whether counters moved since the last status. */
  readonly moved: boolean;
  readonly deadlineInMs: Next;
}

/** Whether a rollout goes on, has ended, or has not moved for longer than it may. */
function progressOf(
  deps: WorkloadDeps,
  object: DeploymentObject,
  counts: DeploymentStatus,
  complete: boolean,
  setName: string,
): Progress {
  const condition = (status: "True" | "False", reason: string, words: string): Condition => ({
    type: "Progressing",
    status,
    reason,
    message: `ReplicaSet "${setName}" ${words}`,
  });
  const { status } = object;
  const moved = (["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] as const).some(
    (name) => (status?.[name] ?? 0) !== (counts[name] ?? 0),
  );
  if (complete) {
    const done = condition("True", "NewReplicaSetAvailable", "has successfully progressed.");
    return { condition: done, moved: false, deadlineInMs: undefined };
  }
  const goesOn = condition("True", "ReplicaSetUpdated", "is progressing.");
  const before = findCondition(status?.conditions, "Progressing");
  const isNew =
    before?.reason === "NewReplicaSetAvailable" || status?.observedGeneration !== object.metadata.generation;
  const limitMs = (object.spec.progressDeadlineSeconds ?? 600) * 1_000;
  if (moved || isNew || !before || object.spec.paused)
    return { condition: goesOn, moved: true, deadlineInMs: limitMs };
  const since = timeOf(before.lastUpdateTime) ?? deps.clock.now();
  const left = since + limitMs - deps.clock.now();
  if (left > 0 && before.status === "True") return { condition: goesOn, moved: false, deadlineInMs: left };
  const late = condition("False", "ProgressDeadlineExceeded", "has timed out progressing.");
  return { condition: late, moved: false, deadlineInMs: undefined };
}

/** Counters at zero are left out, as the typed API does. */
function withoutZeros(status: DeploymentStatus): DeploymentStatus {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
}

function availableCondition(enough: boolean): Condition {
  return {
    type: "Available",
    status: enough ? "True" : "False",
    reason: enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    message: `Deployment ${enough ? "has" : "does not have"} minimum availability.`,
  };
}

function dated(
  condition: Condition,
  before: readonly Condition[] | undefined,
  now: string,
  moved: boolean,
): Condition {
  const known = findCondition(before, condition.type);
  const same = known?.status === condition.status;
  if (same && !moved && known.reason === condition.reason && known.message === condition.message)
    return known;
  const lastTransitionTime = same ? (known.lastTransitionTime ?? now) : now;
  return { ...condition, lastUpdateTime: now, lastTransitionTime };
}
