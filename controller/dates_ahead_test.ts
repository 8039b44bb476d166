/**
 * A time that is stored and lies ahead, because a clock that was wrong wrote it, holds nothing up: what is counted from it is over
 * once its own time has passed, and it is dated anew once.
 */
import fc from "fast-check";
import t from "tap";
import type { EphemeralJob, ImageListPullJob, NodeImage } from "../crds/index.ts";
import { pullJob } from "../testkit/controller/image_pull_job_builder.ts";
import { barePod } from "../testkit/controller/pod_builder.ts";
import { spreadOf } from "../testkit/controller/workload_spread_builder.ts";
import { planEphemeralJob } from "./kinds/ephemeral_job/plan.ts";
import { planImageListPullJob } from "./kinds/image_list_pull_job/plan.ts";
import { planImagePullJob } from "./kinds/image_pull_job/plan.ts";
import { pruneNodeImage } from "./kinds/node_image/prune.ts";
import { classifySilence } from "./kinds/node_image/silence.ts";
import { type ScheduleStrategy, schedulabilityOf } from "./kinds/united_deployment/schedulability.ts";
import { countSubset, type SubsetInput } from "./kinds/workload_spread/status.ts";
import { refreshInPlace } from "./rollout/in_place/update.ts";

const begin = Date.UTC(2026, 0, 1);
const yearMs = 365 * 24 * 3_600_000;
/** Of everything below that holds for a time. */
const holdMs = 600_000;

/** What is stored after a look at it, at a time, and when it is looked at again; undefined: it is over. */
type Look = (now: number) => { readonly stored: unknown; readonly inMs: number } | undefined;

/** Each with one thing that holds and has the date, and that no longer holds after `holdMs`. */
const holders: Readonly<Record<string, (date: string) => Look>> = {
  "a pod that a WorkloadSpread awaits": (date) =>
    looksAtSubset(spreadOf([2]), { name: "a", missingReplicas: 0, replicas: 0, creatingPods: { p: date } }),
  "a pod that leaves a WorkloadSpread": (date) =>
    looksAtSubset(spreadOf([2]), { name: "a", missingReplicas: 0, replicas: 1, deletingPods: { p: date } }),
  "a subset of a WorkloadSpread that is closed": (date) => {
    const type = "Schedulable";
    const condition = { type, reason: "", message: "", lastTransitionTime: date };
    const conditions = [{ ...condition, status: "False" as const }];
    const scheduleStrategy = { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 30 } } as const;
    const spread = spreadOf([2, undefined], { scheduleStrategy });
    return looksAtSubset(spread, { name: "a", missingReplicas: 0, replicas: 0, conditions });
  },
  "a subset of a UnitedDeployment that is closed": (date) => {
    let conditions = [{ type: "Schedulable", status: "False" as const, lastTransitionTime: date }];
    const strategy: ScheduleStrategy = { mode: "adaptive", criticalMs: 30_000, closedMs: 300_000 };
    const pods = { active: 0, refused: [], unsettled: [] };
    return (now) => {
      const seen = { child: undefined, pods, conditions, isAdded: false };
      const state = schedulabilityOf(seen, strategy, { revision: "r", since: undefined }, now);
      if (!state.unschedulable || state.condition === undefined) return undefined;
      const { lastTransitionTime = "" } = state.condition;
      conditions = [{ type: "Schedulable", status: "False", lastTransitionTime }];
      return { stored: conditions, inMs: state.requeueAfterMs ?? Number.NaN };
    };
  },
  "an ImagePullJob that has ended": (date) => {
    const completionPolicy = { type: "Always", ttlSecondsAfterFinished: 20 } as const;
    let job = pullJob({ completionPolicy }, {}, { desired: 1, completionTime: date });
    return (now) => {
      const seen = { job, nodes: undefined, nodesDueAt: undefined, guarded: false, ownedByList: false };
      const { remove, status = job.status, requeueAfterMs = Number.NaN } = planImagePullJob(seen, now);
      job = { ...job, ...(status === undefined ? {} : { status }) };
      return remove ? undefined : { stored: status, inMs: requeueAfterMs };
    };
  },
  "an ImageListPullJob that has ended": (date) => {
    let job: ImageListPullJob = {
      metadata: { name: "list", namespace: "ns", uid: "uid-list" },
      spec: { images: [], completionPolicy: { type: "Always", ttlSecondsAfterFinished: 20 } },
      status: { desired: 1, completionTime: date },
    };
    return (now) => {
      const seen = { job, children: [] };
      const { remove, status = job.status, requeueAfterMs = Number.NaN } = planImageListPullJob(seen, now);
      job = { ...job, ...(status === undefined ? {} : { status }) };
      return remove ? undefined : { stored: status, inMs: requeueAfterMs };
    };
  },
  "an EphemeralJob that has ended": (date) =>
    looksAtEphemeralJob({ completionTime: date, phase: "Succeeded" }),
  "an EphemeralJob with a deadline": (date) => looksAtEphemeralJob({ startTime: date, phase: "Running" }),
  "an image that a silent node is to pull": (date) => {
    const tags = [{ tag: "1", createdAt: date, pullPolicy: { ttlSecondsAfterFinished: 300 } }];
    let nodeImage: NodeImage = { metadata: { name: "n" }, spec: { images: { nginx: { tags } } } };
    return (now) => {
      const facts = { now, jobExists: () => true, awaitsResult: () => false, secretExists: () => true };
      nodeImage = { ...nodeImage, spec: pruneNodeImage(nodeImage, facts).spec };
      const { nextAt } = classifySilence(nodeImage, now);
      return nextAt === undefined ? undefined : { stored: nodeImage.spec, inMs: nextAt - now };
    };
  },
  "an update in place with a grace period": (date) =>
    looksAtPod({
      "apps.kruise.io/inplace-update-state": JSON.stringify({ revision: "r", updateTimestamp: date }),
      "apps.kruise.io/inplace-update-grace": JSON.stringify({ revision: "r", graceSeconds: 60 }),
    }),
};

const forLong = (): number => Number.POSITIVE_INFINITY;

function looksAtSubset(spread: SubsetInput["spread"], first: NonNullable<SubsetInput["before"]>): Look {
  const [subset] = spread.spec.subsets;
  if (subset === undefined) throw new Error("a WorkloadSpread without subsets");
  const leaving = Object.keys(first.deletingPods ?? {});
  const members = leaving.map((name) => ({ key: name, pod: barePod(name, { phase: "Running" }) }));
  let before = first;
  return (now) => {
    const counted = countSubset({ spread, subset, before, members, size: 2, now, knownFor: forLong });
    before = counted.status;
    const { changesInMs } = counted;
    return changesInMs === undefined ? undefined : { stored: before, inMs: changesInMs };
  };
}

function looksAtEphemeralJob(status: EphemeralJob["status"]): Look {
  let job: EphemeralJob = {
    metadata: { name: "look", namespace: "ns", uid: "j1" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { ephemeralContainers: [{ name: "look", image: "busybox" }] },
      replicas: 1,
      activeDeadlineSeconds: 60,
      ttlSecondsAfterFinished: 60,
    },
    ...(status === undefined ? {} : { status }),
  };
  return (now) => {
    const plan = planEphemeralJob({ job, pods: [], refusing: new Set(), now });
    job = { ...job, status: plan.status };
    return plan.remove ? undefined : { stored: plan.status, inMs: plan.requeueAfterMs ?? Number.NaN };
  };
}

function looksAtPod(annotations: Record<string, string>): Look {
  const options = { verticalScaling: true, resizeSubresource: true, resetsManagers: false };
  let pod = barePod("p", { annotations, phase: "Running" });
  return (now) => {
    const step = refreshInPlace(pod, () => true, options, now);
    if (step.kind === "waiting") return { stored: pod.annotations, inMs: step.requeueAfterMs ?? Number.NaN };
    if (step.kind !== "write" || step.why !== "dated anew") return undefined;
    pod = step.write.after;
    return { stored: pod.annotations, inMs: 0 };
  };
}

/** Looked at when it asks for it, and once more at once each time. */
function isOverInTime(look: Look): boolean {
  for (let now = begin; now <= begin + holdMs + 1_000; ) {
    const seen = look(now);
    if (seen === undefined) return true;
    const again = look(now);
    if (JSON.stringify(again?.stored) !== JSON.stringify(seen.stored)) return false;
    if (!(again !== undefined && again.inMs > 0)) return false;
    now += again.inMs;
  }
  return false;
}

const ahead = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: yearMs }));

for (const [what, dated] of Object.entries(holders)) {
  t.test(`property: ${what} holds for its time only, however far ahead its date is`, async (t) => {
    const property = fc.property(ahead, (ms) => isOverInTime(dated(new Date(begin + ms).toISOString())));
    t.equal(fc.check(property, { seed: 61, numRuns: 100 }).counterexample, null);
  });
}
