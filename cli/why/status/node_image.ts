/** NodeImage: which images a node does not have yet, and why. Spec: images N3. */
import { counted } from "../../../kube/core/index.ts";
import { type AnyObject, textAt } from "../../fields.ts";
import { type Cause, holding } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { readAgents } from "../causes/gather.ts";
import { agentsCommand } from "../causes/nodes.ts";
import { timeAt } from "../causes/pod_facts.ts";
import { shownText } from "../causes/shown_text.ts";
import { nodeImageIn } from "../pull_jobs.ts";
import { type Agents, type PullTask, pullCauses, pullTasksOf } from "./pull_tasks.ts";
import { type Findings, statusSource } from "./status_source.ts";

export const nodeImageStatus = statusSource<Agents>({
  group: "apps.kruise.io",
  kind: "NodeImage",
  isLasting: false,
  events: ["PullImageFailed"],
  read: (reader) => readAgents(reader),
  explain: explainNodeImage,
});

export function explainNodeImage(object: AnyObject, agents: Agents, { now }: Facts): Findings {
  const nodeImage = nodeImageIn(object);
  const tasks = nodeImage === undefined ? [] : pullTasksOf(nodeImage);
  const inPhase = (phase: string): number => tasks.filter((task) => task.phase === phase).length;
  return {
    summary: `${inPhase("Succeeded")} of ${counted(tasks.length, "image")} pulled, ${inPhase("Pulling")} being pulled, ${inPhase("Failed")} failed`,
    causes: holding([firstSyncFailed(object), ...nodePullCauses(tasks, agents, now)]),
  };
}

/** What holds up the pulls of one node. */
export function nodePullCauses(tasks: readonly PullTask[], agents: Agents, now: number): Cause[] {
  const retry = "the cause is removed, and the pull is asked for again by a new job or a higher version";
  return pullCauses(tasks, { agents, now, noun: "image", retry });
}

/** The agent could not list what the runtime has. */
export function firstSyncFailed(object: AnyObject): Cause | undefined {
  const state = textAt(object, "status", "firstSyncStatus", "status") ?? "";
  if (state.toLowerCase() !== "failed") return undefined;
  return {
    reason: "FirstSyncFailed",
    message: `the agent could not list the images of the node: ${shownText(textAt(object, "status", "firstSyncStatus", "message") ?? "")}`,
    until: "the container runtime answers the agent",
    since: timeAt(object, "status", "firstSyncStatus", "syncAt"),
    next: agentsCommand(textAt(object, "metadata", "name") ?? ""),
    outlook: "stuck",
  };
}
