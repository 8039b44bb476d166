/** Status and conditions of a StatefulSet. Spec: statefulset 3, 4.13 rules 45, 46. */
import type { StatefulSet, StatefulSetStatus } from "../../crds/index.ts";
import { formatSelector, quantityCompare } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { timestamp } from "../rollout/lifecycle.ts";
import { isAvailable, isReady } from "../rollout/pod_state.ts";
import { hasSameKind, isLargeEnough } from "./claim_growth.ts";
import { claimName, ordinalOf, REVISION_LABEL, type Seen, type Strategy } from "./observe.ts";

interface StatusInput {
  seen: Seen;
  strategy: Strategy;
  updateRevision: string;
  currentRevision: string;
  collisionCount: number;
  failures: { scale?: string | undefined; update?: string | undefined };
  now: number;
}

export function statusOf(input: StatusInput): StatefulSetStatus {
  const { seen, strategy, updateRevision } = input;
  const counts = countPods(input);
  const { updatedReadyReplicas, updatedAvailableReplicas, ...always } = counts;
  const complete =
    !strategy.onDelete &&
    counts.updatedReplicas === counts.replicas &&
    counts.readyReplicas === counts.replicas;
  const conditions = conditionsOf(seen.set, input);
  const volumeClaims = claimsOf(input);
  return {
    observedGeneration: seen.set.metadata.generation ?? 0,
    ...always,
    ...(complete ? { currentReplicas: counts.updatedReplicas } : {}),
    ...(updatedReadyReplicas > 0 ? { updatedReadyReplicas } : {}),
    ...(updatedAvailableReplicas > 0 ? { updatedAvailableReplicas } : {}),
    currentRevision: complete ? updateRevision : input.currentRevision,
    updateRevision,
    collisionCount: input.collisionCount,
    labelSelector: formatSelector(seen.set.spec.selector),
    ...(conditions.length > 0 ? { conditions } : {}),
    ...(volumeClaims.length > 0 ? { volumeClaims } : {}),
  };
}

function countPods({ seen, strategy, updateRevision, currentRevision, now }: StatusInput) {
  const counts = {
    replicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    currentReplicas: 0,
    updatedReplicas: 0,
    updatedReadyReplicas: 0,
    updatedAvailableReplicas: 0,
  };
  for (const pod of seen.stored) {
    if (pod.phase === "") continue;
    const revision = pod.labels[REVISION_LABEL];
    const updated = Number(revision === updateRevision);
    const ready = Number(isReady(pod));
    const available = Number(isAvailable(pod, strategy.minReadySeconds, now));
    counts.replicas++;
    counts.readyReplicas += ready;
    counts.availableReplicas += available;
    counts.updatedReadyReplicas += updated * ready;
    counts.updatedAvailableReplicas += updated * available;
    if (pod.deletionAt !== undefined) continue;
    counts.currentReplicas += Number(revision === currentRevision);
    counts.updatedReplicas += updated;
  }
  return counts;
}

type ClaimStatus = NonNullable<StatefulSetStatus["volumeClaims"]>[number];

/** Claims of existing pods; those that are going are left out. */
function claimsOf({ seen, strategy }: StatusInput): ClaimStatus[] {
  const setName = seen.set.metadata.name ?? "";
  return strategy.claimTemplates.map((template) => {
    const status: ClaimStatus = {
      volumeClaimName: template.metadata.name ?? "",
      compatibleReplicas: 0,
      compatibleReadyReplicas: 0,
    };
    for (const pod of seen.stored) {
      const claim = claimFor(seen, pod, (ordinal) => claimName(template, setName, ordinal));
      if (claim === undefined || claim.deletionAt !== undefined) continue;
      if (!hasSameKind(template, claim) || !isLargeEnough(claim.requests["storage"], template)) continue;
      status.compatibleReplicas++;
      const held = claim.capacity["storage"];
      const wanted = claim.requests["storage"];
      if (held !== undefined && (wanted === undefined || quantityCompare(held, wanted) >= 0))
        status.compatibleReadyReplicas++;
    }
    return status;
  });
}

function claimFor(seen: Seen, pod: Pod, nameOf: (ordinal: number) => string) {
  const ordinal = ordinalOf(seen.set.metadata.name ?? "", pod.name);
  return ordinal === undefined ? undefined : seen.claimNamed(nameOf(ordinal));
}

type Condition = NonNullable<StatefulSetStatus["conditions"]>[number];

function conditionsOf(set: StatefulSet, { failures, now }: StatusInput): Condition[] {
  const before = set.status?.conditions ?? [];
  const told: [string, string | undefined][] = [
    ["FailedCreatePod", failures.scale],
    ["FailedUpdatePod", failures.update],
  ];
  return told.flatMap(([type, message]) => {
    if (message === undefined) return [];
    const old = before.find((condition) => condition.type === type && condition.status === "True");
    return [{ type, status: "True", lastTransitionTime: old?.lastTransitionTime ?? timestamp(now), message }];
  });
}
