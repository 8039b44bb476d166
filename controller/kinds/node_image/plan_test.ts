import fc from "fast-check";
import t from "tap";
import type { NodeImage } from "../../../crds/index.ts";
import { formatTime } from "../../../kube/core/index.ts";
import { type NodeImageObserved, planOneNodeImage } from "./plan.ts";
import { pruneNodeImage } from "./prune.ts";

/** 2026-01-01T00:00:00Z */
const now = 1_767_225_600_000;
const options = { creationDelayMs: 30_000 };
const labels = { "kubernetes.io/hostname": "n" };
const everything = { jobExists: () => true, awaitsResult: () => false, secretExists: () => true };
const node = { labels, readySince: now - 60_000 };
const job = { kind: "ImagePullJob", namespace: "ns", name: "job", uid: "uid-job" };

type Tag = NonNullable<NodeImage["spec"]["images"]>[string]["tags"][number];

function nodeImage(tags: Tag[], status?: NodeImage["status"], extra: object = {}): NodeImage {
  return {
    metadata: { name: "n", uid: "uid-n", labels },
    spec: tags.length === 0 ? {} : { images: { nginx: { tags, ...extra } } },
    ...(status === undefined ? {} : { status }),
  };
}

function tag(over: Partial<Tag> = {}): Tag {
  const pullPolicy = { ttlSecondsAfterFinished: 300 };
  return { tag: "1", createdAt: formatTime(now), pullPolicy, ...over };
}

function status(over: object): NonNullable<NodeImage["status"]> {
  return { desired: 1, imageStatuses: { nginx: { tags: [{ tag: "1", phase: "Pulling", ...over }] } } };
}

function plan(observed: Partial<NodeImageObserved>, at = now) {
  const all = { ...everything, node, nodeImage: undefined, ...observed };
  const { effects, requeueAfterMs } = planOneNodeImage(all, options, at);
  const [action, ...events] = effects;
  return { action, events, requeueAfterMs };
}

t.test("a node gets its NodeImage when it has been Ready for long enough", async (t) => {
  t.same(plan({}).action, { type: "create object", body: { metadata: { labels }, spec: {} } });
  const fresh = plan({ node: { labels, readySince: now - 10_000 } });
  t.match(fresh, { action: undefined, requeueAfterMs: 20_000 });
  t.match(plan({ node: { labels, readySince: undefined } }), {
    action: undefined,
    requeueAfterMs: undefined,
  });
  const virtual = { labels: { type: "virtual-kubelet" }, readySince: 0 };
  t.equal(plan({ node: virtual }).action, undefined);
});

t.test("labels are those of the node; foreign ones go", async (t) => {
  const found = nodeImage([]);
  t.equal(plan({ nodeImage: found }).action, undefined);
  const foreign = { ...found, metadata: { ...found.metadata, labels: { ...labels, mine: "1" } } };
  t.match(plan({ nodeImage: foreign }).action, {
    type: "patch object",
    body: { metadata: { labels: { mine: null } } },
    exact: true,
  });
});

t.test("it goes with its node, unless it says that it has none", async (t) => {
  const found = nodeImage([]);
  t.match(plan({ node: undefined, nodeImage: found }).action, { type: "delete object" });
  const fake = { ...found, metadata: { name: "n", labels: { "apps.kruise.io/fake-nodeimage": "true" } } };
  t.equal(plan({ node: undefined, nodeImage: fake }).action, undefined);
  const going = { ...found, metadata: { ...found.metadata, deletionTimestamp: formatTime(now) } };
  t.equal(plan({ node: undefined, nodeImage: going }).action, undefined);
});

t.test("a finished task goes after its time to live", async (t) => {
  const done = status({ phase: "Succeeded", completionTime: formatTime(now) });
  const found = nodeImage([tag()], done);
  t.match(plan({ nodeImage: found }), { action: undefined, requeueAfterMs: 300_000 });
  t.match(plan({ nodeImage: found }, now + 300_000).action, {
    type: "patch object",
    body: { spec: { images: { nginx: null } } },
    exact: true,
  });
  const newer = nodeImage([tag({ version: 1 })], done);
  t.match(plan({ nodeImage: newer }), { action: undefined, requeueAfterMs: 600_000 });
});

t.test("owners that are gone are dropped, and the tag with the last of them", async (t) => {
  const gone = { jobExists: ({ uid }: { uid?: string }) => uid !== "uid-job" };
  const other = { ...job, uid: "uid-other" };
  const both = nodeImage([tag({ ownerReferences: [job, other] })]);
  t.match(plan({ nodeImage: both, ...gone }).action, {
    body: { spec: { images: { nginx: { tags: [{ ownerReferences: [other] }] } } } },
  });
  const only = nodeImage([tag({ ownerReferences: [job] })]);
  t.match(plan({ nodeImage: only, ...gone }).action, { body: { spec: { images: { nginx: null } } } });
  t.equal(plan({ nodeImage: nodeImage([tag()]), ...gone }).action, undefined, "never had any");
  const foreign = { kind: "CronJob", uid: "uid-job" };
  t.equal(plan({ nodeImage: nodeImage([tag({ ownerReferences: [foreign] })]), ...gone }).action, undefined);
});

t.test("a tag without the time of its creation is no task", async (t) => {
  const { createdAt: _, ...timeless } = tag();
  t.match(plan({ nodeImage: nodeImage([timeless, tag({ tag: "2" })]) }).action, {
    body: { spec: { images: { nginx: { tags: [{ tag: "2" }] } } } },
  });
});

t.test("secrets that are no copies are dropped when they are gone", async (t) => {
  const secrets = [
    { namespace: "c", name: "old" },
    { namespace: "c", name: "copy", mode: "batch" },
  ];
  const found = nodeImage([tag()], undefined, { pullSecrets: secrets });
  t.match(plan({ nodeImage: found, secretExists: () => false }).action, {
    body: { spec: { images: { nginx: { pullSecrets: [{ name: "copy" }] } } } },
  });
});

t.test("a node that does not answer for ten minutes has failed", async (t) => {
  const found = nodeImage([tag({ ownerReferences: [job] })]);
  t.equal(plan({ nodeImage: found }).requeueAfterMs, 600_000);
  const { action, events } = plan({ nodeImage: found }, now + 600_000);
  t.match(action, {
    type: "patch status",
    exact: true,
    status: {
      desired: 1,
      failed: 1,
      imageStatuses: {
        nginx: {
          tags: [
            {
              tag: "1",
              phase: "Failed",
              completionTime: formatTime(now + 600_000),
              message: "node has not responded for a long time",
            },
          ],
        },
      },
    },
  });
  const reason = "PullImageFailed";
  const message = "Failed to pull image nginx:1 on node n for node has not responded for a long time";
  t.match(events, [
    { event: { type: "Warning", reason, message }, about: undefined },
    { event: { reason, message }, about: { apiVersion: "apps.kruise.io/v1beta1", ...job } },
  ]);
});

t.test("of a tag that is there twice the first is said to have failed, once", async (t) => {
  const twice = nodeImage([tag({ version: 2 }), tag({ version: 3 })]);
  const { action } = plan({ nodeImage: twice }, now + 600_000);
  t.match(action, { status: { imageStatuses: { nginx: { tags: [{ tag: "1", version: 2 }] } } } });
  const failed = nodeImage(
    [tag({ version: 2 }), tag({ version: 3 })],
    status({ phase: "Failed", version: 2, completionTime: formatTime(now + 600_000) }),
  );
  t.equal(plan({ nodeImage: failed }, now + 600_000).action, undefined);
});

t.test("a task that is ten minutes past its deadline has failed", async (t) => {
  const pullPolicy = { ttlSecondsAfterFinished: 1, activeDeadlineSeconds: 60 };
  const found = nodeImage([tag({ pullPolicy })], status({ startTime: formatTime(now) }));
  t.equal(plan({ nodeImage: found }).requeueAfterMs, 660_000);
  t.match(plan({ nodeImage: found }, now + 660_000).events, [
    { event: { message: /pulling exceeds the activeDeadlineSeconds$/ } },
  ]);
  const slow = nodeImage([tag()], status({ startTime: formatTime(now) }));
  t.match(plan({ nodeImage: slow }, now + 3_600_000), { action: undefined, requeueAfterMs: undefined });
});

const tags = fc.uniqueArray(
  fc.record({
    tag: fc.constantFrom("1", "2", "3", "4"),
    version: fc.integer({ min: 0, max: 2 }),
    createdAt: fc.constantFrom(formatTime(now), formatTime(now - 3_600_000), "never"),
    ownerReferences: fc.array(fc.constantFrom(job, { ...job, uid: "gone" }), { maxLength: 2 }),
    pullPolicy: fc.record({ ttlSecondsAfterFinished: fc.constantFrom(0, 60, 7200) }),
  }),
  { selector: (each) => each.tag },
);
const statuses = fc.uniqueArray(
  fc.record({
    tag: fc.constantFrom("1", "2", "3", "4"),
    version: fc.integer({ min: 0, max: 2 }),
    phase: fc.constantFrom("Waiting", "Pulling", "Succeeded", "Failed"),
    completionTime: fc.constantFrom(formatTime(now), formatTime(now - 600_000), "never"),
  }),
  { selector: (each) => each.tag },
);

t.test(
  "property: pruning settles in one pass, adds nothing, and asks to be called when the next thing goes",
  async (t) => {
    const facts = {
      jobExists: ({ uid }: { uid?: string }) => uid !== "gone",
      awaitsResult: () => false,
      secretExists: () => true,
      now,
    };
    fc.assert(
      fc.property(tags, statuses, (spec, observed) => {
        const before = nodeImage(spec, { desired: 0, imageStatuses: { nginx: { tags: observed } } });
        const { spec: pruned, nextAt } = pruneNodeImage(before, facts);
        const after = { ...before, spec: pruned };
        if (pruneNodeImage(after, facts).spec !== pruned) return false;
        const left = pruned.images?.["nginx"]?.tags ?? [];
        if (!left.every(({ tag: name }) => spec.some((each) => each.tag === name))) return false;
        if (nextAt === undefined) return true;
        if (pruneNodeImage(after, { ...facts, now: nextAt - 1 }).spec !== pruned) return false;
        return nextAt > now && pruneNodeImage(after, { ...facts, now: nextAt }).spec !== pruned;
      }),
      { seed: 48, numRuns: 500 },
    );
    t.pass("held in all runs");
  },
);
