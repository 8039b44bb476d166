/**
 * What a StatefulSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: statefulset 4.2 (membership), 4.3 (the order of a pass), 4.13 (revisions).
 */

import type { StatefulSetStatus } from "../../crds/index.ts";
import { compileSelector, counted, revisionData } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { PlanMemory } from "../rollout/plan_memory.ts";
import { ownerReference } from "../rollout/pods/pod_manifest.ts";
import { untilAvailable } from "../rollout/pods/pod_state.ts";
import { planHistory } from "../rollout/revisions/revision_history.ts";
import { currentRevision, findRevision, HASH_LABEL, shortHash } from "../rollout/revisions/revisions.ts";
import type { Plan } from "../rollout/writes/actions.ts";
import { afterChange, type PodChange, podPatch } from "../rollout/writes/pod_patch.ts";
import { REVISION_LABEL, type StatefulSetOptions, strategyOf } from "./observe.ts";
import { membersOf, reachOf } from "./order.ts";
import { type Pass, type PassContext, type Seen, SetDecided, type ViewedPass } from "./pass.ts";
import { planImages } from "./pre_download.ts";
import { awaitedOfNodes, planRefresh, reportBroken } from "./refresh.ts";
import { planCondemned, planWindow } from "./scale.ts";
import type { Group, SetView } from "./slots.ts";
import { statusOf } from "./status.ts";
import { isTakenAsUpdated } from "./take_over.ts";
import { planUpdate } from "./update.ts";

export interface PassInput {
  seen: Seen;
  options: StatefulSetOptions;
  /** Milliseconds since the epoch. */
  now: number;
  /** Of earlier passes; default: none. */
  memory?: PlanMemory;
}

export function planStatefulSet(viewed: ViewedPass): Plan<StatefulSetStatus> {
  const { seen, now, pods, update, write } = viewed;
  const { set } = seen;
  const decided = new SetDecided();
  const pass = { ...viewed, reach: reachOf(pods, viewed), eligible: new Map(), decided };
  const isDecided = set.metadata.deletionTimestamp === undefined && write !== "create";
  if (set.metadata.deletionTimestamp === undefined) decide(pass);
  const status = statusOf({
    seen,
    pods,
    strategy: pass.strategy,
    updateRevision: update.name,
    currentRevision: pass.current.name,
    collisionCount: pass.collisionCount,
    failures: {
      scale: decided.creationFailure ?? seen.failures.scale,
      update: decided.failure ?? seen.failures.update,
    },
    now,
  });
  return {
    actions: decided.actions,
    status,
    get waiting() {
      return isDecided ? [...decided.waiting, ...awaitedOfNodes(pass)] : [];
    },
    requeueAfterMs: decided.requeueAfterMs,
  };
}

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function statefulSetPass({ seen, options, now, memory = new PlanMemory() }: PassInput): ViewedPass {
  const { metadata, spec, status } = seen.set;
  const { update, write, collisionCount } = findRevision(
    metadata.name ?? "",
    memory.templateData.of(spec.template, () => revisionData(spec.template)),
    seen.revisions,
    status?.collisionCount ?? 0,
    seen.revisionData,
  );
  const context: PassContext = {
    seen,
    options,
    strategy: strategyOf(seen.set, options),
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    now,
    update,
    current: currentRevision(status?.currentRevision, seen.revisions, update),
    write,
    collisionCount,
    selector: compileSelector(spec.selector),
    settled: memory.settled,
  };
  return { ...context, pods: seen.pods.refresh(context) };
}

function decide(pass: Pass): void {
  const { decided, strategy, write } = pass;
  planMembership(pass);
  reportBroken(pass);
  planRevision(pass);
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return;
  planImages(pass);
  const complete = planWindow(pass);
  const emptied = (!strategy.ordered || complete) && planCondemned(pass);
  planRefresh(pass);
  if (strategy.onDelete || strategy.paused) reportHeld(pass);
  else planUpdate(pass, !strategy.ordered || (complete && emptied));
  for (const action of decided.later) if (!decided.touched.has(action.pod.uid)) decided.take(action);
  reportPartition(pass);
  reportStrangers(pass);
  for (const action of planHistory(pass)) decided.take(action);
  wakeForAvailability(pass);
}

/** Rule 6. Adopts what fits and nobody controls, releases what no longer fits. */
function planMembership({ pods, decided, name, uid, now, update, seen }: Pass): void {
  const change = (pod: Pod, what: PodChange, adopts: boolean): void => {
    const step = podPatch(pod, what, now, { resourceVersion: pod.resourceVersion });
    const write = { steps: [step], after: afterChange(pod, what, now) };
    decided.take({ type: "patch pod", pod, write, concern: "refresh", ...(adopts ? { adopts } : {}) });
  };
  for (const pod of podsOf(pods, "toRelease")) change(pod, { releaseOwner: uid }, false);
  const addOwner = ownerReference("StatefulSet", name, uid);
  for (const pod of podsOf(pods, "toAdopt")) {
    const isRelabelled = isTakenAsUpdated(pod, update, seen.revisions);
    change(pod, { addOwner, ...(isRelabelled ? { labels: { [REVISION_LABEL]: update.name } } : {}) }, true);
  }
}

function podsOf(pods: SetView, group: Group): Pod[] {
  return [...pods.entries(pods.groups[group])].flatMap(({ pod }) => pod ?? []);
}

function planRevision(pass: Pass): void {
  const { update, seen, decided, write } = pass;
  const owner = ownerReference("StatefulSet", pass.name, pass.uid);
  if (write === "create") {
    const metadata = {
      name: update.name,
      namespace: pass.namespace,
      labels: { ...seen.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      ...(seen.set.metadata.annotations ? { annotations: seen.set.metadata.annotations } : {}),
      ownerReferences: [owner],
    };
    const body = { apiVersion: "apps/v1", kind: "ControllerRevision", metadata, revision: update.number };
    decided.take({ type: "create revision", name: update.name, body, data: update.data });
  }
  for (const revision of seen.revisions) {
    const renumber = write === "renumber" && revision === update.stored;
    // A revision left by an owner that is gone becomes ours, so that it is collected with us.
    const orphaned = !revision.owners.some((one) => one.controller);
    if (!renumber && !orphaned) continue;
    const metadata = {
      uid: revision.uid,
      resourceVersion: revision.resourceVersion,
      ...(orphaned ? { ownerReferences: [...revision.owners, owner] } : {}),
    };
    const body = renumber ? { metadata, revision: update.number } : { metadata };
    decided.take({ type: "patch revision", revision, body });
  }
}

function reportHeld(pass: Pass): void {
  const old = pass.pods.count("behind and staying");
  if (old === 0) return;
  pass.decided.waiting.push(
    pass.strategy.onDelete
      ? {
          reason: "OnDelete",
          message: `${counted(old, "pod stays", "pods stay")} at an old revision`,
          until: "they are deleted",
        }
      : {
          reason: "Paused",
          message: `${counted(old, "pod is", "pods are")} held at an old revision by paused`,
          until: "paused is set to false",
        },
  );
}

function reportPartition(pass: Pass): void {
  const old = pass.pods.count("behind and staying");
  const kept = pass.strategy.partition;
  if (kept === 0 || old === 0 || pass.reach.outdated.size > 0) return;
  const message = `${counted(old, "pod stays", "pods stay")} at an old revision by partition`;
  pass.decided.waiting.push({ reason: "Partition", message, until: "partition is lowered" });
}

/** Pods that somebody made by hand with the set as owner, under a name that no ordinal has. */
function reportStrangers({ pods, decided }: Pass): void {
  for (const pod of podsOf(pods, "strangers")) {
    decided.waiting.push({
      reason: "NoOrdinal",
      message: `pod ${pod.name} has the set as its owner, but a name that no ordinal has: it counts in status.replicas and is left alone`,
      until: "it is deleted, or its owner reference is removed",
      pods: [pod.name],
    });
  }
}

/** Time alone makes a ready pod available when there is a minReadySeconds. */
function wakeForAvailability(pass: Pass): void {
  const { minReadySeconds } = pass.strategy;
  if (minReadySeconds === 0) return;
  for (const member of membersOf(pass.pods.entries(pass.pods.groups.awaitingMinReady))) {
    const left = untilAvailable(member.pod, minReadySeconds, pass.now);
    if (left !== undefined && left > 0) pass.decided.wake(left);
  }
}
