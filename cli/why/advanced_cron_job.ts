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
import { type AdvancedCronJob, decodeAdvancedCronJob, defaultAdvancedCronJob } from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject, type OwnerReference } from "../../kube/core/index.ts";
import { jobResource, type Resource } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { Planner, Subject } from "./forecast.ts";
import { everyItem } from "./possessions.ts";

export const advancedCronJobPlanner: Planner = {
  kind: "AdvancedCronJob",
  async forecast({ access, subject, host }) {
    const job = cronJobOf(subject);
    const { uid = "", namespace = access.namespace } = job.metadata;
    const children = await childrenOf(access, uid, namespace);
    const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const plan = planAdvancedCronJob({ job, children, localZone, now: host.clock.now() });
    const { status, waiting, wakeAfterMs, deletions, creation } = plan;
    const active = status.active?.length ?? 0;
    const created = creation === undefined ? [] : [`create ${creation.kind} ${creation.name}`];
    return {
      summary: `${children.length} children, ${active} active, last run ${status.lastScheduleTime ?? "never"}`,
      actions: [],
      steps: [...deletions.map((child) => `delete ${child.kind} ${child.name}`), ...created],
      waiting,
      wakeAfterMs,
    };
  },
};

/** Children of every kind that the server has. */
async function childrenOf(access: ClusterAccess, uid: string, namespace: string): Promise<CronJobChild[]> {
  const own = async <T>(
    resource: Resource<T>,
    ownersOf: (object: T) => readonly OwnerReference[] | undefined,
    project: (object: T) => CronJobChild,
  ): Promise<CronJobChild[]> => {
    if ((await access.types.findKind(resource.group, resource.kind)) === undefined) return [];
    const objects = await everyItem(access.client, resource, namespace);
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

function cronJobOf({ stored, manifest }: Subject): AdvancedCronJob {
  const live = stored === undefined ? undefined : typed(stored);
  const wanted = manifest === undefined ? undefined : typed(manifest);
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError("no AdvancedCronJob to plan");
  return wanted;
}

/** Templates do not matter for the plan. Throws CliError with the field errors. */
function typed(object: AnyObject): AdvancedCronJob {
  if (!isJsonObject(object) || !isJsonObject(at(object, "spec", "template"))) {
    throw new CliError("an AdvancedCronJob needs a template");
  }
  const options = { templateDefaults: false, hostNetworkPorts: false };
  const decoded = decodeAdvancedCronJob(defaultAdvancedCronJob(object, options));
  if ("errors" in decoded) {
    throw new CliError(`the AdvancedCronJob is invalid: ${formatFieldErrors(decoded.errors)}`);
  }
  const { spec } = decoded.object;
  if (spec === undefined) throw new CliError("an AdvancedCronJob needs a spec");
  return { ...decoded.object, spec };
}
