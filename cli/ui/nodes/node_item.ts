/** A node as the page shows it: what its agent works on, and what of that needs somebody. Pure. */
import type { Cause } from "../../why/causes/cause.ts";
import { holding, ranked } from "../../why/causes/cause.ts";
import { agentProblem, agentsCommand, silentAfterMs } from "../../why/causes/nodes.ts";
import { minute } from "../../why/causes/pod_reason.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import { nodePullCauses } from "../../why/status/node_image.ts";
import type { Agents, PullTask } from "../../why/status/pull_tasks.ts";
import type { Need } from "../shared/items.ts";
import type { NodeAgent, NodeItem, NodeWork } from "../shared/node_items.ts";
import type { AgentFacts, NodeFacts, NodePulls, NodeRequest, PodUpdate } from "./node_facts.ts";

const mostWork = 20;

/** All that is known of one node; undefined for what was not there, or could not be read. */
export interface SeenNode {
  readonly name: string;
  readonly node: NodeFacts | undefined;
  readonly pulls: NodePulls | undefined;
  readonly pods: number;
  readonly updates: readonly PodUpdate[];
  readonly requests: readonly NodeRequest[];
  readonly agent: AgentFacts | undefined;
  /** Of all nodes. */
  readonly agents: Agents;
}

/** `now`: milliseconds since the epoch; what nobody takes up becomes a reason after a while. */
export function nodeItem(seen: SeenNode, now: number): NodeItem {
  const { name, node, pods } = seen;
  const work = workOn(seen);
  const causes = ranked(causesOf(seen, now));
  const [first] = causes.filter(({ outlook }) => outlook !== "moving");
  return {
    is: "node",
    name: shownName(name),
    zone: node?.zone ?? "",
    ...(node?.isReady === undefined ? {} : { isReady: node.isReady }),
    isUnschedulable: node?.isUnschedulable === true,
    pods,
    agent: agentOf(seen),
    state: stateOf(causes, work),
    reason: first?.reason ?? "",
    message: first?.message ?? "",
    command: first?.next ?? "",
    ...(first?.since === undefined ? {} : { since: first.since }),
    work: work.slice(0, mostWork),
    moreWork: Math.max(0, work.length - mostWork),
  };
}

function stateOf(causes: readonly Cause[], work: readonly NodeWork[]): Need {
  if (causes.some(({ outlook }) => outlook === "stuck")) return "stuck";
  if (causes.some(({ outlook }) => outlook === "held")) return "waiting";
  return work.length > 0 ? "progressing" : "done";
}

function agentOf({ name, agent, agents, pulls }: SeenNode): NodeAgent {
  const heardAt = pulls?.heardAt;
  const isTold = agents !== undefined && agents.size > 0;
  const present = agents?.get(name) === true ? "ready" : agents?.has(name) === true ? "notReady" : "absent";
  return {
    state: isTold ? present : "untold",
    version: agent?.version ?? "",
    ...(heardAt === undefined ? {} : { heardAt }),
  };
}

function causesOf(seen: SeenNode, now: number): Cause[] {
  const { pulls, agents, requests, updates } = seen;
  const tasks = pulls?.tasks ?? [];
  return holding([
    notReady(seen),
    pulls?.syncFailure,
    ...nodePullCauses(tasks, agents, now),
    ...requests.map((request) => requestCause(request, agents, now)),
    ...updates.map((update) => updateCause(update, now)),
    agentMissing(seen),
    cordoned(seen),
  ]);
}

function notReady({ name, node }: SeenNode): Cause | undefined {
  if (node?.isReady !== false) return undefined;
  return {
    reason: "NodeNotReady",
    message: node.said || "its kubelet does not answer",
    until: "the node is ready again",
    since: node.readySince,
    next: `kubectl describe node ${shownName(name)}`,
    outlook: "stuck",
  };
}

function requestCause({ node, namespace, item, isFailed }: NodeRequest, agents: Agents, now: number) {
  const words = item.message === "" ? "" : `: ${item.message}`;
  const cause = {
    until: "the cause is removed, and a new request is created",
    since: item.since,
    next: `kubectl describe crr ${item.name} -n ${namespace}`,
    outlook: "stuck" as const,
  };
  if (isFailed)
    return {
      ...cause,
      reason: "RecreateFailed",
      message: `containers of ${item.pod} could not be recreated${words}`,
    };
  const problem = agentProblem(shownName(node), agents);
  const isSilent = now - item.since > silentAfterMs;
  if (item.phase !== "" || (problem === undefined && !isSilent)) return undefined;
  const message = `${problem ?? "the agent of the node does not answer"}, which ContainerRecreateRequest ${item.name} waits for`;
  return { ...cause, reason: "AgentAbsent", message, next: agentsCommand(shownName(node)) };
}

/** A first pull that fails, or a first crash, may pass. */
const failingAfterMs = minute;

function updateCause({ pod, problem, since = 0 }: PodUpdate, now: number): Cause | undefined {
  if (problem === "" || now - since <= failingAfterMs) return undefined;
  const [namespace = "", name = ""] = pod.split("/");
  return {
    reason: problem,
    message: `pod ${pod} is being updated in place, and its new container does not run`,
    until: "its image can be pulled and its program runs on",
    since,
    next: `kubectl describe pod ${name} -n ${namespace}`,
    outlook: "stuck",
  };
}

/** Without work that waits for it nothing is late yet. */
function agentMissing({ name, node, agents }: SeenNode): Cause | undefined {
  const problem = node?.isVirtual === true ? undefined : agentProblem(shownName(name), agents);
  if (problem === undefined) return undefined;
  return {
    reason: "AgentAbsent",
    message: problem,
    until: "the node agent (DaemonSet kruise-daemon) runs there",
    next: agentsCommand(shownName(name)),
    outlook: "held",
  };
}

function cordoned({ node, name }: SeenNode): Cause | undefined {
  if (node?.isUnschedulable !== true) return undefined;
  return {
    reason: "Cordoned",
    message: "no new pods are scheduled there",
    until: "it is uncordoned",
    next: `kubectl uncordon ${shownName(name)}`,
    outlook: "held",
  };
}

/** What failed first, then what nobody has taken up, then what goes on; of each the oldest first. */
function workOn({ pulls, requests, updates }: SeenNode): NodeWork[] {
  const work = [
    ...(pulls?.tasks ?? []).map(pullWork),
    ...requests.map(requestWork),
    ...updates.map(updateWork),
  ];
  const rank = ({ phase }: NodeWork): number => (phase === "Failed" ? 0 : phase === "" ? 1 : 2);
  return work.sort(
    (a, b) => rank(a) - rank(b) || (a.since ?? 0) - (b.since ?? 0) || (a.what < b.what ? -1 : 1),
  );
}

const worked = (kind: NodeWork["kind"], what: string, phase: string): NodeWork => ({
  kind,
  what,
  phase,
  detail: "",
  message: "",
});

const timed = (since: number | undefined) => (since === undefined ? {} : { since });

function pullWork({ image, phase, message, progress, createdAt, startedAt, endedAt }: PullTask): NodeWork {
  return {
    ...worked("pull", shownText(image), shownText(phase)),
    message: shownText(message),
    // Refit's agents know nothing between the beginning and the end.
    ...(phase === "Pulling" && progress > 0 ? { progress } : {}),
    ...timed(endedAt ?? startedAt ?? createdAt),
  };
}

function updateWork({ pod, phase, problem, since }: PodUpdate): NodeWork {
  return { ...worked("inPlace", pod, phase), message: problem, ...timed(since) };
}

function requestWork({ namespace, item, isFailed }: NodeRequest): NodeWork {
  const names = item.containers.map(({ name }) => name).join(", ");
  return {
    ...worked("recreate", `${namespace}/${item.pod}`, isFailed ? "Failed" : item.phase),
    detail: names === "" ? item.name : `${item.name}: ${names}`,
    message: item.message,
    since: item.since,
  };
}
