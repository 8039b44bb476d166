/** The webhooks about pods: what is done to a new one, and the guards of those that are there. Spec: pod-webhook 1; protection A4. */
import type { LabelSelector } from "../../kube/core/index.ts";
import { type PodGuard, podGuardPlaces } from "../runtime/admission/pod_admission.ts";
import type { MatchCondition, Webhook, WebhookDeps } from "../runtime/admission/webhook.ts";

/**
 * Guards let every pod go that none of their ties held before the request, whatever the request makes of it, so nothing is
 * lost by not asking. Evictions show no pod and are always asked about. Spec: protection A4, rules 12e, 23, 24;
 * workloadspread 4.2.
 */
function tied(guards: readonly PodGuard[]): MatchCondition {
  // In the reverse order of asking: so it is written in what is installed.
  const ties = podGuardPlaces
    .flatMap((place) => guards.filter((guard) => guard.place === place))
    .toReversed()
    .flatMap((guard) => guard.ties);
  return {
    name: "tied-to-a-budget-or-a-spread",
    expression: `oldObject != null && has(oldObject.metadata.annotations) && (${ties.join(" || ")})`,
  };
}

/** Everything but kube-system, the namespace of this program, and namespaces labelled as a control plane's. Spec: pod-webhook 1. */
function ordinaryNamespaces(namespace: string): LabelSelector {
  return {
    matchExpressions: [
      { key: "control-plane", operator: "DoesNotExist" },
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", namespace] },
    ],
  };
}

/** `/validate-pod`: for evictions and for everything else. */
const guard = {
  phase: "validating",
  path: "/validate-pod",
  earlierPaths: [],
  failurePolicy: "Fail",
  namespaceSelector: ordinaryNamespaces,
  handler: ({ pods }: WebhookDeps) => pods.guard,
} as const;

export function podWebhooks(guards: readonly PodGuard[]): readonly Webhook[] {
  return [
    {
      name: "mpod.kb.io",
      phase: "mutating",
      path: "/mutate-pod",
      earlierPaths: [],
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      failurePolicy: "Fail",
      namespaceSelector: ordinaryNamespaces,
      handler: ({ pods }) => pods.mutate,
    },
    {
      ...guard,
      name: "vpod.kb.io",
      rules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE", "DELETE"], resources: ["pods"] },
      ],
      matchConditions: [tied(guards)],
    },
    {
      ...guard,
      name: "vpodeviction.kb.io",
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods/eviction"] }],
    },
  ];
}
