/** Status and conditions of a StatefulSet. Spec: statefulset 3, 4.13 rules 45, 46. */
import type { StatefulSet, StatefulSetStatus } from "../../../crds/index.ts";
import { selectorText } from "../../../kube/core/index.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import type { SetView } from "./slots.ts";
import type { StatefulSetState } from "./state.ts";
import type { StatefulSetStrategy } from "./strategy.ts";

type Failures = StatefulSetState["observed"]["failures"];

export function statusOf(state: StatefulSetState, failures: Failures): StatefulSetStatus {
  const { observed, pods, strategy, update, current, collisionCount, now } = state;
  const { set } = observed;
  const always = {
    replicas: pods.count("replicas"),
    readyReplicas: pods.count("readyReplicas"),
    availableReplicas: pods.count("availableReplicas"),
    currentReplicas: pods.count("currentReplicas"),
    updatedReplicas: pods.count("updatedReplicas"),
  };
  const updatedReadyReplicas = pods.count("updatedReadyReplicas");
  const updatedAvailableReplicas = pods.count("updatedAvailableReplicas");
  const complete =
    !strategy.onDelete &&
    always.updatedReplicas === always.replicas &&
    always.readyReplicas === always.replicas;
  const conditions = conditionsOf(set, failures, now);
  const volumeClaims = claimsOf(pods, strategy);
  return {
    observedGeneration: set.metadata.generation ?? 0,
    ...always,
    ...(complete ? { currentReplicas: always.updatedReplicas } : {}),
    ...(updatedReadyReplicas > 0 ? { updatedReadyReplicas } : {}),
    ...(updatedAvailableReplicas > 0 ? { updatedAvailableReplicas } : {}),
    currentRevision: complete ? update.name : current.name,
    updateRevision: update.name,
    collisionCount,
    labelSelector: selectorText(observed.selector),
    ...(conditions.length > 0 ? { conditions } : {}),
    ...(volumeClaims.length > 0 ? { volumeClaims } : {}),
  };
}

type ClaimStatus = NonNullable<StatefulSetStatus["volumeClaims"]>[number];

/** Claims of existing pods; those that are going are left out. */
function claimsOf(pods: SetView, { claimTemplates }: StatefulSetStrategy): ClaimStatus[] {
  return claimTemplates.map(({ metadata }, index) => ({
    volumeClaimName: metadata?.name ?? "",
    compatibleReplicas: pods.count(`claim ${index}`),
    compatibleReadyReplicas: pods.count(`held claim ${index}`),
  }));
}

type Condition = NonNullable<StatefulSetStatus["conditions"]>[number];

function conditionsOf(set: StatefulSet, failures: Failures, now: number): Condition[] {
  const before = set.status?.conditions ?? [];
  const reported: [string, string | undefined][] = [
    ["FailedCreatePod", failures.scale],
    ["FailedUpdatePod", failures.update],
  ];
  return reported.flatMap(([type, message]) => {
    if (message === undefined) return [];
    const old = before.find((condition) => condition.type === type && condition.status === "True");
    return [{ type, status: "True", lastTransitionTime: old?.lastTransitionTime ?? timestamp(now), message }];
  });
}
