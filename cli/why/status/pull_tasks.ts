/** Images that nodes are to pull: what is asked for in NodeImages, what the agents report, and what holds a pull up. Pure. */
import { currentPullStatus } from "../../../controller/index.ts";
import type { NodeImage } from "../../../crds/index.ts";
import { counted, timeOf } from "../../../kube/core/index.ts";
import type { Cause } from "../causes/cause.ts";
import { agentProblem, agentsCommand, silentAfterMs } from "../causes/nodes.ts";
import { minute } from "../causes/pod_reason.ts";
import { shownText } from "../causes/shown_text.ts";
import { earliestOf, groupedCauses, named } from "./status_source.ts";

export interface PullTask {
  readonly node: string;
  /** `nginx:1.25`. */
  readonly image: string;
  /** UIDs of the jobs that ask for it. */
  readonly owners: readonly string[];
  /** Empty until the node's agent takes it up; else Waiting, Pulling, Succeeded or Failed. */
  readonly phase: string;
  readonly message: string;
  /** Percentage. */
  readonly progress: number;
  /** When it was asked for; milliseconds since the epoch. */
  readonly createdAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

export function pullTasksOf(nodeImage: NodeImage): PullTask[] {
  const { metadata, spec } = nodeImage;
  return Object.entries(spec?.images ?? {}).flatMap(([name, { tags = [] }]) =>
    tags.map((tag): PullTask => {
      const status = currentPullStatus(nodeImage, name, tag);
      return {
        node: metadata.name ?? "",
        image: `${name}:${tag.tag}`,
        owners: (tag.ownerReferences ?? []).flatMap(({ uid }) => uid ?? []),
        phase: status?.phase ?? "",
        message: status?.message ?? "",
        progress: status?.progress ?? 0,
        createdAt: timeOf(tag.createdAt),
        startedAt: timeOf(status?.startTime),
        endedAt: timeOf(status?.completionTime),
      };
    }),
  );
}

/** By node, whether its agent is ready; undefined where that could not be read. */
export type Agents = ReadonlyMap<string, boolean> | undefined;

interface PullScope {
  readonly agents: Agents;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What tells the tasks apart: the nodes of a job, the images of a node. */
  readonly noun: "node" | "image";
  /** What ends a failure. */
  readonly retry: string;
}

/** What holds pulls up; those that have succeeded need no words. */
export function pullCauses(tasks: readonly PullTask[], scope: PullScope): Cause[] {
  const inPhase = (phase: string): PullTask[] => tasks.filter((task) => task.phase === phase);
  return [
    ...groupedCauses(inPhase("Failed"), ({ message }) => message, failed(scope)),
    ...groupedCauses(inPhase(""), (task) => silenceOf(task, scope), silent(scope)),
    ...groupedCauses(inPhase("Pulling"), () => "", pulling(scope)),
    ...groupedCauses(inPhase("Waiting"), () => "", queued(scope)),
  ];
}

type Grouping = (scope: PullScope) => (first: PullTask, all: readonly PullTask[]) => Cause;

const failed: Grouping = (scope) => (first, all) => ({
  reason: "PullFailed",
  message: `${counted(all.length, scope.noun)}: the pull failed: ${shownText(first.message) || "no message"}${namesIn(all, scope)}`,
  until: scope.retry,
  since: earliestOf(all.map(({ endedAt }) => endedAt)),
  next: nodeImageCommand(first.node),
  outlook: "stuck",
});

const pulling: Grouping = (scope) => (first, all) => {
  const since = earliestOf(all.map(({ startedAt }) => startedAt));
  const progress = Math.min(...all.map((task) => task.progress));
  const retried = all.find(({ message }) => message !== "");
  const said = retried === undefined ? "" : `, the last try failed: ${shownText(retried.message)}`;
  return {
    reason: "Pulling",
    message: `${counted(all.length, scope.noun)}: being pulled, ${progress} %${said}${namesIn(all, scope)}`,
    until: "the image is there, or its tries and its time are over",
    since,
    next: nodeImageCommand(first.node),
    outlook: "moving",
  };
};

const queued: Grouping = (scope) => (first, all) => ({
  reason: "PullQueued",
  message: `${counted(all.length, scope.noun)}: behind other pulls of the node${namesIn(all, scope)}`,
  until: "the node's agent has a worker free (--max-workers-for-pull-image)",
  since: earliestOf(all.map(({ createdAt }) => createdAt)),
  next: nodeImageCommand(first.node),
  outlook: "moving",
});

/** Empty while the agent may be about to take it up. */
function silenceOf({ node, createdAt }: PullTask, { agents, now }: PullScope): string {
  const problem = agentProblem(node, agents);
  if (problem !== undefined) return problem;
  return now - (createdAt ?? now) > silentAfterMs ? "the agent of the node does not answer" : "";
}

const silent: Grouping = (scope) => (first, all) => {
  const problem = silenceOf(first, scope);
  const since = earliestOf(all.map(({ createdAt }) => createdAt));
  return {
    reason: problem === "" ? "NotTakenUp" : "AgentAbsent",
    message: `${counted(all.length, scope.noun)}: ${problem || "not taken up yet"}${namesIn(all, scope)}`,
    until:
      problem === ""
        ? "the agents of the nodes take it up"
        : "the node agent (DaemonSet kruise-daemon) runs there; after ten minutes the pull counts as failed",
    since,
    next: agentsCommand(first.node),
    outlook: problem !== "" && scope.now - (since ?? scope.now) > minute ? "stuck" : "moving",
  };
};

function namesIn(tasks: readonly PullTask[], { noun }: PullScope): string {
  return named(tasks.map((task) => task[noun]));
}

function nodeImageCommand(node: string): string {
  return `kubectl get nodeimage ${node} -o yaml`;
}
