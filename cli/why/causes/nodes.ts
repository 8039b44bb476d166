/** Pods whose node, or whose node's agent, does not answer. */
import type { Facts, RecreateFacts } from "./facts.ts";
import { identityOf, type PodFacts } from "./pod_facts.ts";
import { minute, type PodReason, second } from "./pod_reason.ts";
import { shownText } from "./shown_text.ts";

export const nodeNotReady: PodReason = (pod, facts) => {
  const node = pod.node === "" ? undefined : facts.node(pod.node);
  if (node === undefined || (node.exists && node.ready?.status === "True")) return undefined;
  const { ready } = node;
  const detail = [ready?.reason ?? "", ready?.message ?? ""].filter((text) => text !== "").join(": ");
  return {
    reason: "NodeNotReady",
    what: node.exists
      ? `node ${pod.node} is not ready${detail === "" ? "" : ` (${shownText(detail)})`}`
      : `node ${pod.node} is gone`,
    since: ready?.since ?? pod.conditions.get("Ready")?.since,
    stuckAfterMs: 5 * minute,
    until: "the node is ready again, or its pods are deleted",
    next: node.exists ? `kubectl describe node ${pod.node}` : "kubectl get nodes",
  };
};

export function requestOf(pod: PodFacts, facts: Facts): RecreateFacts | undefined {
  return facts.requests.find((request) => request.pod === identityOf(pod));
}

/** Whether something about the pod is for the agent of its node to do. */
export function needsAgent(pod: PodFacts, requests: readonly RecreateFacts[]): boolean {
  return requests.some((request) => request.pod === identityOf(pod)) || isRenewing(pod);
}

/** An update in place has changed what the environment of a container comes from. */
function isRenewing(pod: PodFacts): boolean {
  return pod.readsMetadata && pod.conditions.get("InPlaceUpdateReady")?.status === "False";
}

/** Undefined: the agent is ready, or agents are started by other means than the DaemonSet. */
export function agentProblem(node: string, agents: Facts["agents"]): string | undefined {
  if (agents === undefined || agents.size === 0 || agents.get(node) === true) return undefined;
  return agents.has(node) ? `the agent on node ${node} is not ready` : `node ${node} has no agent`;
}

export function agentsCommand(node: string): string {
  return `kubectl get pods -n kruise-system -l control-plane=daemon --field-selector spec.nodeName=${node}`;
}

/** An agent takes up what it is asked for within seconds. */
export const silentAfterMs = 20 * second;

/** The controller gives requests up after a minute (containers 1.4, rule 11). */
export const agentAbsent: PodReason = (pod, facts) => {
  if (!needsAgent(pod, facts.requests)) return undefined;
  const { agents, now } = facts;
  const request = requestOf(pod, facts);
  const isSilent = request?.phase === "" && now - (request.createdAt ?? now) > silentAfterMs;
  const problem = agentProblem(pod.node, agents);
  if (problem === undefined && !isSilent) return undefined;
  const agent = problem ?? `nothing answers on node ${pod.node}`;
  const task =
    request === undefined
      ? "a new environment of its containers"
      : `ContainerRecreateRequest ${request.name}`;
  return {
    reason: "AgentAbsent",
    what: `${agent}, which ${task} waits for`,
    key: agent,
    since: request?.createdAt ?? pod.conditions.get("InPlaceUpdateReady")?.since,
    stuckAfterMs: 30 * second,
    until: "the node agent (DaemonSet kruise-daemon) runs there",
    next: agentsCommand(pod.node),
  };
};

export const recreateRequested: PodReason = (pod, facts) => {
  const request = requestOf(pod, facts);
  // The request itself says more about its containers.
  if (request === undefined || facts.subject.uid === request.uid) return undefined;
  const { name, containers, phase, message } = request;
  const words = message === "" ? "" : ` (${shownText(message)})`;
  return {
    reason: "RecreateRequest",
    what: `ContainerRecreateRequest ${name} restarts ${containers.join(", ")}: ${phase || "not taken up yet"}${words}`,
    key: phase,
    since: request.createdAt,
    stuckAfterMs: 10 * minute,
    until: "the request completes, or is deleted",
    next: `kubectl get crr ${name} -n ${pod.namespace} -o yaml`,
  };
};
