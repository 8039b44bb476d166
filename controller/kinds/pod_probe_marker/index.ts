/** PodProbeMarker and NodePodProbe: probes of the user's own, and what their results mark on pods. */
import type { NodePodProbe, PodProbeMarker } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import { policyRule } from "../../plan/access.ts";
import { nodePodProbeResource, podProbeMarkerResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { podProbeMarkerWebhooks } from "./admit.ts";
import { NodePodProbeReconciler } from "./node_reconcile.ts";
import { podProbeMarkerPodAdmission } from "./pod_admission.ts";
import { PodProbeMarkerReconciler } from "./reconcile.ts";

export const podProbeMarkerKind: Kind<PodProbeMarker> = {
  controllerName: "PodProbeMarker-controller",
  workersFlag: "podprobemarker-workers",
  resource: podProbeMarkerResource,
  enabled: (gates) => gates.PodProbeMarkerGate,
  reconciler: (deps) => new PodProbeMarkerReconciler(deps),
  changeMatters: () => false,
  webhooks: podProbeMarkerWebhooks,
  podAdmission: podProbeMarkerPodAdmission,
  access: [],
};

export const nodePodProbeKind: Kind<NodePodProbe> = {
  controllerName: "NodePodProbe-controller",
  workersFlag: "nodepodprobe-workers",
  resource: nodePodProbeResource,
  enabled: (gates) => gates.KruiseDaemon,
  reconciler: (deps) => new NodePodProbeReconciler(deps),
  // Results of the node's agent.
  changeMatters: (before, after) => !jsonEqual(before.status, after.status),
  // Written by this program and its agents alone.
  webhooks: [],
  perNode: true,
  access: [policyRule("apps.kruise.io", ["nodepodprobes"], ["create", "delete"])],
  agentVerbs: ["list", "watch"],
};
