/** Built-in StatefulSets: numbered pods with claims of their own, made and replaced in order. */
import { cloneJson, refOf } from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { StoredObject } from "../cluster.ts";
import {
  isFinished,
  isPodReady,
  isStatefulSet,
  type PodObject,
  type StatefulSetObject,
} from "../objects/index.ts";
import { availableInMs, countPods } from "./pod_index.ts";
import { forgetRevisions, type Revisions, syncRevisions, templateOf } from "./revisions.ts";
import { claimName, ensureClaims, removeClaims } from "./stateful_claims.ts";
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
  resource: "statefulsets.apps",
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  component: "statefulset-controller",
};
const revisionLabel = "controller-revision-hash";

export function startStatefulSets(deps: WorkloadDeps): WorkloadLoop {
  return new WorkloadLoop(deps, kind, (object, key) => reconcile(deps, object, key));
}

interface Pass {
  readonly deps: WorkloadDeps;
  readonly set: StatefulSetObject;
  readonly revisions: Revisions;
  /** Name of the revision that pods below the partition get. */
  readonly currentName: string;
  readonly updateName: string;
  /** Ordinal -> pod, within the wanted range. */
  readonly wanted: Map<number, PodObject | undefined>;
  /** Above the range, highest first. */
  readonly surplus: readonly PodObject[];
  readonly ordered: boolean;
}

async function reconcile(deps: WorkloadDeps, object: StoredObject, key: string): Promise<Next> {
  if (!isStatefulSet(object)) return undefined;
  const pods = claimPods(deps, kind, object, (pod) => ordinalOf(object, pod) !== undefined);
  if (object.metadata.deletionTimestamp) return undefined;
  const revisions = syncRevisions(deps, kind, object);
  if (!revisions) return undefined;
  const pass = passOf(deps, object, revisions, pods);
  const wakeAfterMs = await act(pass);
  const nextAvailable = writeStatus(pass, key);
  const used = new Set(pods.map((pod) => pod.metadata.labels?.[revisionLabel] ?? ""));
  forgetRevisions(deps, revisions, used.add(pass.currentName), object.spec.revisionHistoryLimit ?? 10);
  return wakeAfterMs ?? nextAvailable;
}

function passOf(
  deps: WorkloadDeps,
  set: StatefulSetObject,
  revisions: Revisions,
  pods: readonly PodObject[],
): Pass {
  const start = set.spec.ordinals?.start ?? 0;
  const end = start + (set.spec.replicas ?? 1);
  const wanted = new Map<number, PodObject | undefined>();
  for (let ordinal = start; ordinal < end; ordinal++) wanted.set(ordinal, undefined);
  const surplus: PodObject[] = [];
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal === undefined) continue;
    if (wanted.has(ordinal)) wanted.set(ordinal, pod);
    else surplus.push(pod);
  }
  surplus.sort((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));
  const updateName = revisions.update.metadata.name ?? "";
  const known = set.status?.currentRevision;
  const isThere = revisions.all.some((revision) => revision.metadata.name === known);
  const ordered = set.spec.podManagementPolicy !== "Parallel";
  return {
    deps,
    set,
    revisions,
    currentName: known && isThere ? known : updateName,
    updateName,
    wanted,
    surplus,
    ordered,
  };
}

function ordinalOf(set: StatefulSetObject, pod: PodObject): number | undefined {
  const match = /^(.*)-(\d+)$/.exec(pod.metadata.name ?? "");
  return match?.[1] === set.metadata.name ? Number(match?.[2]) : undefined;
}

/** One pass: at most one step when ordered, all steps at once otherwise. */
async function act(pass: Pass): Promise<Next> {
  const { deps, set, ordered } = pass;
  for (const [ordinal, pod] of pass.wanted) {
    if (pod && isFinished(pod) && !pod.metadata.deletionTimestamp) {
      await deletePod(deps, kind, set, pod);
      if (ordered) return undefined;
    } else if (!pod) {
      ensureClaims(deps, set, ordinal);
      if (!(await createPod(deps, kind, set, podOf(pass, ordinal)))) return refusedRetryMs;
      if (ordered) return undefined;
    } else if (ordered) {
      const wait = availableInMs(pod, set.spec.minReadySeconds ?? 0, deps.clock.now());
      if (pod.metadata.deletionTimestamp || wait === undefined) return undefined;
      if (wait > 0) return wait;
    }
  }
  for (const pod of pass.surplus) {
    if (!pod.metadata.deletionTimestamp) await deletePod(deps, kind, set, pod);
    if (ordered) return undefined;
  }
  removeClaims(deps, set, [...pass.wanted.keys()]);
  return update(pass);
}

/** Replaces the highest pod of an old revision, once all above it are well. */
async function update(pass: Pass): Promise<Next> {
  const { deps, set } = pass;
  if (set.spec.updateStrategy?.type === "OnDelete") return undefined;
  const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  for (const [ordinal, pod] of [...pass.wanted].reverse()) {
    if (ordinal < partition || !pod) continue;
    if (pod.metadata.labels?.[revisionLabel] !== pass.updateName) {
      if (!pod.metadata.deletionTimestamp) await deletePod(deps, kind, set, pod);
      return undefined;
    }
    const wait = availableInMs(pod, set.spec.minReadySeconds ?? 0, deps.clock.now());
    if (pod.metadata.deletionTimestamp || wait === undefined) return undefined;
    if (wait > 0) return wait;
  }
  return undefined;
}

function podOf(pass: Pass, ordinal: number): PodObject {
  const { set, revisions } = pass;
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const below = type !== "OnDelete" && ordinal < (rollingUpdate?.partition ?? 0);
  const revisionName = below ? pass.currentName : pass.updateName;
  const revision = revisions.all.find((candidate) => candidate.metadata.name === revisionName);
  const template = (revision && templateOf(revision)) ?? set.spec.template;
  const name = `${set.metadata.name}-${ordinal}`;
  const pod = podFromTemplate(set, kind, template, {
    [revisionLabel]: revisionName,
    "statefulset.kubernetes.io/pod-name": name,
    "apps.kubernetes.io/pod-index": String(ordinal),
  });
  delete pod.metadata.generateName;
  pod.metadata.name = name;
  pod.spec.hostname = name;
  if (set.spec.serviceName) pod.spec.subdomain = set.spec.serviceName;
  const claims = set.spec.volumeClaimTemplates ?? [];
  const own = claims.map((claim) => ({
    name: claim.metadata.name ?? "",
    persistentVolumeClaim: { claimName: claimName(set, claim, ordinal) },
  }));
  const others = (cloneJson(pod.spec.volumes) ?? []).filter(
    (volume) => !own.some((claim) => claim.name === volume.name),
  );
  if (own.length + others.length > 0) pod.spec.volumes = [...own, ...others];
  return pod;
}

function writeStatus(pass: Pass, key: string): Next {
  const { deps, set, updateName } = pass;
  const pods = deps.pods.ownedBy(set).filter((pod) => ordinalOf(set, pod) !== undefined);
  const living = pods.filter((pod) => !pod.metadata.deletionTimestamp);
  const counts = countPods(living, set.spec.minReadySeconds ?? 0, deps.clock.now());
  const at = (name: string) => living.filter((pod) => pod.metadata.labels?.[revisionLabel] === name).length;
  const wanted = set.spec.replicas ?? 1;
  const rolling = set.spec.updateStrategy?.type !== "OnDelete";
  const done = rolling && at(updateName) === wanted && counts.ready === wanted && pods.length === wanted;
  const currentName = done ? updateName : pass.currentName;
  deps.cluster.update(kind.resource, refOf(key), (draft) => {
    if (!isStatefulSet(draft) || draft.metadata.uid !== set.metadata.uid) return;
    draft.status = {
      ...draft.status,
      observedGeneration: set.metadata.generation ?? 0,
      replicas: pods.length,
      readyReplicas: pods.filter(isPodReady).length,
      availableReplicas: counts.available,
      currentReplicas: at(currentName),
      updatedReplicas: at(updateName),
      currentRevision: currentName,
      updateRevision: updateName,
      collisionCount: draft.status?.collisionCount ?? 0,
    };
  });
  return counts.wakeAfterMs;
}
