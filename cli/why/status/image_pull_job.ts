/** ImagePullJob: which nodes do not have the image yet, and why. Spec: images P3, P4. */
import { counted } from "../../../kube/core/index.ts";
import { type AnyObject, countAt, intOrStringAt, listAt, textAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import { type Cause, holding } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { readAgents } from "../causes/gather.ts";
import { timeAt } from "../causes/pod_facts.ts";
import type { Reader } from "../causes/reader.ts";
import { shownText } from "../causes/shown_text.ts";
import { patchCommand } from "../patch_command.ts";
import { nodeImageIn } from "../pull_jobs.ts";
import { type Agents, type PullTask, pullCauses, pullTasksOf } from "./pull_tasks.ts";
import { type Findings, named, statusSource } from "./status_source.ts";

interface Related {
  /** Undefined where they cannot be read. */
  readonly tasks: readonly PullTask[];
  readonly agents: Agents;
}

async function readTasks(reader: Reader, uid: string): Promise<PullTask[]> {
  const tasks: PullTask[] = [];
  for await (const page of reader.pages("apps.kruise.io", "NodeImage", {})) {
    const nodeImages = page.map(nodeImageIn).filter((each) => each !== undefined);
    tasks.push(...nodeImages.flatMap(pullTasksOf).filter(({ owners }) => owners.includes(uid)));
  }
  return tasks;
}

export const imagePullJobStatus = statusSource<Related>({
  group: "apps.kruise.io",
  kind: "ImagePullJob",
  isLasting: false,
  events: ["PullImageFailed"],
  async read(reader, { metadata }) {
    const [tasks, agents] = await Promise.all([readTasks(reader, metadata.uid ?? ""), readAgents(reader)]);
    return { tasks, agents };
  },
  explain: explainImagePullJob,
});

export function explainImagePullJob(job: AnyObject, { tasks, agents }: Related, facts: Facts): Findings {
  const { now } = facts;
  const desired = countAt(job, "status", "desired");
  const active = countAt(job, "status", "active");
  const failed = countAt(job, "status", "failed");
  const message = shownText(textAt(job, "status", "message") ?? "");
  const summary =
    `${countAt(job, "status", "succeeded")} of ${counted(desired, "node")} ${desired === 1 ? "has" : "have"} the image, ` +
    `${active} active, ${failed} failed${message === "" ? "" : `; ${message}`}`;
  const isOver = timeAt(job, "status", "completionTime") !== undefined;
  const retry = "the cause is removed, and the job is deleted and created again";
  const open = isOver ? tasks.filter(({ phase }) => phase === "Failed") : tasks;
  const causes = holding([
    ...pullCauses(open, { agents, now, noun: "node", retry }),
    failedBefore(job, tasks, facts, retry),
    ...(isOver ? [] : [noNodes(job, facts), behindOthers(job, facts)]),
  ]);
  return { summary, causes, ...(isOver ? { isDone: true } : {}) };
}

/** Nodes that the job counts as failed, and whose NodeImages say nothing of it (any more). */
function failedBefore(
  job: AnyObject,
  tasks: readonly PullTask[],
  { subject }: Facts,
  until: string,
): Cause | undefined {
  const said = new Set(tasks.filter(({ phase }) => phase === "Failed").map(({ node }) => node));
  const nodes = listAt(job, "status", "failedNodes").filter(
    (node): node is string => typeof node === "string" && !said.has(node),
  );
  if (nodes.length === 0) return undefined;
  const message = shownText(textAt(job, "status", "message") ?? "");
  const isLate = message.includes("activeDeadlineSeconds");
  return {
    reason: isLate ? "DeadlineExceeded" : "PullFailed",
    message: `${counted(nodes.length, "node")}: ${isLate ? message : "the pull failed"}${named(nodes)}`,
    until,
    since: timeAt(job, "status", "completionTime"),
    next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}

function noNodes(job: AnyObject, { subject }: Facts): Cause | undefined {
  if (countAt(job, "status", "desired") > 0 || timeAt(job, "status", "startTime") === undefined)
    return undefined;
  return {
    reason: "NoNodes",
    message: "no node that has a NodeImage matches spec.selector or spec.podSelector",
    until: "a node matches, or the selector is corrected",
    since: subject.createdAt,
    next: "kubectl get nodeimages --show-labels",
    outlook: "stuck",
  };
}

function behindOthers(job: AnyObject, { subject }: Facts): Cause | undefined {
  const count = (name: string): number => countAt(job, "status", name);
  const left = count("desired") - count("succeeded") - count("failed") - count("active");
  if (left <= 0) return undefined;
  const parallelism = intOrStringAt(job, "spec", "parallelism") ?? 1;
  return {
    reason: "Parallelism",
    message: `${counted(left, "node")}: not asked yet, parallelism is ${shownText(String(parallelism))}`,
    until: "nodes before them are done, or spec.parallelism is raised",
    next:
      typeof parallelism === "number" && parallelism > 0
        ? patchCommand(subject, { spec: { parallelism: 2 * parallelism } })
        : patchCommand(subject, { spec: { parallelism: "100%" } }),
    outlook: "held",
  };
}
