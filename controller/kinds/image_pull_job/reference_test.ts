/** Random jobs, nodes and pods against a plain reading of the rules, which shares no code with the plan. Spec: images P3, P4. */
import fc from "fast-check";
import t from "tap";
import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import { Cache, type Pod, podResource } from "../../../kube/index.ts";
import {
  nodeImage,
  nodeImageCache,
  pullJob,
  startMs,
} from "../../../testkit/controller/image_pull_job_builder.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { withTask } from "../../rollout/images/pull_task.ts";
import { planImagePullJob } from "./plan.ts";
import { Tallies } from "./tallies.ts";

const time = (seconds: number) => new Date(startMs + seconds * 1000).toISOString().replace(".000Z", "Z");

type Owners = "none" | "own" | "other" | "both";
interface Seen {
  readonly version: number;
  readonly phase: string;
}
interface NodeGiven {
  readonly name: string;
  readonly pool: string;
  /** Undefined: it has no NodeImage. */
  readonly image:
    | {
        /** Of the job's tag; undefined: the NodeImage does not have the tag. */
        readonly task:
          | { readonly version: number; readonly owners: Owners; readonly policy: string }
          | undefined;
        readonly seen: Seen | undefined;
        readonly other: boolean;
      }
    | undefined;
  readonly pods: readonly ("running" | "ended" | "going" | "stranger")[];
}

const node = (name: string): fc.Arbitrary<NodeGiven> =>
  fc.record({
    name: fc.constant(name),
    pool: fc.constantFrom("a", "b"),
    image: fc.option(
      fc.record({
        task: fc.option(
          fc.record({
            version: fc.nat(2),
            owners: fc.constantFrom<Owners>("none", "own", "own", "other", "both"),
            policy: fc.constantFrom("Always", "IfNotPresent"),
          }),
          { nil: undefined },
        ),
        seen: fc.option(
          fc.record({
            version: fc.nat(2),
            phase: fc.constantFrom("Waiting", "Pulling", "Succeeded", "Failed"),
          }),
          { nil: undefined },
        ),
        other: fc.boolean(),
      }),
      { nil: undefined, freq: 8 },
    ),
    pods: fc.array(fc.constantFrom("running", "ended", "going", "stranger"), { maxLength: 2 }),
  });
const nodes = fc.tuple(...["n1", "n10", "n2", "n3", "x"].map(node));

type Selection = "all" | "empty" | "names" | "labels" | "expressions" | "pods";
const spec = fc.record({
  selection: fc.constantFrom<Selection>("all", "empty", "names", "labels", "expressions", "pods"),
  names: fc.uniqueArray(fc.constantFrom<string>("n1", "n10", "n3", "gone"), { minLength: 1, maxLength: 3 }),
  parallelism: fc.constantFrom(undefined, 0, 1, 2, 7, "2", "0"),
  type: fc.constantFrom("Always", "Always", "Never", undefined),
  deadline: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  ttl: fc.option(fc.integer({ min: 0, max: 50 }), { nil: undefined }),
  timeout: fc.option(fc.integer({ min: 1, max: 4000 }), { nil: undefined }),
  backoff: fc.option(fc.nat(5), { nil: undefined }),
  imagePullPolicy: fc.constantFrom(undefined, "Always", "IfNotPresent"),
  sandbox: fc.boolean(),
  started: fc.boolean(),
});
type Given = typeof spec extends fc.Arbitrary<infer T> ? T : never;

const ownerOf = (uid: string) => ({
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "ImagePullJob",
  name: uid === "uid-job" ? "job" : "other",
  namespace: "ns",
  uid,
});
const ownersOf: Record<Owners, readonly string[]> = {
  none: [],
  own: ["uid-job"],
  other: ["uid-other"],
  both: ["uid-other", "uid-job"],
};

function stored({ name, pool, image }: NodeGiven): NodeImage[] {
  if (image === undefined) return [];
  const { task, seen, other } = image;
  const tags = [
    ...(task === undefined
      ? []
      : [
          {
            tag: "1.9.1",
            version: task.version,
            createdAt: time(-5),
            imagePullPolicy: task.policy,
            pullPolicy: { ttlSecondsAfterFinished: 7, timeoutSeconds: 8 },
            ...(task.owners === "none" ? {} : { ownerReferences: ownersOf[task.owners].map(ownerOf) }),
          },
        ]),
    ...(other
      ? [{ tag: "0", version: 4, createdAt: time(-9), pullPolicy: { ttlSecondsAfterFinished: 1 } }]
      : []),
  ].sort((a, b) => (a.tag < b.tag ? -1 : 1));
  const sandboxConfig = { labels: { of: "somebody" } };
  return [
    {
      ...nodeImage(name, { metadata: { labels: { pool } } }),
      spec: tags.length === 0 ? {} : { images: { nginx: { tags, sandboxConfig } } },
      status: {
        desired: 0,
        ...(seen === undefined ? {} : { imageStatuses: { nginx: { tags: [{ tag: "1.9.1", ...seen }] } } }),
      },
    },
  ];
}

function podsOf(all: readonly NodeGiven[]): Pod[] {
  return all.flatMap(({ name, pods }) =>
    pods.map((kind, index) =>
      barePod(`${name}-${index}`, {
        namespace: "ns",
        labels: { app: kind === "stranger" ? "other" : "web" },
        nodeName: name,
        phase: kind === "ended" ? "Succeeded" : "Running",
        deletionAt: kind === "going" ? startMs : undefined,
      }),
    ),
  );
}

function jobOf(given: Given): ImagePullJob {
  const { selection, names, parallelism, type, deadline, ttl, timeout, backoff } = given;
  const selector = {
    all: {},
    empty: { selector: {} },
    names: { selector: { names } },
    labels: { selector: { matchLabels: { pool: "a" } } },
    expressions: {
      selector: { matchExpressions: [{ key: "pool", operator: "NotIn" as const, values: ["a"] }] },
    },
    pods: { podSelector: { matchLabels: { app: "web" } } },
  }[selection];
  return pullJob(
    {
      image: "docker.io/library/nginx:1.9.1",
      ...selector,
      ...(parallelism === undefined ? {} : { parallelism }),
      completionPolicy: {
        ...(type === undefined ? {} : { type }),
        ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
        ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }),
      },
      pullPolicy: {
        ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
        ...(backoff === undefined ? {} : { backoffLimit: backoff }),
      },
      ...(given.imagePullPolicy === undefined ? {} : { imagePullPolicy: given.imagePullPolicy }),
      ...(given.sandbox ? { sandboxConfig: { annotations: { a: "1" } } } : {}),
    },
    { name: "job", namespace: "ns", uid: "uid-job", generation: 1 },
    given.started ? { startTime: time(0), desired: 0 } : undefined,
  );
}

/** Rule P4.2. */
function isSelected({ name, pool, image, pods }: NodeGiven, { selection, names }: Given): boolean {
  if (image === undefined) return false;
  switch (selection) {
    case "all":
    case "empty":
      return true;
    case "names":
      return names.includes(name);
    case "labels":
      return pool === "a";
    case "expressions":
      return pool !== "a";
    case "pods":
      return pods.includes("running");
  }
}

/** Rules P4.3 and P4.7. */
function stateOf({ image }: NodeGiven): "unsynced" | "active" | "succeeded" | "failed" {
  const { task, seen } = image ?? {};
  if (task === undefined || !["own", "both"].includes(task.owners)) return "unsynced";
  if (seen === undefined || seen.version !== task.version) return "active";
  return seen.phase === "Succeeded" ? "succeeded" : seen.phase === "Failed" ? "failed" : "active";
}

/** P3 and rules P4.8, P4.10. */
function expected(all: readonly NodeGiven[], given: Given, seconds: number) {
  const selected = all.filter((one) => isSelected(one, given));
  const named = (state: string) => selected.filter((one) => stateOf(one) === state).map(({ name }) => name);
  const [unsynced, active, succeeded, failed] = ["unsynced", "active", "succeeded", "failed"].map(named);
  const counts = { desired: selected.length, succeeded: succeeded?.length ?? 0 };
  const done = counts.succeeded + (failed?.length ?? 0);
  const startTime = given.started ? time(0) : time(seconds);
  const age = given.started ? seconds : 0;
  const isAlways = given.type !== "Never";
  const withNames = (names: readonly string[]) =>
    names.length === 0 ? {} : { failedNodes: [...names].sort() };
  const ended = { startTime, completionTime: time(seconds), active: 0, ...counts };
  if (isAlways && done === counts.desired)
    return {
      tell: [],
      status: {
        ...ended,
        failed: failed?.length ?? 0,
        ...withNames(failed ?? []),
        message: "job has completed",
      },
    };
  if (isAlways && given.deadline !== undefined && age >= given.deadline) {
    const late = [...(failed ?? []), ...(active ?? []), ...(unsynced ?? [])];
    return {
      tell: [],
      status: {
        ...ended,
        failed: late.length,
        ...withNames(late),
        message: "job exceeds activeDeadlineSeconds",
      },
    };
  }
  const most = given.parallelism === undefined ? 1 : Number(given.parallelism);
  const tell = (unsynced ?? []).sort().slice(0, Math.max(0, most - (active?.length ?? 0)));
  const message =
    counts.desired === 0
      ? "job is running, no progress"
      : `job is running, progress ${((done / counts.desired) * 100).toFixed(1)}%`;
  return {
    tell,
    status: {
      startTime,
      ...counts,
      active: (active?.length ?? 0) + tell.length,
      failed: failed?.length ?? 0,
      ...withNames(failed ?? []),
      message,
    },
  };
}

/** Rules P4.4 to P4.6: the image entry of a node to which the job was assigned. */
function expectedEntry({ image }: NodeGiven, given: Given, seconds: number, chance: number): object {
  const { task, seen, other } = image ?? {};
  const timeout = given.timeout ?? 600;
  const backoff = given.backoff ?? 3;
  const { imagePullPolicy } = given;
  const policy = imagePullPolicy === undefined ? {} : { imagePullPolicy };
  const never = {
    ttlSecondsAfterFinished: 86_400 + Math.floor(chance * 1200) - 600,
    activeDeadlineSeconds: Math.max(1800, timeout),
  };
  const always = {
    ttlSecondsAfterFinished:
      (given.ttl ?? given.deadline ?? timeout * backoff) + 300 + Math.floor(chance * 300),
    ...(given.deadline === undefined ? {} : { activeDeadlineSeconds: given.deadline }),
  };
  const entry =
    task === undefined
      ? {
          tag: "1.9.1",
          version: (seen?.version ?? -1) + 1,
          createdAt: time(seconds),
          pullPolicy: {
            timeoutSeconds: timeout,
            backoffLimit: backoff,
            ...(given.type === "Never" ? never : always),
          },
          ownerReferences: [ownerOf("uid-job")],
          ...policy,
        }
      : {
          tag: "1.9.1",
          version: task.version + 1,
          createdAt: time(seconds),
          pullPolicy: { ttlSecondsAfterFinished: 7, timeoutSeconds: 8 },
          ownerReferences: [...ownersOf[task.owners].map(ownerOf), ownerOf("uid-job")],
          ...policy,
        };
  const others = other
    ? [{ tag: "0", version: 4, createdAt: time(-9), pullPolicy: { ttlSecondsAfterFinished: 1 } }]
    : [];
  return {
    tags: [...others, entry],
    ...(given.sandbox ? { sandboxConfig: { annotations: { a: "1" } } } : {}),
  };
}

t.test(
  "property: what is reported, which nodes come next and what they are told are as the rules have it",
  async (t) => {
    const met = { told: 0, completed: 0, late: 0, running: 0 };
    const property = fc.property(
      nodes,
      spec,
      fc.integer({ min: 0, max: 120 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (all, given, seconds, chance) => {
        const job = jobOf(given);
        const cache = nodeImageCache(all.flatMap(stored));
        const pods = new Cache<Pod>({ identify: podResource.codec.identify });
        // Those that the job's selector matches are watched, no others.
        for (const pod of podsOf(all)) if (pod.labels["app"] === "web") pods.upsert(pod);
        const tallies = new Tallies(cache, () => undefined);
        const { nodes, target } = tallies.of(
          "ns/job",
          job,
          [],
          given.selection === "pods" ? pods : undefined,
        );
        const now = startMs + seconds * 1000;
        const { tell, status } = planImagePullJob(
          { job, nodes, nodesDueAt: undefined, guarded: true, ownedByList: false },
          now,
        );
        const told = nodes.first(tell);
        const want = expected(all, given, seconds);
        if (!jsonEqual(told, want.tell) || !jsonEqual({ ...status }, want.status)) return false;
        met.told += told.length;
        if (status?.message === "job has completed") met.completed++;
        else if (status?.completionTime !== undefined) met.late++;
        else met.running++;
        return told.every((name) => {
          const [found = nodeImage(name)] = [cache.get(name)];
          const written = withTask(found, job, target, { ttlSeconds: 300, chance, now });
          const entry: unknown = JSON.parse(JSON.stringify(written.images?.["nginx"]));
          const one = all.find((each) => each.name === name);
          return one !== undefined && jsonEqual(entry, expectedEntry(one, given, seconds, chance));
        });
      },
    );
    t.doesNotThrow(() => fc.assert(property, { seed: 23_003, numRuns: 5000 }));
    t.ok(
      Object.values(met).every((count) => count > 300),
      JSON.stringify(met),
    );
  },
);

t.test("property: a finished job goes after its time to live, and never before", async (t) => {
  const property = fc.property(
    fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    fc.integer({ min: 0, max: 150 }),
    fc.boolean(),
    fc.boolean(),
    fc.boolean(),
    (ttl, seconds, guarded, ownedByList, isGoing) => {
      const policy = { type: "Always", ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }) };
      const job = pullJob({ completionPolicy: policy }, isGoing ? { deletionTimestamp: time(0) } : {}, {
        desired: 1,
        completionTime: time(0),
      });
      const seen = { job, nodes: undefined, nodesDueAt: undefined, guarded, ownedByList };
      const plan = planImagePullJob(seen, startMs + seconds * 1000);
      const hasTime = ttl !== undefined && !ownedByList && !isGoing;
      return (
        plan.release === guarded &&
        plan.remove === (hasTime && seconds >= ttl) &&
        plan.requeueAfterMs === (hasTime && seconds < ttl ? (ttl - seconds) * 1000 : undefined) &&
        plan.status === undefined &&
        plan.tell === 0
      );
    },
  );
  t.doesNotThrow(() => fc.assert(property, { seed: 23_004, numRuns: 2000 }));
});
