/** Those who do their part for ImagePullJobs in a small world: the controller of NodeImages, and agents. Spec: images N4, 7. */
import { planOneNodeImage } from "../../controller/kinds/node_image/plan.ts";
import { awaitsResults } from "../../controller/kinds/node_image/prune.ts";
import type { TagOwner } from "../../controller/rollout/images/node_image.ts";
import type { NodeImage } from "../../crds/index.ts";
import { createMergePatch } from "../../kube/core/index.ts";
import { endedTask, type PullPlan, type PullTask, planNodeImage } from "../../node/index.ts";
import { nodeImage, patched } from "../controller/image_pull_job_builder.ts";
import { checkPulls, checkTidied } from "./pull_rules.ts";
import { type Look, type PullState, put } from "./pull_state.ts";

export const CREATION_DELAY_MS = 30_000;

/** The controller of NodeImages: what it writes is refused where the NodeImage is another by now. */
export function lookAfter(state: PullState, name: string): Look {
  const { jobs, nodes, stored, seen, now } = state;
  const is = seen.get(name);
  if (is !== stored.get(name)) return {};
  const jobOf = ({ uid }: TagOwner) => jobs.find(({ metadata }) => metadata.uid === uid);
  const observed = {
    node: nodes.get(name),
    nodeImage: is,
    jobExists: (owner: TagOwner) => jobOf(owner) !== undefined,
    awaitsResult: (owner: TagOwner) => {
      const job = jobOf(owner);
      return job !== undefined && awaitsResults(job);
    },
    secretExists: () => true,
  };
  const { effects, requeueAfterMs } = planOneNodeImage(observed, { creationDelayMs: CREATION_DELAY_MS }, now);
  const [effect] = effects;
  if (effect === undefined)
    return { wakeAt: requeueAfterMs === undefined ? undefined : now + requeueAfterMs };
  const become = (after: NodeImage | undefined): Look => ({
    state: { ...state, stored: put(stored, name, after), seen: put(seen, name, after) },
  });
  if (effect.type === "create object")
    return become(nodeImage(name, { metadata: { labels: nodes.get(name)?.labels ?? {} } }));
  if (is === undefined) throw new Error(`${effect.type} of nothing`);
  if (effect.type === "delete object") return become(undefined);
  if (effect.type === "patch object") {
    const after = patched(is, effect.body);
    checkTidied(state, is, after);
    return become(after);
  }
  if (effect.type === "patch status") return become(patched(is, { status: effect.status }));
  throw new Error(effect.type);
}

/** One that remembers nothing: whatever it has not reported it pulls again. */
export function agentLooks(state: PullState, name: string): Look {
  const image = imageOnNode(state, name);
  if (image === undefined) return {};
  const plan = pullsOf(image, state.now);
  checkPulls(image, plan);
  return reported(state, name, image, plan);
}

/** One that was reported as pulling. */
export function pullEnds(state: PullState, name: string, habit = state.habits[name]): Look {
  const image = imageOnNode(state, name);
  if (image === undefined || habit === "hangs") return {};
  const { now } = state;
  for (const [key, task] of pullsOf(image, now).tasks) {
    if (!isPulling(image, task)) continue;
    const ended = endedTask(task, habit === "fails" ? FAILED : PULLED, now);
    return reported(state, name, image, pullsOf(image, now, new Map([[key, ended]])));
  }
  return {};
}

const FAILED = { ok: false, message: "no" } as const;
const PULLED = { ok: true, imageID: "id", pulled: true } as const;

function pullsOf({ spec, status }: NodeImage, now: number, tasks: PullPlan["tasks"] = new Map()): PullPlan {
  return planNodeImage({ spec, status, tasks, maxPulls: 0, runtimeReady: true, reason: "" }, now);
}

function imageOnNode({ nodes, stored, habits }: PullState, name: string): NodeImage | undefined {
  return nodes.has(name) && habits[name] !== "silent" ? stored.get(name) : undefined;
}

function reported(state: PullState, name: string, image: NodeImage, { status }: PullPlan): Look {
  const patch = createMergePatch(image.status ?? {}, status);
  if (Object.keys(patch).length === 0) return {};
  return { state: { ...state, stored: put(state.stored, name, patched(image, { status: patch })) } };
}

function isPulling({ status }: NodeImage, { image, tag, version }: PullTask): boolean {
  const reported = status?.imageStatuses?.[image]?.tags.find((each) => each.tag === tag);
  return reported?.phase === "Pulling" && (reported.version ?? 0) === version;
}
