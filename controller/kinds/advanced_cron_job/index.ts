/** AdvancedCronJob: starts jobs of several kinds by the clock. */
import type { AdvancedCronJob } from "../../../crds/index.ts";
import { policyRule, readVerbs } from "../../plan/access.ts";
import { advancedCronJobResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { advancedCronJobWebhooks } from "./admit.ts";
import { AdvancedCronJobReconciler } from "./reconcile.ts";

export { CronJobChildren, observeAdvancedCronJob } from "./observe.ts";
export { type CronJobPlan, planAdvancedCronJob } from "./plan.ts";

export const advancedCronJobKind: Kind<AdvancedCronJob> = {
  sharded: true,
  controllerName: "advancedcronjob-controller",
  workersFlag: "advancedcronjob-workers",
  resource: advancedCronJobResource,
  reconciler: (deps) => new AdvancedCronJobReconciler(deps),
  changeMatters: (before, after) => before.status?.lastScheduleTime !== after.status?.lastScheduleTime,
  webhooks: advancedCronJobWebhooks,
  // Makes jobs and keeps a history of them.
  access: [
    policyRule("apps.kruise.io", ["broadcastjobs", "imagelistpulljobs"], ["create", "delete"]),
    policyRule("batch", ["jobs"], [...readVerbs, "create", "delete"]),
  ],
};
