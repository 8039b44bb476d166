/** Ends the sidecars of jobs' pods once the job's own containers are over. */
import { policyRule } from "../../plan/access.ts";
import type { PlainController } from "../../runtime/kind.ts";
import { SidecarTerminatorReconciler } from "./reconcile.ts";

export const sidecarTerminatorController: PlainController = {
  controllerName: "sidecarterminator-controller",
  workersFlag: "sidecarterminator-workers",
  enabled: (gates) => gates.SidecarTerminator,
  access: [policyRule("apps.kruise.io", ["containerrecreaterequests"], ["create"])],
  reconciler: (deps) => new SidecarTerminatorReconciler(deps),
};
