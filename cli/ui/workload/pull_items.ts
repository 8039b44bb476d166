/** ImagePullJobs that a workload waits for, or that pull an image of it, and the nodes that do not have it yet. */
import { type AnyObject, countAt, textAt } from "../../fields.ts";
import { workloadNamed } from "../../rollout/workloads.ts";
import { timeAt } from "../../why/causes/pod_facts.ts";
import type { Reader } from "../../why/causes/reader.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import { nodeImageIn } from "../../why/pull_jobs.ts";
import { type PullTask, pullTasksOf } from "../../why/status/pull_tasks.ts";
import type { PullItem, PullNode } from "../shared/detail_items.ts";
import type { DetailRequest } from "./detail_request.ts";

const mostJobs = 10;
const mostNodes = 20;

/** What cannot be read is noted by the reader. */
export async function pullItems({
  reader,
  target,
  stored,
}: Pick<DetailRequest, "reader" | "target" | "stored">): Promise<ReadonlyMap<string, PullItem>> {
  const workload = workloadNamed(target.type);
  const { namespace, uid } = stored.metadata;
  if (workload === undefined || namespace === undefined) return new Map();
  const revised = await workload.revised();
  const images = new Set(revised.images(revised.now(stored)));
  const jobs = await reader.collect("apps.kruise.io", "ImagePullJob", { namespace }, (job) => {
    const isOwned = job.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
    return isOwned || images.has(textAt(job, "spec", "image") ?? "");
  });
  const newest = jobs.toSorted((a, b) => createdAt(b) - createdAt(a)).slice(0, mostJobs);
  // Nodes are read only while there is something to tell of them.
  const tasks = newest.some(isOpen) ? await tasksOf(reader, newest) : [];
  return new Map(newest.map((job) => [`pull/${job.metadata.name}`, pullItem(job, tasks)]));
}

const createdAt = (job: AnyObject): number => timeAt(job, "metadata", "creationTimestamp") ?? 0;

const isOpen = (job: AnyObject): boolean =>
  countAt(job, "status", "succeeded") < countAt(job, "status", "desired");

async function tasksOf(reader: Reader, jobs: readonly AnyObject[]): Promise<PullTask[]> {
  const uids = new Set(jobs.map(({ metadata }) => metadata.uid));
  const tasks: PullTask[] = [];
  for await (const page of reader.pages("apps.kruise.io", "NodeImage", {})) {
    const nodeImages = page.map(nodeImageIn).filter((each) => each !== undefined);
    tasks.push(
      ...nodeImages.flatMap(pullTasksOf).filter(({ owners }) => owners.some((owner) => uids.has(owner))),
    );
  }
  return tasks;
}

/** `tasks`: of all jobs. */
export function pullItem(job: AnyObject, tasks: readonly PullTask[]): PullItem {
  const { uid = "", name = "" } = job.metadata;
  const left = tasks.filter(({ owners, phase }) => owners.includes(uid) && phase !== "Succeeded");
  const since = timeAt(job, "status", "startTime") ?? timeAt(job, "metadata", "creationTimestamp");
  const endedAt = timeAt(job, "status", "completionTime");
  return {
    is: "pull",
    name: shownName(name),
    image: shownText(textAt(job, "spec", "image") ?? ""),
    desired: countAt(job, "status", "desired"),
    succeeded: countAt(job, "status", "succeeded"),
    failed: countAt(job, "status", "failed"),
    message: shownText(textAt(job, "status", "message") ?? ""),
    ...(since === undefined ? {} : { since }),
    ...(endedAt === undefined ? {} : { endedAt }),
    nodes: left.slice(0, mostNodes).map(pullNode),
    moreNodes: Math.max(0, left.length - mostNodes),
  };
}

function pullNode({ node, phase, message, progress, createdAt, startedAt }: PullTask): PullNode {
  const since = startedAt ?? createdAt;
  return {
    node: shownName(node),
    phase: shownText(phase),
    message: shownText(message),
    progress,
    ...(since === undefined ? {} : { since }),
  };
}
