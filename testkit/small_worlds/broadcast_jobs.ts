/** Small worlds of one BroadcastJob: its pods end, and nodes come and go. Spec: jobs B4. */
import { planBroadcastJob } from "../../controller/kinds/broadcast_job/plan.ts";
import { broadcastJobState } from "../../controller/kinds/broadcast_job/state.ts";
import { nodeOf } from "../../controller/rollout/pods/node_pods.ts";
import { CREATING } from "../../controller/rollout/writes/pending_pods.ts";
import type { BroadcastJob, BroadcastJobSpec } from "../../crds/index.ts";
import type { Node, Pod } from "../../kube/index.ts";
import { broadcastJob, defaultOptions, Model as JobModel, node } from "../controller/broadcast_job_model.ts";
import {
  creations,
  isPresent,
  type PlannedKind,
  type Play,
  planWorld,
  type Stage,
  type State,
} from "./plan_world.ts";

type End = "Complete" | "Failed";

/** What has become of the job where nothing is left to be done. */
interface Numbers {
  /** Default: it is complete. Empty: it never ends. */
  readonly ends?: readonly End[];
  /** Nodes that may have no pod, because they came, or lost theirs, when the job was over. */
  readonly mayLack?: number;
}

export interface JobScenario extends Pick<Play<BroadcastJob, Stage<BroadcastJob>>, "kind" | "stages"> {
  readonly name: string;
}

const NEW = "node-new";
/** A task that runs on a node with this label fails, or is restarted. */
const BREAKS = "breaks";
const lasting = { failurePolicy: { type: "Continue" } } as const;

export function broadcastJobScenarios(nodes: number, mishaps: number): JobScenario[] {
  const names = Array.from({ length: nodes }, (_, at) => `node-${at + 1}`);
  const scenario = (
    name: string,
    stages: (model: Model) => Stage<BroadcastJob>[],
    breaks?: "node-1",
  ): JobScenario => {
    const model = new Model(broadcastJob(), names);
    if (breaks !== undefined) model.changeNode(breaks, { labels: { [BREAKS]: "true" } });
    const before: Stage<BroadcastJob> = {
      name: "as it was",
      change: (spec) => Object.assign(spec, { paused: true, parallelism: 0 }),
      unsettled: () => undefined,
    };
    return { name: `BroadcastJob ${name}`, kind: planned(model), stages: [before, ...stages(model)] };
  };
  const stage = (
    name: string,
    asked: Partial<BroadcastJobSpec>,
    { ends = ["Complete"], mayLack = 0 }: Numbers = {},
    besides?: () => void,
  ): Stage<BroadcastJob> => ({
    name,
    change: (spec) => Object.assign(spec, { paused: false, ...asked }),
    ...(besides === undefined ? {} : { besides }),
    unsettled: (pods, job, nodes) => unsettled(pods, job, nodes, { ends, mayLack, mishaps }),
  });
  const failed: Numbers = { ends: ["Failed"] };
  const one = { ...lasting, parallelism: 1 };
  const two = { ...lasting, parallelism: 2 };
  return [
    scenario("one at a time", () => [stage("go", one)]),
    scenario("two at a time", () => [stage("go", two)]),
    scenario("with less parallelism", () => [stage("go", two), stage("less", one)]),
    scenario("paused, then resumed", () => [
      stage("go", one),
      stage("a pause", { ...one, paused: true }),
      stage("resumed", one),
    ]),
    scenario("ended by a failed pod", () => [stage("go", { ...two, failurePolicy: {} }, failed)], "node-1"),
    scenario("with a failed pod", () => [stage("go", one)], "node-1"),
    scenario(
      "paused by a failed pod, then let go",
      () => [stage("go", { ...one, failurePolicy: { type: "Pause" } }), stage("let go", one)],
      "node-1",
    ),
    scenario(
      "ended by restarts",
      ({ set }) => {
        set.spec.template.spec.restartPolicy = "OnFailure";
        return [stage("go", { ...two, failurePolicy: { restartLimit: 0 } }, failed)];
      },
      "node-1",
    ),
    scenario("ended by its deadline", (model) => {
      const late = { ...one, completionPolicy: { activeDeadlineSeconds: 3600 } };
      const ends: Numbers = { ends: ["Failed", "Complete"] };
      return [stage("go", late), stage("an hour", late, ends, () => model.wait(3_600_000))];
    }),
    scenario("with a node that goes", (model) => [
      stage("go", two),
      stage("a node goes", two, {}, () => model.nodes.delete("node-1")),
    ]),
    scenario("with a node that comes", (model) => [
      stage("go", one),
      stage("a node comes", one, { mayLack: 1 }, () => model.nodes.set(NEW, node(NEW))),
    ]),
    scenario("with a node that is cordoned, and let in again", (model) => [
      stage("go", one),
      stage("cordoned", one, {}, () => model.changeNode("node-1", { unschedulable: true })),
      stage("let in", one, { mayLack: 1 }, () => model.changeNode("node-1", { unschedulable: false })),
    ]),
    scenario("that never ends", (model) => {
      const endless = { ...one, completionPolicy: { type: "Never" } } as const;
      return [
        stage("go", endless, { ends: [] }),
        stage("a node comes", endless, { ends: [] }, () => model.nodes.set(NEW, node(NEW))),
      ];
    }),
  ];
}

/** `mishaps`: how many may have happened. */
export function broadcastJobWorld({ kind, stages }: JobScenario, mishaps: number) {
  return planWorld({ kind, stages, check }, mishaps);
}

function planned(model: Model): PlannedKind<BroadcastJob> {
  return {
    model,
    namesMatter: false,
    placeOf: nodeOf,
    isBuiltOn: (status, stored) => endOf(status) !== endOf(stored),
    failed: (pod) => (isPresent(pod) && pod.phase === "Running" ? { phase: "Failed" } : undefined),
    plan(inFlight, random, status = {}) {
      const isTaken = (name: string): boolean => model.pods.has(name) || inFlight.has(`${CREATING}${name}`);
      const observed = { ...model.observed(model.index(inFlight)), status, isTaken };
      const { now } = model;
      return planBroadcastJob(
        broadcastJobState({ observed, options: defaultOptions, now, random, explains: false }),
      );
    },
  };
}

class Model extends JobModel {
  wait(ms: number): void {
    this.now += ms;
  }

  /** As scheduler, kubelet and the collection of pods whose node is gone; tasks end. */
  override kubelet(name: string): boolean {
    const pod = this.pods.get(name);
    if (pod === undefined) return false;
    const { nodeName, phase, containerStatuses, deletionAt } = pod;
    const at = this.nodes.get(nodeOf(pod));
    if (deletionAt !== undefined || (at === undefined && nodeName !== "")) return this.pods.delete(name);
    if (at === undefined || phase === "Succeeded" || phase === "Failed") return false;
    if (nodeName === "") this.place(name);
    else if (!(BREAKS in at.labels)) this.end(name, "Succeeded");
    else if (this.set.spec.template.spec.restartPolicy !== "OnFailure") this.end(name, "Failed");
    // It never ends.
    else if (containerStatuses.length > 0) return false;
    else this.restart(name, 1);
    return true;
  }
}

function isFit({ unschedulable }: Node): boolean {
  return !unschedulable;
}

/** What a pass began, as if each creation arrived and no deletion did. */
function check(before: State<BroadcastJob>, after: State<BroadcastJob>): void {
  const { stored } = after;
  const created = creations(after);
  const known = creations(before);
  const nodes = new Map(stored.nodes.map((each) => [each.name, each]));
  const isAtWork = (pod: Pod): boolean => isPresent(pod) && nodes.has(nodeOf(pod));
  const working = [...stored.pods, ...created].filter(isAtWork);
  const atWork = working.length;
  for (const pod of created) {
    if (known.some(({ name }) => name === pod.name)) continue;
    checkHeld(after);
    const at = nodes.get(nodeOf(pod));
    if (at === undefined || !isFit(at)) throw new Error(`a pod is created for ${nodeOf(pod)}`);
    const there = [...stored.pods, ...created].filter((other) => nodeOf(other) === at.name);
    if (there.length > 1) throw new Error(`${at.name} has ${there.length} pods`);
    const { parallelism = Number.POSITIVE_INFINITY } = stored.set.spec;
    if (atWork > Number(parallelism)) throw new Error(`${atWork} pods are at work, ${parallelism} may be`);
  }
  const end = endOf(after.status ?? stored.set.status);
  for (const { action } of after.inFlight.slice(before.inFlight.length)) {
    if (action.type !== "delete pod" || end === "Failed") continue;
    checkHeld(after);
    const at = nodes.get(nodeOf(action.pod));
    if (at === undefined || isFit(at)) throw new Error(`${action.pod.name} is deleted`);
  }
  // Rule 16: of two pods of a node, one of them made by a controller that died, one counts.
  const isDone = (node: string): boolean =>
    stored.pods.some((pod) => nodeOf(pod) === node && !isPresent(pod));
  const isNewEnd = end !== endOf(before.status ?? before.stored.set.status);
  if (end === "Complete" && isNewEnd && !working.map(nodeOf).every(isDone))
    throw new Error(`it is complete, and ${atWork} pods are at work`);
}

/** Rules 4, 8 and 9. */
function checkHeld({ status, stored: { set, pods } }: State<BroadcastJob>): void {
  const { paused, failurePolicy } = set.spec;
  const isHeld =
    paused ||
    (failurePolicy?.type === "Pause" &&
      pods.some(({ phase, deletionAt }) => phase === "Failed" && deletionAt === undefined));
  if (isHeld) throw new Error("a job on hold goes on");
  if (endOf(status ?? set.status) !== undefined) throw new Error("a job that is over goes on");
}

function endOf(status: BroadcastJob["status"]): End | undefined {
  const ends = (status?.conditions ?? []).map(({ type }) => type);
  return ends.includes("Failed") ? "Failed" : ends.includes("Complete") ? "Complete" : undefined;
}

function unsettled(
  pods: readonly Pod[],
  { status }: BroadcastJob,
  nodes: readonly Node[],
  { ends = [], mayLack = 0, mishaps }: Numbers & { readonly mishaps: number },
): string | undefined {
  const end = endOf(status);
  // One that failed by a mishap ends the job, or pauses it, by its policy.
  const isExpected = end === undefined ? ends.length === 0 : ends.includes(end) || mishaps > 0;
  if (!isExpected) return `the job ${end ?? "still going on"}`;
  const atWork = pods.filter((pod) => isPresent(pod) && nodes.some(({ name }) => name === nodeOf(pod)));
  if (atWork.length > 0 || status?.active !== 0)
    return `${atWork.length} pods at work, and ${status?.active} in its status`;
  if (end === "Failed") return undefined;
  const counts = nodes.filter(isFit).map(({ name }) => pods.filter((pod) => nodeOf(pod) === name).length);
  const wrong = counts.filter((count) => count !== 1).length;
  return wrong > mayLack + mishaps ? `${counts} pods on its nodes` : undefined;
}
