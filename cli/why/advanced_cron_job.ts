/** Plans of AdvancedCronJobs, by the controller's own function. */
import {
  broadcastJobResource,
  type CronJobChild,
  childOfBroadcastJob,
  childOfImageListPullJob,
  childOfJob,
  controllingCronJob,
  imageListPullJobResource,
  planAdvancedCronJob,
} from "../../controller/index.ts";
import { type AdvancedCronJob, advancedCronJob, defaultAdvancedCronJob } from "../../crds/index.ts";
import type { ObjectMeta, OwnerReference } from "../../kube/core/index.ts";
import { jobResource, listAll, type Resource } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { inNamespace } from "../resource_types.ts";
import type { Planner, Subject } from "./forecast.ts";
import { subjectOf } from "./subject.ts";

export const advancedCronJobPlanner: Planner = {
  kind: "AdvancedCronJob",
  async forecast({ access, subject, host }) {
    const job = cronJobOf(subject);
    const { uid = "", namespace = access.namespace } = job.metadata;
    const children = await childrenOf(access, uid, namespace);
    const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const plan = planAdvancedCronJob({ job, children, localZone, now: host.clock.now() });
    const { status, waiting, requeueAfterMs, deletions, creation } = plan;
    const active = status.active?.length ?? 0;
    const created = creation === undefined ? [] : [`create ${creation.kind} ${creation.name}`];
    return {
      summary: `${children.length} children, ${active} active, last run ${status.lastScheduleTime ?? "never"}`,
      actions: [],
      steps: [...deletions.map((child) => `delete ${child.kind} ${child.name}`), ...created],
      waiting: waiting.map((entry) =>
        entry.reason === tooManyMissedTimes ? { ...entry, next: revivingCommand(job.metadata) } : entry,
      ),
      requeueAfterMs,
    };
  },
};

/** Why nothing is run of a cron job that was given up. */
export const tooManyMissedTimes = "TooManyMissedTimes";

/** No schedule has more than a hundred times in a minute; the former manager goes on with it, too. */
export function revivingCommand({ namespace, name = "" }: Pick<ObjectMeta, "namespace" | "name">): string {
  const patch = JSON.stringify({ spec: { startingDeadlineSeconds: 60 } });
  return `kubectl patch advancedcronjob.apps.kruise.io/${name}${inNamespace(namespace)} --type merge -p '${patch}'`;
}

/** Children of every kind that the server has. */
async function childrenOf(access: ClusterAccess, uid: string, namespace: string): Promise<CronJobChild[]> {
  const own = async <T>(
    resource: Resource<T>,
    ownersOf: (object: T) => readonly OwnerReference[] | undefined,
    project: (object: T) => CronJobChild,
  ): Promise<CronJobChild[]> => {
    if ((await access.types.findKind(resource.group, resource.kind)) === undefined) return [];
    const objects = await listAll(access.client, resource, { namespace });
    return objects
      .filter((object) => uid !== "" && controllingCronJob(ownersOf(object))?.uid === uid)
      .map(project);
  };
  const lists = await Promise.all([
    own(jobResource, (job) => job.owners, childOfJob),
    own(broadcastJobResource, (job) => job.metadata.ownerReferences, childOfBroadcastJob),
    own(imageListPullJobResource, (job) => job.metadata.ownerReferences, childOfImageListPullJob),
  ]);
  return lists.flat();
}

/** Templates do not matter for the plan. */
function cronJobOf(subject: Subject): AdvancedCronJob {
  return subjectOf(
    {
      kind: "AdvancedCronJob",
      needs: { path: ["spec", "template"], name: "template" },
      read: (object) => {
        const options = { templateDefaults: false, hostNetworkPorts: false };
        return advancedCronJob.readStored(defaultAdvancedCronJob(object, options));
      },
    },
    subject,
  );
}
