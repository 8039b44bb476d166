/** Random NodeImages against a plain reading of the rules, which shares no code with the plan. Spec: images N4. */
import fc from "fast-check";
import t from "tap";
import type { NodeImage } from "../../../crds/index.ts";
import { applyMergePatch, type JsonObject, jsonEqual } from "../../../kube/core/index.ts";
import type { TagOwner } from "../../rollout/images/node_image.ts";
import { type NodeImageObserved, planOneNodeImage } from "./plan.ts";

const now = Date.UTC(2026, 0, 1);
const at = (secondsAgo: number) => new Date(now - secondsAgo * 1000).toISOString().replace(".000Z", "Z");
const minutes = 60;

interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly alive: boolean;
  /** It is under way, and ends when all nodes have a result. */
  readonly awaits: boolean;
}
interface Task {
  readonly tag: string;
  readonly version: number | undefined;
  /** Seconds ago; undefined: it has no time. */
  readonly created: number | undefined;
  readonly ttl: number;
  readonly deadline: number | undefined;
  readonly owners: readonly Owner[];
  readonly seen:
    | {
        readonly version: number | undefined;
        readonly phase: string;
        readonly started: boolean;
        readonly completed: number | undefined;
      }
    | undefined;
}
interface Secret {
  readonly name: string;
  readonly mode: string | undefined;
  readonly exists: boolean;
}
interface Image {
  readonly name: string;
  readonly tasks: readonly Task[];
  readonly secrets: readonly Secret[] | undefined;
}

const version = fc.constantFrom(undefined, 0, 0, 1, 2);
const ages = fc.oneof(
  fc.integer({ min: 0, max: 400 }),
  fc.integer({ min: 560, max: 640 }),
  fc.integer({ min: 0, max: 5000 }),
  fc.constantFrom(10 * minutes, 10 * minutes + 1),
);
const owner: fc.Arbitrary<Owner> = fc.record({
  kind: fc.constantFrom("ImagePullJob", "ImagePullJob", "Somebody"),
  name: fc.constantFrom("a", "b", "c"),
  uid: fc.constantFrom("u1", "u2", "u3", "u4"),
  alive: fc.boolean(),
  awaits: fc.boolean(),
});
const task: fc.Arbitrary<Task> = fc.record({
  tag: fc.constantFrom("1", "2", "latest"),
  version,
  created: fc.oneof({ weight: 9, arbitrary: ages }, { weight: 1, arbitrary: fc.constant(undefined) }),
  ttl: fc.integer({ min: 1, max: 900 }),
  deadline: fc.option(fc.integer({ min: 1, max: 1800 }), { nil: undefined }),
  owners: fc.uniqueArray(owner, { selector: ({ uid }) => uid, maxLength: 3 }),
  seen: fc.option(
    fc.record({
      version,
      phase: fc.constantFrom("Waiting", "Pulling", "Succeeded", "Failed"),
      started: fc.boolean(),
      completed: fc.option(fc.integer({ min: 0, max: 1200 }), { nil: undefined }),
    }),
    { nil: undefined },
  ),
});
const image: fc.Arbitrary<Image> = fc.record({
  name: fc.constantFrom("nginx", "busybox", "constructor"),
  tasks: fc.uniqueArray(task, { selector: ({ tag }) => tag, maxLength: 3 }),
  secrets: fc.option(
    fc.uniqueArray(
      fc.record({
        name: fc.constantFrom("s1", "s2", "s3"),
        mode: fc.constantFrom(undefined, "batch"),
        exists: fc.boolean(),
      }),
      { selector: ({ name }) => name, maxLength: 3 },
    ),
    { nil: undefined },
  ),
});
const images = fc.uniqueArray(image, { selector: ({ name }) => name, maxLength: 3 });

const ownerOf = ({ kind, name, uid }: Owner) => ({ kind, namespace: "ns", name, uid });
const secretOf = ({ name, mode }: Secret) => ({
  namespace: "ns",
  name,
  ...(mode === undefined ? {} : { mode }),
});
const tagOf = ({ tag, version, created, ttl, deadline, owners }: Task, kept = owners) => ({
  tag,
  ...(created === undefined ? {} : { createdAt: at(created) }),
  ...(version === undefined ? {} : { version }),
  pullPolicy: {
    ttlSecondsAfterFinished: ttl,
    ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
  },
  ...(owners.length === 0 ? {} : { ownerReferences: kept.map(ownerOf) }),
});

function stored(all: readonly Image[], labels: Record<string, string>): NodeImage {
  const spec: JsonObject = {};
  const statuses: JsonObject = {};
  for (const { name, tasks, secrets } of all) {
    spec[name] = {
      tags: tasks.map((one) => tagOf(one)),
      ...(secrets === undefined ? {} : { pullSecrets: secrets.map(secretOf) }),
    };
    const tags = tasks.flatMap(({ tag, seen }) =>
      seen === undefined
        ? []
        : [
            {
              tag,
              phase: seen.phase,
              ...(seen.version === undefined ? {} : { version: seen.version }),
              ...(seen.started ? { startTime: at(2000) } : {}),
              ...(seen.completed === undefined ? {} : { completionTime: at(seen.completed) }),
            },
          ],
    );
    if (tags.length > 0) statuses[name] = { tags };
  }
  const object = {
    metadata: { name: "n", uid: "uid-n", labels },
    spec: { images: spec },
    status: { desired: 9, imageStatuses: statuses },
  };
  return JSON.parse(JSON.stringify(object));
}

interface Outcome {
  readonly images: JsonObject;
  /** `image:tag message`, by the object they are about. */
  readonly events: readonly string[];
  readonly counters: JsonObject | undefined;
  readonly nextMs: number | undefined;
}

/** Rules N4.2 to N4.6, one after the other. */
function expected(all: readonly Image[]): Outcome {
  const result: JsonObject = {};
  const events: string[] = [];
  const counts = { desired: 0, succeeded: 0, failed: 0, pulling: 0, waiting: 0 };
  const due: number[] = [];
  let isSilent = false;
  for (const { name, tasks, secrets } of all) {
    const tags: JsonObject[] = [];
    for (const one of tasks) {
      if (one.created === undefined) continue;
      const { seen } = one;
      const current = seen !== undefined && (seen.version ?? 0) === (one.version ?? 0) ? seen : undefined;
      const living = one.owners.filter((each) => each.kind !== "ImagePullJob" || each.alive);
      if (one.owners.length > 0 && living.length === 0) continue;
      const isAwaited = living.some((each) => each.kind === "ImagePullJob" && each.awaits);
      if (current?.completed !== undefined && !isAwaited) {
        const left = one.ttl - current.completed;
        if (left <= 0) continue;
        due.push(left);
      }
      tags.push(tagOf(one, living));
      counts.desired++;
      const limit =
        current === undefined
          ? { seconds: 600, message: "node has not responded for a long time" }
          : one.deadline !== undefined && current.completed === undefined
            ? { seconds: one.deadline + 600, message: "pulling exceeds the activeDeadlineSeconds" }
            : undefined;
      if (limit !== undefined && one.created >= limit.seconds) {
        isSilent = true;
        counts.failed++;
        for (const about of ["n", ...living.map(({ uid }) => uid)])
          events.push(`${about}: Failed to pull image ${name}:${one.tag} on node n for ${limit.message}`);
        // It has failed now, and goes when its time is over.
        if (!isAwaited) due.push(one.ttl);
        continue;
      }
      if (limit !== undefined) due.push(limit.seconds - one.created);
      if (current?.phase === "Succeeded") counts.succeeded++;
      else if (current?.phase === "Failed") counts.failed++;
      else if (current?.phase === "Pulling") counts.pulling++;
      else if (current?.phase === "Waiting") counts.waiting++;
    }
    if (tags.length === 0) continue;
    result[name] = {
      tags,
      ...(secrets === undefined
        ? {}
        : { pullSecrets: secrets.filter(({ mode, exists }) => mode === "batch" || exists).map(secretOf) }),
    };
  }
  return {
    images: result,
    events: events.sort(),
    counters: isSilent ? counts : undefined,
    nextMs: due.length === 0 ? undefined : Math.min(...due) * 1000,
  };
}

/** Plans and carries out until nothing is left to do. */
function actual(all: readonly Image[], labels: Record<string, string>): Outcome & { object: NodeImage } {
  let object: NodeImage = stored(all, labels);
  const events: string[] = [];
  let counters: JsonObject | undefined;
  const owners = all.flatMap(({ tasks }) => tasks.flatMap((one) => one.owners));
  // What is alive is a matter of a job, not of a task: the same name and UID are one job.
  const isOne = (one: Owner, { name, uid }: TagOwner) => one.name === name && one.uid === uid && one.alive;
  const facts: Pick<NodeImageObserved, "jobExists" | "awaitsResult" | "secretExists"> = {
    jobExists: (owner) => owners.some((one) => isOne(one, owner)),
    awaitsResult: (owner) => owners.some((one) => isOne(one, owner) && one.awaits),
    secretExists: ({ name }) =>
      all.some(({ secrets }) => (secrets ?? []).some((one) => one.name === name && one.exists)),
  };
  for (let pass = 0; pass < 10; pass++) {
    const seen = { ...facts, node: { labels: { host: "n" }, readySince: 0 }, nodeImage: object };
    const plan = planOneNodeImage(seen, { creationDelayMs: 30_000 }, now);
    if (plan.effects.length === 0) {
      const images: JsonObject = JSON.parse(JSON.stringify(object.spec.images ?? {}));
      return { images, events: events.sort(), counters, nextMs: plan.requeueAfterMs, object };
    }
    for (const action of plan.effects) {
      if (action.type === "patch object")
        object = JSON.parse(JSON.stringify(applyMergePatch({ ...object }, { ...action.body })));
      else if (action.type === "patch status") {
        object = JSON.parse(JSON.stringify(applyMergePatch({ ...object }, { status: action.status })));
        const { desired, succeeded, failed, pulling, waiting } = object.status ?? { desired: 0 };
        counters = { desired, succeeded, failed, pulling, waiting };
      } else if (action.type === "event") events.push(`${action.about?.uid ?? "n"}: ${action.event.message}`);
      else throw new Error(`an action ${action.type} is not expected`);
    }
  }
  throw new Error("it does not settle");
}

/** One job is alive or not, wherever it is named; so are secrets. */
function agreed(all: readonly Image[]): Image[] {
  const alive = new Map<string, boolean>();
  const awaits = new Map<string, boolean>();
  const exists = new Map<string, boolean>();
  const first = (known: Map<string, boolean>, key: string, value: boolean) => {
    if (!known.has(key)) known.set(key, value);
    return known.get(key) ?? value;
  };
  return all.map(({ name, tasks, secrets }) => ({
    name,
    tasks: tasks.map((one) => ({
      ...one,
      owners: one.owners.map((each) => ({
        ...each,
        alive: first(alive, `${each.name} ${each.uid}`, each.alive),
        awaits: first(awaits, `${each.name} ${each.uid}`, each.awaits),
      })),
    })),
    secrets: secrets?.map((each) => ({ ...each, exists: first(exists, each.name, each.exists) })),
  }));
}

t.test(
  "property: what stays, what is said and when the next thing is due are as the rules have it",
  async (t) => {
    const met = { pruned: 0, silent: 0, kept: 0, relabelled: 0 };
    const property = fc.property(
      images,
      fc.constantFrom("n", "other"),
      fc.boolean(),
      (given, host, isForeign) => {
        const all = agreed(given);
        const want = expected(all);
        const got = actual(all, { host, ...(isForeign ? { of: "somebody" } : {}) });
        if (want.counters !== undefined) met.silent++;
        const before = Object.keys(stored(all, {}).spec.images ?? {}).length;
        if (Object.keys(want.images).length < before) met.pruned++;
        else if (before > 0) met.kept++;
        if (host === "other") met.relabelled++;
        return (
          jsonEqual(got.images, want.images) &&
          jsonEqual(got.events, want.events) &&
          jsonEqual(got.counters ?? null, want.counters ?? null) &&
          got.nextMs === want.nextMs &&
          jsonEqual(got.object.metadata.labels, { host: "n" })
        );
      },
    );
    t.doesNotThrow(() => fc.assert(property, { seed: 23_001, numRuns: 5000 }));
    t.ok(
      Object.values(met).every((count) => count > 500),
      JSON.stringify(met),
    );
  },
);

t.test("property: a node gets its NodeImage when, and loses it where, the rules say", async (t) => {
  const property = fc.property(
    fc.option(
      fc.record({
        ready: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
        type: fc.constantFrom(undefined, "virtual-kubelet", "metal"),
      }),
      { nil: undefined },
    ),
    fc.constantFrom("none", "real", "fake", "going"),
    fc.integer({ min: 0, max: 45 }),
    (node, found, delay) => {
      const labels: Record<string, string> = node?.type === undefined ? {} : { type: node.type };
      const own = found === "fake" ? { "apps.kruise.io/fake-nodeimage": "true" } : labels;
      const base = stored([], own);
      const nodeImage =
        found === "none"
          ? undefined
          : found === "going"
            ? { ...base, metadata: { ...base.metadata, deletionTimestamp: at(1) } }
            : base;
      const readySince = node?.ready === undefined ? undefined : now - node.ready * 1000;
      const seen = {
        jobExists: () => true,
        awaitsResult: () => false,
        secretExists: () => true,
        node: node === undefined ? undefined : { labels, readySince },
        nodeImage,
      };
      const { effects, requeueAfterMs } = planOneNodeImage(seen, { creationDelayMs: delay * 1000 }, now);
      const [action] = effects;
      if (found === "none") {
        const isDue = node?.ready !== undefined && node.type !== "virtual-kubelet" && node.ready >= delay;
        const isAwaited = node?.ready !== undefined && node.type !== "virtual-kubelet" && node.ready < delay;
        return (
          (action?.type === "create object") === isDue &&
          requeueAfterMs === (isAwaited ? (delay - (node.ready ?? 0)) * 1000 : undefined)
        );
      }
      if (found === "going") return action === undefined;
      if (node === undefined) return (action?.type === "delete object") === (found === "real");
      const isLabelled = jsonEqual(own, labels);
      return (action?.type === "patch object") === !isLabelled;
    },
  );
  t.doesNotThrow(() => fc.assert(property, { seed: 23_002, numRuns: 3000 }));
});
