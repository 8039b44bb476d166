import fc from "fast-check";
import t from "tap";
import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import { parseTime } from "../../../kube/core/index.ts";
import type { Cache } from "../../../kube/index.ts";
import {
  answered,
  nodeImage,
  nodeImageCache,
  pullJob,
  startMs,
  written,
} from "../../../testkit/controller/image_pull_job_builder.ts";
import { lacksSecret, nodeState, pullTarget, withTask } from "../../rollout/images/pull_task.ts";
import { awaitsResults, pruneNodeImage } from "../node_image/prune.ts";
import type { NodeCounts } from "./nodes.ts";
import { planImagePullJob } from "./plan.ts";
import { Tallies, type Tally } from "./tallies.ts";

function counts(over: Partial<NodeCounts> = {}): NodeCounts {
  const none = { desired: 3, active: 0, succeeded: 0, failed: 0, ready: 3, lacking: 0 };
  return { ...none, failedNodes: () => [], unfinishedNodes: () => [], ...over };
}

function plan(job: ImagePullJob, nodes: NodeCounts | undefined, now = startMs) {
  return planImagePullJob({ job, nodes, nodesDueAt: undefined, guarded: true, ownedByList: false }, now);
}

t.test("tells one node by default, and what it reports", async (t) => {
  const { tell, status, release, remove } = plan(pullJob(), counts());
  t.same({ tell, release, remove }, { tell: 1, release: false, remove: false });
  t.same(status, {
    startTime: "2026-01-01T00:00:00Z",
    desired: 3,
    active: 1,
    succeeded: 0,
    failed: 0,
    message: "job is running, progress 0.0%",
  });
});

t.test("parallelism bounds the nodes that are active", async (t) => {
  const active = counts({ active: 2, ready: 1 });
  t.equal(plan(pullJob({ parallelism: 2 }), active).tell, 0);
  t.equal(plan(pullJob({ parallelism: "10" }), active).tell, 1);
  t.equal(plan(pullJob({ parallelism: 0 }), counts()).tell, 0);
  t.throws(() => plan(pullJob({ parallelism: "50%" }), counts()), /spec.parallelism: "50%" is no number/);
});

t.test("a share of the nodes is given with one decimal", async (t) => {
  const { status } = plan(pullJob(), counts({ succeeded: 1, ready: 2 }));
  t.equal(status?.message, "job is running, progress 33.3%");
  const of16 = (succeeded: number) =>
    plan(pullJob(), counts({ desired: 16, succeeded, ready: 1 })).status?.message;
  t.equal(of16(1), "job is running, progress 6.2%", "6.25: the API rounds to the even one");
  t.equal(of16(3), "job is running, progress 18.8%");
  const never = pullJob({ completionPolicy: { type: "Never" } });
  t.equal(plan(never, counts({ desired: 0, ready: 0 })).status?.message, "job is running, no progress");
});

t.test("completes when every node has a result, at once without nodes", async (t) => {
  const done = counts({ succeeded: 2, failed: 1, ready: 0, failedNodes: () => ["b"] });
  const { status } = plan(pullJob(), done);
  t.match(status, { succeeded: 2, failed: 1, active: 0, failedNodes: ["b"], message: "job has completed" });
  t.equal(status?.completionTime, "2026-01-01T00:00:00Z");
  t.equal(plan(pullJob(), counts({ desired: 0, ready: 0 })).status?.message, "job has completed");
  const never = plan(pullJob({ completionPolicy: { type: "Never" } }), done);
  t.equal(never.status?.completionTime, undefined);
});

t.test("waits for the first NodeImages of its nodes, and no longer than their creation takes", async (t) => {
  const none = counts({ desired: 0, ready: 0 });
  const at = (now: number, nodesDueAt: number | undefined, status?: ImagePullJob["status"]) =>
    planImagePullJob(
      { job: pullJob({}, {}, status), nodes: none, nodesDueAt, guarded: true, ownedByList: false },
      now,
    );
  const early = at(startMs, startMs + 20_000);
  t.match(early, { requeueAfterMs: 30_000, status: { desired: 0, message: "job is running, no progress" } });
  t.equal(early.status?.completionTime, undefined);
  const started = { startTime: "2026-01-01T00:00:00Z", desired: 0 };
  t.equal(at(startMs + 30_000, startMs + 20_000, started).status?.message, "job has completed");
  const overdue = at(startMs + 4000, startMs - 60_000, started);
  t.equal(overdue.requeueAfterMs, 6000, "a controller that has just started makes them now");
  t.equal(at(startMs + 10_000, startMs - 60_000, started).status?.message, "job has completed");
  t.equal(at(startMs, undefined).status?.message, "job has completed", "a job that selects no node");
});

t.test("waits for nodes that are not known yet", async (t) => {
  const { tell, status } = plan(pullJob(), undefined);
  t.same({ tell, status }, { tell: 0, status: undefined });
});

t.test("the deadline counts from the start and fails what is left", async (t) => {
  const job = pullJob(
    { completionPolicy: { type: "Always", activeDeadlineSeconds: 700 } },
    {},
    { startTime: "2026-01-01T00:00:00Z", desired: 3 },
  );
  t.equal(plan(job, counts(), startMs + 1000).requeueAfterMs, 699_000);
  const late = counts({ active: 1, succeeded: 1, ready: 1, unfinishedNodes: () => ["c", "b"] });
  const { status } = plan(job, late, startMs + 700_000);
  t.match(status, { failed: 2, active: 0, succeeded: 1, message: "job exceeds activeDeadlineSeconds" });
  t.same(status?.failedNodes, ["b", "c"]);
});

t.test("a finished job gives its secrets back, and goes after its time to live", async (t) => {
  const job = pullJob(
    { completionPolicy: { type: "Always", ttlSecondsAfterFinished: 20 } },
    {},
    { desired: 1, completionTime: "2026-01-01T00:00:00Z" },
  );
  const early = plan(job, undefined, startMs + 5000);
  t.match(early, { release: true, remove: false, requeueAfterMs: 15_000 });
  t.equal(early.status, undefined);
  t.equal(plan(job, undefined, startMs + 20_000).remove, true);
  const child = { job, nodes: undefined, nodesDueAt: undefined, guarded: false, ownedByList: true };
  t.match(planImagePullJob(child, startMs + 60_000), { remove: false, release: false });
});

t.test("a job that is being deleted only gives back", async (t) => {
  const job = pullJob({}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  t.match(plan(job, counts()), { release: true, tell: 0, remove: false });
});

t.test("guards copies before they are made", async (t) => {
  const job = pullJob({ pullSecrets: ["a"] });
  const seen = { job, nodes: undefined, nodesDueAt: undefined, guarded: false, ownedByList: false };
  t.equal(planImagePullJob(seen, startMs).guard, true);
  t.equal(planImagePullJob({ ...seen, guarded: true }, startMs).guard, false);
  t.equal(planImagePullJob({ ...seen, job: pullJob() }, startMs).guard, false);
});

t.test("of fifty jobs for tags of one image, a tag that goes enqueues its own job alone", async (t) => {
  const cache = nodeImageCache([nodeImage("n1")]);
  const enqueued: string[] = [];
  const tallies = new Tallies(cache, (key) => enqueued.push(key));
  const jobs = Array.from({ length: 50 }, (_, index) =>
    pullJob({ image: `nginx:${index}` }, { name: `job-${index}`, uid: `uid-${index}` }),
  );
  const task = { ttlSeconds: 300, chance: 0, now: startMs };
  for (const job of jobs) {
    tallies.of(`ns/${job.metadata.name}`, job, [], undefined);
    const found = cache.get("n1") ?? nodeImage("n1");
    cache.upsert(written(found, { spec: withTask(found, job, pullTarget(job, []), task) }));
  }
  const full = answered(cache.get("n1") ?? nodeImage("n1"), "Succeeded");
  cache.upsert(full);
  cache.subscribe((change) => tallies.nodeImageChanged(change));
  for (const job of jobs)
    tallies.of(
      `ns/${job.metadata.name}`,
      { ...job, metadata: { ...job.metadata, generation: 2 } },
      [],
      undefined,
    );
  enqueued.length = 0;
  const { nginx } = full.spec.images ?? {};
  const tags = nginx?.tags.filter(({ tag }) => tag !== "7") ?? [];
  t.equal(tags.length, 49);
  cache.upsert(written(full, { spec: { images: { nginx: { ...nginx, tags } } } }));
  t.same(enqueued, ["ns/job-7"]);
});

/** A controller and its nodes, without time and without a server. */
class Model {
  readonly cache: Cache<NodeImage> = nodeImageCache();
  readonly job: ImagePullJob;
  /** Nodes whose write is under way. */
  readonly inFlight = new Set<string>();
  tallies: Tallies;
  status: ImagePullJob["status"];

  constructor(parallelism: number) {
    this.job = pullJob({ parallelism, selector: { matchLabels: { pool: "a" } } });
    this.tallies = this.#newTallies();
    this.cache.subscribe((change) => this.tallies.nodeImageChanged(change));
  }

  #newTallies(): Tallies {
    return new Tallies(this.cache, () => undefined);
  }

  get tally(): Tally {
    return this.tallies.of("ns/job", this.job, [], undefined);
  }

  put(name: string, pool: string): void {
    const before = this.cache.get(name);
    const metadata = { labels: { pool } };
    this.cache.upsert(before === undefined ? nodeImage(name, { metadata }) : written(before, { metadata }));
  }

  remove(name: string): void {
    const found = this.cache.get(name);
    if (found === undefined) return;
    this.cache.remove(name, found.metadata.uid ?? "");
    // The next of this name is another object.
    this.inFlight.delete(name);
    this.tally.nodes.endWrite(name);
  }

  answer(name: string, phase: string): void {
    const found = this.cache.get(name);
    if (found !== undefined) this.cache.upsert(answered(found, phase));
  }

  pass(): void {
    const { nodes } = this.tally;
    const seen = { job: this.job, nodes, nodesDueAt: undefined, guarded: true, ownedByList: false };
    const { tell, status } = planImagePullJob(seen, startMs);
    this.status = status;
    for (const name of nodes.first(tell)) {
      nodes.beginWrite(name);
      this.inFlight.add(name);
    }
  }

  land(name: string, stored: boolean): void {
    if (!this.inFlight.delete(name)) return;
    const { nodes, target } = this.tally;
    const found = this.cache.get(name);
    if (stored && found !== undefined) {
      const options = { ttlSeconds: 300, chance: 0.5, now: startMs };
      this.cache.upsert(written(found, { spec: withTask(found, this.job, target, options) }));
    }
    nodes.endWrite(name);
  }

  /** The process dies; writes in flight are lost or stored. */
  crash(stored: boolean): void {
    for (const name of [...this.inFlight]) this.land(name, stored);
    this.tallies = this.#newTallies();
  }

  /** What the counts must be, by looking at everything. */
  recount() {
    const target = pullTarget(this.job, []);
    const selected = [...this.cache.values()].filter(({ metadata }) => metadata.labels?.["pool"] === "a");
    const states = selected.map((each) => ({
      name: each.metadata.name ?? "",
      state: nodeState(each, target),
    }));
    const isWriting = ({ name }: { name: string }) => this.inFlight.has(name);
    const of = (wanted: string) => states.filter(({ state }) => state === wanted);
    const ready = of("unassigned").filter((each) => !isWriting(each));
    return {
      desired: states.length,
      active: of("active").length + of("unassigned").filter(isWriting).length,
      succeeded: of("succeeded").length,
      failed: of("failed").length,
      ready: ready.length,
      first: ready.map(({ name }) => name).sort(),
      failedNodes: of("failed")
        .map(({ name }) => name)
        .sort(),
    };
  }
}

const names = ["n1", "n10", "n2", "n3", "n4", "n5"];
const step = fc.oneof(
  fc.record({
    do: fc.constant("put" as const),
    node: fc.constantFrom(...names),
    pool: fc.constantFrom("a", "b"),
  }),
  fc.record({ do: fc.constant("remove" as const), node: fc.constantFrom(...names) }),
  fc.record({
    do: fc.constant("answer" as const),
    node: fc.constantFrom(...names),
    phase: fc.constantFrom("Waiting", "Pulling", "Succeeded", "Failed"),
  }),
  fc.record({ do: fc.constant("land" as const), node: fc.constantFrom(...names), stored: fc.boolean() }),
  fc.record({ do: fc.constant("crash" as const), stored: fc.boolean() }),
  fc.record({ do: fc.constant("pass" as const) }),
);

t.test("property: counts kept node by node are those of a recount; parallelism holds; it ends", async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 }), (parallelism, steps) => {
      const model = new Model(parallelism);
      for (const name of names) model.put(name, "a");
      for (const each of steps) {
        const before = model.recount().active;
        act(model, each);
        const { nodes } = model.tally;
        const { first, failedNodes, ...expected } = model.recount();
        const { desired, active, succeeded, failed, ready } = nodes;
        if (JSON.stringify({ desired, active, succeeded, failed, ready }) !== JSON.stringify(expected))
          return false;
        if (nodes.first(99).join() !== first.join() || nodes.failedNodes().join() !== failedNodes.join())
          return false;
        // Nodes that come back to the selection may exceed it; a pass never adds beyond it.
        if (each.do === "pass" && active > Math.max(before, parallelism)) return false;
      }
      for (let turn = 0; turn < 40 && model.status?.completionTime === undefined; turn++) {
        model.pass();
        for (const name of names) {
          model.land(name, true);
          model.answer(name, "Succeeded");
        }
      }
      const { status } = model;
      return status !== undefined && status.desired === (status.succeeded ?? 0) + (status.failed ?? 0);
    }),
    { seed: 48, numRuns: 300 },
  );
  t.pass("held in all runs");
});

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function act(model: Model, each: Step): void {
  if (each.do === "put") model.put(each.node, each.pool);
  else if (each.do === "remove") model.remove(each.node);
  else if (each.do === "answer") model.answer(each.node, each.phase);
  else if (each.do === "land") model.land(each.node, each.stored);
  else if (each.do === "crash") model.crash(each.stored);
  else model.pass();
}

/** How often nodes were told until the job had ended, where each pull takes a minute; undefined if it does not end. */
function toldUntilEnd(spec: Partial<ImagePullJob["spec"]>, nodes: number): number | undefined {
  const cache = nodeImageCache(Array.from({ length: nodes }, (_, index) => nodeImage(`n${index}`)));
  const tallies = new Tallies(cache, () => undefined);
  cache.subscribe((change) => tallies.nodeImageChanged(change));
  let job = pullJob(spec);
  let told = 0;
  for (let now = startMs; now < startMs + 2 * nodes * 60_000; ) {
    const { nodes: counted, target } = tallies.of("ns/job", job, [], undefined);
    const { tell, status } = plan(job, counted, now);
    job = { ...job, status };
    if (status?.completionTime !== undefined) return told;
    for (const name of counted.first(tell)) {
      told++;
      const found = cache.get(name) ?? nodeImage(name);
      const task = { ttlSeconds: 300, chance: 0, now };
      cache.upsert(written(found, { spec: withTask(found, job, target, task) }));
    }
    now += 60_000;
    const facts = {
      now,
      jobExists: () => true,
      secretExists: () => true,
      awaitsResult: () => awaitsResults(job),
    };
    for (const found of [...cache.values()]) {
      const done = answered(found, "Succeeded", now);
      cache.upsert(done);
      const { spec: pruned } = pruneNodeImage(done, facts);
      if (pruned !== done.spec) cache.upsert(written(done, { spec: pruned }));
    }
  }
  return undefined;
}

t.test("results stay until the job has those of all nodes, however long that takes", async (t) => {
  const short = { completionPolicy: { type: "Always", ttlSecondsAfterFinished: 20 } };
  t.equal(toldUntilEnd(short, 30), 30, "a task lives for five minutes");
  t.equal(toldUntilEnd({}, 60), 60, "for 35");
  t.equal(toldUntilEnd({ pullPolicy: { timeoutSeconds: 600, backoffLimit: -1 } }, 3), 3, "not for a moment");
});

t.test("a second job on a pulled tag has it pulled again, and both are owners", async (t) => {
  const options = { ttlSeconds: 300, chance: 0, now: startMs };
  const first = pullJob({ sandboxConfig: { labels: { a: "b" } } });
  const second = pullJob({ imagePullPolicy: "Always" }, { name: "second", uid: "uid-second" });
  const one = nodeImage("n");
  const assigned = written(one, { spec: withTask(one, first, pullTarget(first, []), options) });
  t.match(assigned.spec.images?.["nginx"], { sandboxConfig: { labels: { a: "b" } } });
  const done = answered(assigned, "Succeeded");
  t.equal(nodeState(done, pullTarget(first, [])), "succeeded");
  const both = written(done, { spec: withTask(done, second, pullTarget(second, []), options) });
  const [tag] = both.spec.images?.["nginx"]?.tags ?? [];
  t.match(tag, { version: 1, imagePullPolicy: "Always" });
  t.same(
    tag?.ownerReferences?.map(({ uid }) => uid),
    ["uid-job", "uid-second"],
  );
  t.equal(both.spec.images?.["nginx"]?.sandboxConfig, undefined, "the last job's settings count, also none");
  t.equal(nodeState(both, pullTarget(first, [])), "active");
  t.equal(withTask(both, second, pullTarget(second, []), options), both.spec, "once is enough");
});

t.test("a task carries the job's times, spread by chance", async (t) => {
  const policyOf = (job: ImagePullJob, chance: number) => {
    const one = nodeImage("n");
    const options = { ttlSeconds: 300, chance, now: startMs };
    return withTask(one, job, pullTarget(job, []), options).images?.["nginx"]?.tags[0]?.pullPolicy;
  };
  t.same(policyOf(pullJob(), 0), { timeoutSeconds: 600, backoffLimit: 3, ttlSecondsAfterFinished: 2100 });
  const always = { type: "Always", activeDeadlineSeconds: 700, ttlSecondsAfterFinished: 20 };
  t.same(policyOf(pullJob({ completionPolicy: always }), 0.999), {
    timeoutSeconds: 600,
    backoffLimit: 3,
    ttlSecondsAfterFinished: 619,
    activeDeadlineSeconds: 700,
  });
  const never = policyOf(pullJob({ completionPolicy: { type: "Never" } }), 0);
  t.match(never, { ttlSecondsAfterFinished: 85_800, activeDeadlineSeconds: 1800 });
  for (const long of [
    { completionPolicy: { type: "Always", ttlSecondsAfterFinished: 2_147_483_647 } },
    { completionPolicy: { type: "Always", activeDeadlineSeconds: 10_000_000_000 } },
    { pullPolicy: { timeoutSeconds: 86_400, backoffLimit: 100_000 } },
  ]) {
    t.match(
      policyOf(pullJob(long), 0),
      { ttlSecondsAfterFinished: 2_147_483_647 },
      "no more than the API takes",
    );
  }
});

t.test(
  "late secrets are added without another pull; a stale status is recognised by its version",
  async (t) => {
    const options = { ttlSeconds: 300, chance: 0, now: startMs };
    const job = pullJob({ image: "constructor" });
    const one = nodeImage("n");
    const assigned = written(one, { spec: withTask(one, job, pullTarget(job, []), options) });
    const secret = { namespace: "kruise-daemon-config", name: "s-000000", mode: "batch" };
    const target = pullTarget(job, [secret]);
    for (const done of [assigned, answered(assigned, "Succeeded"), answered(assigned, "Failed")]) {
      t.equal(lacksSecret(done, target), true);
      const after = written(done, { spec: withTask(done, job, target, options) });
      t.equal(lacksSecret(after, target), false);
      t.equal(nodeState(after, target), nodeState(done, target), "nothing is pulled again");
    }
    const supplied = written(assigned, { spec: withTask(assigned, job, target, options) });
    const image = Object.entries(supplied.spec.images ?? {})[0]?.[1];
    t.match(image, { pullSecrets: [secret], tags: [{ tag: "latest", version: 0 }] });
    const stale = answered(supplied, "Failed");
    const emptied = written(stale, { spec: {} });
    const again = written(emptied, { spec: withTask(emptied, job, target, options) });
    t.equal(again.spec.images?.["constructor"]?.tags[0]?.version, 1);
    t.equal(nodeState(again, target), "active");
    t.equal(parseTime(again.spec.images?.["constructor"]?.tags[0]?.createdAt ?? ""), startMs);
  },
);
