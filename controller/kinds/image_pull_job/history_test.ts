/** Random histories of pull jobs, their list, NodeImages and agents, all at once. Spec: images P4, L3, N4, 7. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import type { ImagePullJobSpec } from "../../../crds/index.ts";
import { startMs } from "../../../testkit/controller/image_pull_job_builder.ts";
import { PullWorld } from "../../../testkit/controller/image_pull_world.ts";

const second = 1000;
const hour = 3600 * second;

const images = ["nginx:1", "nginx:2", "busybox"];
const nodeName = fc.constantFrom("n1", "n10", "n2", "n3");
const completionPolicy = fc.oneof(
  fc.constant({ type: "Never" }),
  fc.record(
    {
      type: fc.constant("Always"),
      activeDeadlineSeconds: fc.constantFrom(60, 600, 3600),
      ttlSecondsAfterFinished: fc.constantFrom(0, 20, 4000),
    },
    { requiredKeys: ["type"] },
  ),
);
const template = fc.record(
  {
    completionPolicy,
    parallelism: fc.constantFrom(0, 1, 2, "3"),
    selector: fc.constantFrom<NonNullable<ImagePullJobSpec["selector"]>>(
      { matchLabels: { pool: "a" } },
      { names: ["n1", "n2"] },
    ),
    pullPolicy: fc.record({ timeoutSeconds: fc.constantFrom(10, 60), backoffLimit: fc.constantFrom(0, 3) }),
  },
  { requiredKeys: ["completionPolicy"] },
);
const listImages = fc.uniqueArray(fc.constantFrom(...images, "redis"), { minLength: 1, maxLength: 3 });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("pass" as const), job: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("land" as const), index: fc.nat(5), stored: fc.boolean() }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom("node pass" as const, "work" as const), node: nodeName }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("end" as const), node: nodeName, ok: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("clock" as const),
      by: fc.constantFrom(1, 30, 60, 700, 5000, 90_000, -20, -1000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("round" as const) }) },
  fc.record({ do: fc.constant("node" as const), node: nodeName, pool: fc.constantFrom("a", "b", undefined) }),
  fc.record({
    do: fc.constant("gone" as const),
    node: nodeName,
    what: fc.constantFrom("node", "image", "ready"),
  }),
  fc.record({ do: fc.constant("job" as const), spec: template, image: fc.constantFrom(...images) }),
  fc.record({
    do: fc.constant("change" as const),
    job: fc.nat(5),
    spec: template,
    image: fc.option(fc.constantFrom(...images), { nil: undefined }),
  }),
  fc.record({ do: fc.constant("remove" as const), job: fc.nat(5) }),
  fc.record({ do: fc.constant("list" as const), spec: template, images: listImages }),
  fc.record({ do: fc.constant("list images" as const), images: listImages }),
  fc.record({ do: fc.constant("restart" as const), node: nodeName, keeps: fc.boolean() }),
  fc.record({ do: fc.constant("runtime" as const), node: nodeName, ready: fc.boolean() }),
  fc.record({ do: fc.constant("crash" as const), stored: fc.boolean() }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(world: PullWorld, each: Step): void {
  const name = "job" in each ? [...world.jobs.keys()][each.job] : undefined;
  switch (each.do) {
    case "pass":
      if (name === undefined) world.passList();
      else world.passJob(name);
      return;
    case "land":
      world.land(each.index, each.stored);
      return;
    case "node pass":
      world.passNode(each.node);
      return;
    case "work":
      world.work(each.node);
      return;
    case "end":
      world.end(each.node, each.ok);
      return;
    case "clock":
      world.now += each.by * second;
      return;
    case "round":
      world.round();
      return;
    case "node": {
      const { readySince = world.now } = world.nodes.get(each.node) ?? {};
      world.nodes.set(each.node, { labels: each.pool === undefined ? {} : { pool: each.pool }, readySince });
      return;
    }
    case "gone": {
      const found = world.cache.get(each.node);
      const node = world.nodes.get(each.node);
      if (each.what === "node") world.nodes.delete(each.node);
      else if (each.what === "ready" && node !== undefined)
        world.nodes.set(each.node, { ...node, readySince: undefined });
      else if (each.what === "image" && found !== undefined)
        world.cache.remove(each.node, found.metadata.uid ?? "");
      return;
    }
    case "job":
      if (world.jobs.size < 4) world.makeJob({ ...each.spec, image: each.image });
      return;
    case "change":
      if (name !== undefined && !name.startsWith("list"))
        world.changeJob(name, each.image === undefined ? each.spec : { ...each.spec, image: each.image });
      return;
    case "remove":
      if (name !== undefined) world.removeJob(name);
      return;
    case "list":
      world.list = {
        ...world.list,
        metadata: world.list?.metadata ?? { name: "list", namespace: "ns", uid: "uid-list", labels: {} },
        spec: { ...each.spec, images: each.images },
      };
      return;
    case "list images":
      if (world.list !== undefined)
        world.list = { ...world.list, spec: { ...world.list.spec, images: each.images } };
      return;
    case "restart":
      world.restart(each.node, each.keeps);
      return;
    case "runtime":
      world.agent(each.node).runtimeReady = each.ready;
      return;
    case "crash":
      world.crash(each.stored);
  }
}

function letAllGoOn(world: PullWorld): void {
  const ready = [...world.nodes.values()].map(({ readySince = 0 }) => readySince);
  world.now = Math.max(world.now, ...ready);
  for (const agent of world.agents.values()) agent.runtimeReady = true;
  for (const [name, node] of world.nodes)
    world.nodes.set(name, { ...node, readySince: node.readySince ?? world.now });
  for (const [name, { spec }] of world.jobs)
    if (!name.startsWith("list") && spec.parallelism === 0) world.changeJob(name, { parallelism: 1 });
  if (world.list?.spec.parallelism === 0) {
    const { parallelism: _, ...spec } = world.list.spec;
    world.list = { ...world.list, spec };
  }
}

t.test("property: whatever happens, every job that may end ends, and nothing is left of it", async (t) => {
  const run = fc.property(fc.array(step, { minLength: 10, maxLength: 80 }), (steps) => {
    const world = new PullWorld();
    for (const name of ["n1", "n2"]) world.nodes.set(name, { labels: { pool: "a" }, readySince: startMs });
    for (const each of steps) take(world, each);
    letAllGoOn(world);
    let quiet = 0;
    for (let round = 0; round < 600 && quiet < 10; round++) {
      quiet = world.round() ? 0 : quiet + 1;
      world.now += 5 * second;
    }
    if (quiet < 10) throw new Error("it never rests");
    const isEndless = (spec: Pick<ImagePullJobSpec, "completionPolicy">) =>
      spec.completionPolicy?.type === "Never";
    for (const [name, job] of world.jobs) {
      const { active, unassigned, succeeded, failed } = world.recount(job);
      if (job.status?.completionTime !== undefined) continue;
      if (!isEndless(job.spec)) throw new Error(`${name} did not end: ${JSON.stringify(job)}`);
      if (
        active + unassigned > 0 ||
        succeeded !== job.status?.succeeded ||
        failed !== (job.status?.failed ?? 0)
      )
        throw new Error(`${name} is not done: ${JSON.stringify(job)}`);
    }
    if (world.list !== undefined) {
      const { spec, status } = world.list;
      if (!isEndless(spec) && status?.completionTime === undefined) throw new Error("the list did not end");
      const over = status?.completionTime !== undefined;
      if (
        !over &&
        !isDeepStrictEqual(
          world
            .children()
            .map((each) => each.spec.image)
            .sort(),
          [...spec.images].sort(),
        )
      )
        throw new Error("not a job an image");
    }
    for (const name of world.jobs.keys()) world.removeJob(name);
    world.list = undefined;
    for (let round = 0; round < 3; round++) world.round();
    world.now += 72 * hour;
    for (let round = 0; round < 3; round++) world.round();
    const found = [...world.cache.values()];
    if (found.length !== world.nodes.size) throw new Error("not a NodeImage a node");
    for (const { spec, status } of found) {
      if (Object.keys(spec.images ?? {}).length > 0) throw new Error(`left: ${JSON.stringify(spec)}`);
      if ((status?.desired ?? 0) > 0) throw new Error(`left: ${JSON.stringify(status)}`);
    }
  });
  fc.assert(run, { seed: 1, numRuns: 1500 });
  t.pass("held in all runs");
});
