/** The webhooks about pods: what is done to a new one, and the guard of budgets. Spec: pod-webhook 1; protection A4. */
import {
  isStatefulSet,
  matchedWorkloadSpreadAnnotation,
  oldRelatedBudgetAnnotation,
  relatedBudgetAnnotation,
} from "../../crds/index.ts";
import type { LabelSelector } from "../../kube/core/index.ts";
import type { EventRecorder } from "../../kube/index.ts";
import { stateOf, targetIndex } from "../kinds/persistent_pod_state/targets.ts";
import { injectionSource } from "../kinds/sidecar_set/injection/source.ts";
import { guardSpreadPods } from "../kinds/workload_spread/guard.ts";
import { persistentPodStateResource, podProbeMarkerResource, sidecarSetResource } from "../plan/resources.ts";
import type { MatchCondition, Webhook, WebhookDeps } from "../runtime/admission/webhook.ts";
import { eventTarget } from "../runtime/executor/event_target.ts";
import { namespaceIndex } from "../runtime/informers.ts";
import { mutatePod } from "./chain.ts";
import type { PlacementOptions } from "./persistent_placement.ts";
import type { ServerlessOptions } from "./serverless_probes.ts";
import type { SidecarSetOptions } from "./sidecar_sets.ts";

const annotated = (annotation: string) => `"${annotation}" in oldObject.metadata.annotations`;
const spread = `request.operation == "DELETE" && ${annotated(matchedWorkloadSpreadAnnotation)}`;

/**
 * The guard lets every pod go that had none of the annotations before the request, whatever the request makes of it, so
 * nothing is lost by not asking. A pod that a budget selects gets them at its creation or from the budget's controller, one
 * that a WorkloadSpread counts in the same ways. Evictions show no pod and are always asked about. Spec: protection A4, rules
 * 12e, 23, 24; workloadspread 4.2.
 */
const tied: MatchCondition = {
  name: "tied-to-a-budget-or-a-spread",
  expression: `oldObject != null && has(oldObject.metadata.annotations) && (${[
    annotated(relatedBudgetAnnotation),
    annotated(oldRelatedBudgetAnnotation),
    `(${spread})`,
  ].join(" || ")})`,
};

/** Everything but kube-system, the namespace of this program, and namespaces labelled as a control plane's. Spec: pod-webhook 1. */
function ordinaryNamespaces(namespace: string): LabelSelector {
  return {
    matchExpressions: [
      { key: "control-plane", operator: "DoesNotExist" },
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", namespace] },
    ],
  };
}

/** The guard of `/validate-pod`: for evictions and for everything else. */
const guard = {
  phase: "validating",
  path: "/validate-pod",
  earlierPaths: [],
  failurePolicy: "Fail",
  namespaceSelector: ordinaryNamespaces,
  handler: ({ budgets, spreads, client }: WebhookDeps) =>
    spreads === undefined ? budgets.guard : guardSpreadPods(spreads, client, budgets.guard),
} as const;

export const podWebhooks: readonly Webhook[] = [
  {
    name: "mpod.kb.io",
    phase: "mutating",
    path: "/mutate-pod",
    earlierPaths: [],
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
    failurePolicy: "Fail",
    namespaceSelector: ordinaryNamespaces,
    handler: mutationOf,
  },
  {
    ...guard,
    name: "vpod.kb.io",
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE", "DELETE"], resources: ["pods"] }],
    matchConditions: [tied],
  },
  {
    ...guard,
    name: "vpodeviction.kb.io",
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods/eviction"] }],
  },
];

function mutationOf(deps: WebhookDeps) {
  const { options, random, clock, informers, budgets, spreads } = deps;
  const { gates, keepManagedFields, systemNamespace } = options;
  if (!gates.PodWebhook) return undefined;
  return mutatePod({
    readinessGateOnEveryPod: gates.KruisePodReadinessGate,
    keepManagedFields,
    random,
    clock,
    stepTook: deps.podStepTook,
    sidecarSets: {
      ...injectionSource({ ...deps, systemNamespace }),
      sortByName: gates.EnableSortSidecarContainerByName,
      refused: reportingRefusals(deps.recorderOf("sidecarset-controller")),
    },
    enhancedLiveness: gates.EnhancedLivenessProbe,
    ...(gates.EnablePodProbeMarkerOnServerless ? { serverless: serverlessOf(informers) } : {}),
    placement: placementOf(informers),
    spreads,
    ...budgets.chain,
  });
}

/** Who owns the set need not be who creates pods: its events say what its pods are refused for. */
function reportingRefusals(recorder: EventRecorder): SidecarSetOptions["refused"] {
  return ({ metadata }, { namespace, reason }) => {
    const message = `a new pod in namespace ${namespace} was refused: ${reason}`;
    recorder.event(eventTarget(sidecarSetResource, metadata), "Warning", "FailedInjection", message);
  };
}

function serverlessOf(informers: WebhookDeps["informers"]): ServerlessOptions {
  const markers = informers.cacheOf(podProbeMarkerResource, namespaceIndex);
  return {
    markersIn: (namespace) => informers.caughtUp().then(() => markers.byIndex("namespace", namespace)),
  };
}

function placementOf(informers: WebhookDeps["informers"]): PlacementOptions {
  const states = informers.cacheOf(persistentPodStateResource, targetIndex);
  return {
    isRecorded: isStatefulSet,
    stateOf: (...target) => informers.caughtUp().then(() => stateOf(states, ...target)),
  };
}
