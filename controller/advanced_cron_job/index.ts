/** AdvancedCronJob: starts jobs of several kinds by the clock. */
export {
  type Child as CronJobChild,
  childOfBroadcastJob,
  childOfImageListPullJob,
  childOfJob,
  controllingCronJob,
} from "./observe.ts";
export { type CronJobPlan, planAdvancedCronJob } from "./plan.ts";
export { advancedCronJobShell } from "./reconcile.ts";
