/** NodeImage: the list of images of one node, and what becomes of its entries. */
import type { NodeImage } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import { policyRule } from "../../plan/access.ts";
import { nodeImageResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { nodeImageWebhooks } from "./admit.ts";
import { NodeImageReconciler } from "./reconcile.ts";

export const nodeImageKind: Kind<NodeImage> = {
  controllerName: "nodeimage-controller",
  workersFlag: "nodeimage-workers",
  resource: nodeImageResource,
  enabled: (gates) => gates.KruiseDaemon,
  reconciler: (deps) => new NodeImageReconciler(deps),
  changeMatters: (before, after) => !jsonEqual(before.status, after.status),
  webhooks: nodeImageWebhooks,
  perNode: true,
  access: [policyRule("apps.kruise.io", ["nodeimages"], ["create", "delete"])],
  agentVerbs: ["list", "watch"],
};
