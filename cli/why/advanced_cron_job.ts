/** Plans of AdvancedCronJobs, by the controller's own function. */
import {
  CronJobChildren,
  listedReads,
  observeAdvancedCronJob,
  planAdvancedCronJob,
} from "../../controller/index.ts";
import { advancedCronJob, defaultAdvancedCronJob } from "../../crds/index.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import { inNamespace } from "../resource_types.ts";
import { planner } from "./subject.ts";

export const advancedCronJobPlanner = planner({
  kind: "AdvancedCronJob",
  needs: { path: ["spec", "template"], name: "template" },
  read: (object) => {
    // Templates do not matter for the plan.
    const options = { templateDefaults: false, hostNetworkPorts: false };
    return advancedCronJob.readStored(defaultAdvancedCronJob(object, options));
  },
  async forecast(job, { access, host }) {
    const reads = listedReads(access.client, job.metadata.namespace ?? "");
    const held = new CronJobChildren(reads);
    await reads.read();
    const seen = observeAdvancedCronJob(job, held, host.clock.now());
    const { children } = seen;
    const plan = planAdvancedCronJob(seen);
    const { status, waiting, requeueAfterMs, deletions, creation } = plan;
    const active = status.active?.length ?? 0;
    const created = creation === undefined ? [] : [`create ${creation.kind} ${creation.name}`];
    const steps = [...deletions.map((child) => `delete ${child.kind} ${child.name}`), ...created];
    const isForItsTime = waiting.every(({ reason }) => reason === "Schedule");
    return {
      summary: `${children.length} children, ${active} active, last run ${status.lastScheduleTime ?? "never"}`,
      actions: [],
      steps,
      waiting: waiting.map((entry) =>
        entry.reason === tooManyMissedTimes ? { ...entry, next: revivingCommand(job.metadata) } : entry,
      ),
      isAtRest: steps.length === 0 && active === 0 && isForItsTime,
      requeueAfterMs,
    };
  },
});

/** Why nothing is run of a cron job that was given up. */
export const tooManyMissedTimes = "TooManyMissedTimes";

/** No schedule has more than a hundred times in a minute; the former manager goes on with it, too. */
export function revivingCommand({ namespace, name = "" }: Pick<ObjectMeta, "namespace" | "name">): string {
  const patch = JSON.stringify({ spec: { startingDeadlineSeconds: 60 } });
  return `kubectl patch advancedcronjob.apps.kruise.io/${name}${inNamespace(namespace)} --type merge -p '${patch}'`;
}
