/** Small worlds of one ImagePullJob, or of two: nodes that come, go, fail or are silent, jobs that change. Spec: images P4, N4. */
import { planImagePullJob } from "../../controller/kinds/image_pull_job/plan.ts";
import type { NodeForImages } from "../../controller/rollout/images/node_image_due.ts";
import type { ImagePullJob, ImagePullJobSpec } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { pullJob, startMs } from "../controller/image_pull_job_builder.ts";
import { barePod } from "../controller/pod_builder.ts";
import { isDone, progressOf, tasksOf } from "./pull_rules.ts";
import type { Asked, PullState } from "./pull_state.ts";
import type { PullScenario, PullStage } from "./pull_world.ts";

const HOUR_MS = 3_600_000;
const NEW = "node-new";

/** What a job has come to where nothing is left to be done. */
interface Result {
  /** Default: all nodes. */
  readonly desired?: number;
  /** Default: none. */
  readonly failed?: readonly string[];
  /** Nodes that may be missing, or be there, because they came or went. */
  readonly give?: number;
  /** Default: no. */
  readonly isLate?: boolean | "perhaps";
}

export function imagePullScenarios(nodes: number, mishaps: number): PullScenario[] {
  const names = Array.from({ length: nodes }, (_, at) => `node-${at + 1}`);
  const scenario = (
    name: string,
    stages: [PullStage, ...PullStage[]],
    {
      habits = {},
      pods = [],
      labels = {},
      lastsMs = 3 * HOUR_MS,
    }: Partial<Asked & PullScenario> & Partial<Pick<NodeForImages, "labels">> = {},
  ): PullScenario => ({
    name: `ImagePullJob ${name}`,
    before: {
      jobs: [],
      nodes: new Map(names.map((each) => [each, node(labels)])),
      pods,
      habits,
      now: startMs,
    },
    stages,
    lastsMs,
    plan: planImagePullJob,
  });
  /** `results`: by UID of the jobs that are left. */
  const stage = (
    name: string,
    change: PullStage["change"],
    results: Readonly<Record<string, Result>> = { one: {} },
  ): PullStage => ({
    name,
    change,
    unsettled: (state) => unsettled(state, results, { nodes, mishaps: mishaps - state.mishaps }),
  });
  const go = (spec: Partial<ImagePullJobSpec>, result: Result = {}): PullStage =>
    stage("go", () => ({ jobs: [job("one", spec)] }), { one: result });
  const another = (spec: Partial<ImagePullJobSpec> = {}): PullStage =>
    stage("another job", ({ jobs }) => ({ jobs: [...jobs, job("two", spec)] }), { one: {}, two: {} });
  const comes = (result: Result): PullStage =>
    stage("a node comes", (asked) => ({ nodes: new Map([...asked.nodes, [NEW, node()]]) }), { one: result });
  const two = { parallelism: 2 };
  const always = (policy: object) => ({ ...two, completionPolicy: { type: "Always", ...policy } });
  const never = { ...two, completionPolicy: { type: "Never" } };
  const failed = ["node-1"];
  return [
    scenario("one at a time", [go({})]),
    scenario("two at a time", [go(two)]),
    scenario("with less parallelism", [go(two), stage("less", changed({ parallelism: 1 }))]),
    scenario("held, then let go", [go({ parallelism: 0 }), stage("let go", changed(two))]),
    scenario("with a node that fails", [go(two, { failed })], { habits: { "node-1": "fails" } }),
    scenario(
      "with a silent node",
      [go({ ...two, pullPolicy: { timeoutSeconds: 10, backoffLimit: 1 } }, { failed })],
      { habits: { "node-1": "silent" } },
    ),
    scenario(
      "ended by its deadline",
      [go(always({ activeDeadlineSeconds: 600 }), { failed, isLate: true })],
      {
        habits: { "node-1": "hangs" },
      },
    ),
    scenario("ended by its deadline, or before", [
      go(always({ activeDeadlineSeconds: 600 })),
      stage("ten minutes", ({ now }) => ({ now: now + 600_000 }), {
        one: { failed: names, give: nodes, isLate: "perhaps" },
      }),
    ]),
    scenario("with a time to live", [
      stage("go", () => ({ jobs: [job("one", always({ ttlSecondsAfterFinished: 20 }))] }), {}),
    ]),
    scenario("with another image meanwhile", [go(two), stage("another image", changed({ image: "app:2" }))]),
    scenario("deleted meanwhile", [go(two), stage("deleted", () => ({ jobs: [] }), {})]),
    scenario("deleted, and made again", [
      go(two),
      stage("again", () => ({ jobs: [job("again", two, "one")] }), { again: {} }),
    ]),
    scenario("and another one of its image", [go({}), another()]),
    scenario("and another one of its image, one deleted meanwhile", [
      go({}),
      another(),
      stage("deleted", ({ jobs }) => ({ jobs: jobs.slice(1) }), { two: {} }),
    ]),
    scenario("and another one of another image", [go({}), another({ image: "other:1" })]),
    scenario("with a node that goes", [
      go(two),
      stage("a node goes", (asked) => ({ nodes: new Map([...asked.nodes].slice(1)) }), { one: { give: 1 } }),
    ]),
    scenario("with a node that comes", [go(two), comes({ desired: nodes + 1, give: 1 })]),
    scenario(
      "with a node that leaves its pool",
      [
        go({ ...two, selector: { matchLabels: { pool: "a" } } }),
        stage(
          "it leaves",
          (asked) => ({ nodes: new Map([...asked.nodes, ["node-1", node({ pool: "b" })]]) }),
          {
            one: { give: 1 },
          },
        ),
      ],
      { labels: { pool: "a" } },
    ),
    scenario(
      "of the nodes of pods",
      [
        go({ ...two, podSelector: { matchLabels: { app: "web" } } }, { desired: 1 }),
        stage("a pod comes", ({ pods }) => ({ pods: [...pods, pod("node-2")] }), {
          one: { desired: 2, give: 1 },
        }),
      ],
      { pods: [pod("node-1")] },
    ),
    scenario("before the NodeImages of its nodes", [
      stage("go", () => ({ jobs: [job("one", two)], nodes: new Map() })),
      stage("nodes", () => ({ nodes: new Map(names.map((each) => [each, node({}, startMs)])) }), {
        one: { give: nodes },
      }),
    ]),
    scenario("that never ends, for a day", [go(never)], { lastsMs: 25 * HOUR_MS }),
    scenario("that never ends, with a node that comes", [go(never), comes({ desired: nodes + 1 })]),
  ];
}

function node(labels = {}, readySince = startMs - HOUR_MS): NodeForImages {
  return { labels, readySince };
}

function pod(nodeName: string): Pod {
  return barePod(`web-${nodeName}`, { nodeName, labels: { app: "web" }, phase: "Running" });
}

function job(uid: string, spec: Partial<ImagePullJobSpec>, name = uid): ImagePullJob {
  return pullJob({ image: "app:1", ...spec }, { name, uid });
}

function changed(spec: Partial<ImagePullJobSpec>): PullStage["change"] {
  return ({ jobs }) => ({
    jobs: jobs.map((each) => {
      const { generation = 0 } = each.metadata;
      return {
        ...each,
        metadata: { ...each.metadata, generation: generation + 1 },
        spec: { ...each.spec, ...spec },
      };
    }),
  });
}

/** `mishaps`: how many have happened. */
function unsettled(
  state: PullState,
  results: Readonly<Record<string, Result>>,
  { nodes, mishaps }: { readonly nodes: number; readonly mishaps: number },
): string | undefined {
  const { jobs, stored } = state;
  const names = jobs.map(({ metadata }) => metadata.uid);
  if (names.join() !== Object.keys(results).join()) return `the jobs ${names}`;
  const wanted = [...state.nodes.keys()].sort().join();
  const found = [...stored.keys()].sort().join();
  if (found !== wanted) return `the NodeImages ${found} of the nodes ${wanted}`;
  const endless = jobs.filter(isEndless).map(({ metadata }) => metadata.uid);
  for (const [name, image] of stored)
    for (const [task, { ownerReferences = [] }] of tasksOf(image))
      if (!ownerReferences.every(({ uid }) => endless.includes(uid))) return `${task} left on ${name}`;
  for (const each of jobs) {
    const wrong = unsettledJob(state, each, { desired: nodes, ...results[each.metadata.uid ?? ""] }, mishaps);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function unsettledJob(
  state: PullState,
  job: ImagePullJob,
  { desired = 0, failed = [], give = 0, isLate = false }: Result,
  mishaps: number,
): string | undefined {
  const { status } = job;
  if (isEndless(job)) {
    const all = [...progressOf(state.stored, job, state).values()];
    const done = all.filter(isDone).length;
    if (done < all.length) return `${done} nodes that have pulled, of ${all.length}`;
  } else if (status?.completionTime === undefined) return "a job that has not ended";
  const { active, succeeded = 0, failedNodes = [] } = status ?? {};
  const seems = `${JSON.stringify(status)} for ${desired} nodes, of which ${failed.length} fail`;
  if (active !== 0 || status?.desired !== succeeded + (status?.failed ?? 0)) return seems;
  const late = status.message === "job exceeds activeDeadlineSeconds";
  if (isLate !== "perhaps" && late !== isLate && mishaps === 0) return seems;
  if (Math.abs(status.desired - desired) > give + mishaps) return seems;
  const others = [...new Set([...failed, ...failedNodes])].filter(
    (name) => failed.includes(name) !== failedNodes.includes(name),
  );
  return others.length > give + mishaps ? seems : undefined;
}

function isEndless({ spec }: ImagePullJob): boolean {
  return spec.completionPolicy.type === "Never";
}
