/** What a UnitedDeployment asks of the server, and that it ends as it should be whatever is lost on the way. */
import fc from "fast-check";
import t from "tap";
import { type Client, KubeError } from "../../../kube/index.ts";
import { setTemplate, UnitedWorld } from "../../../testkit/controller/united_world.ts";
import { type Fault, withFaults } from "../../../testkit/kube/fake_faults.ts";

const subsets = (...names: readonly string[]) => ({ topology: { subsets: names.map((name) => ({ name })) } });

async function scene() {
  const world = new UnitedWorld();
  world.apply(subsets("a", "b", "c"));
  await world.start();
  await world.settle();
  const { calls } = world.server;
  /** What was asked since, but for events. */
  const asked = () => calls.splice(0).filter((call) => !call.includes(" events "));
  asked();
  return { world, asked };
}

const kindsOf = (calls: readonly string[]) => calls.map((call) => call.split(" ").slice(0, 2).join(" "));

t.test(
  "a new template costs one look at itself, a revision and one request a workload: nothing else is read",
  async (t) => {
    const { world, asked } = await scene();
    t.strictSame(world.sizes(), { a: "2", b: "2", c: "2" });
    world.apply({ template: setTemplate("b") });
    await world.settle();
    const calls = kindsOf(asked());
    const writes = calls.filter((call) => call !== "patch uniteddeployments");
    t.strictSame(writes.sort(), [
      "create controllerrevisions",
      "get uniteddeployments",
      "patch statefulsets",
      "patch statefulsets",
      "patch statefulsets",
    ]);
    t.match(world.status, { replicas: 6, updatedReplicas: 6, updatedReadyReplicas: 6 });
    const images = world.pods.map((pod) => Object(pod["spec"]).containers[0].image);
    t.strictSame(images, Array(6).fill("b"));
    await world.stop();
  },
);

t.test("what a template no longer says is taken away, what others added to the metadata stays", async (t) => {
  const { world } = await scene();
  const [set] = world.sets;
  const name = set?.metadata.name ?? "";
  const labels = { ...set?.metadata.labels, theirs: "1" };
  world.server.put("statefulsets.apps", { ...set, metadata: { ...set?.metadata, labels } });
  world.apply({ template: setTemplate("b", { minReadySeconds: 5 }) });
  await world.settle();
  const spec = () => Object(world.server.read("statefulsets.apps", `ns/${name}`)["spec"]);
  t.equal(spec().minReadySeconds, 5);
  world.apply({ template: setTemplate("b") });
  await world.settle();
  t.notOk("minReadySeconds" in spec());
  t.equal(world.server.read("statefulsets.apps", `ns/${name}`).metadata.labels?.["theirs"], "1");
  await world.stop();
});

t.test("somebody was faster: what they did is seen first", async (t) => {
  const { world, asked } = await scene();
  let conflicts = 0;
  await world.stop();
  const first = () => {
    if (conflicts++ > 0) return;
    throw new KubeError("Conflict", "modified", { status: 409 });
  };
  const patch = (plural: string) => (plural === "statefulsets" ? { before: first } : undefined);
  await world.start(withFaults(world.server.client, { patch }));
  asked();
  world.apply({ replicas: 9 });
  await world.settle();
  t.strictSame(world.sizes(), { a: "3", b: "3", c: "3" });
  t.notOk(
    asked().some((call) => call.startsWith("get ")),
    "the watch brings it",
  );
  await world.stop();
});

t.test(
  "what the server refuses is told in event and status until it goes well, a lost race is not",
  async (t) => {
    const { world } = await scene();
    await world.stop();
    let answer: KubeError | undefined;
    const before = () => {
      if (answer !== undefined) throw answer;
    };
    const refuse = (plural: string) => (plural === "statefulsets" ? { before } : undefined);
    await world.start(withFaults(world.server.client, { create: refuse, patch: refuse }));
    const told = () => ({
      condition: world.status?.conditions?.find(({ type }) => type === "SubsetUpdated"),
      events: world.server.all("events").filter(({ reason }) => reason === "FailedUpdateSubset"),
    });
    for (const code of ["Conflict", "AlreadyExists", "NotFound"] as const) {
      answer = new KubeError(code, "somebody was faster");
      world.apply({ ...subsets("a", "b", "c", "d"), replicas: 9 });
      await world.settle(4);
      t.match(told(), { condition: { status: "True" }, events: [] }, code);
    }
    answer = new KubeError("Forbidden", "exceeded quota", { status: 403 });
    await world.settle(20);
    t.match(told().condition, { status: "False", reason: "Error", message: "exceeded quota" });
    t.match(told().events, [
      { message: "Error updating PodSet (StatefulSet) d when updating: exceeded quota" },
    ]);
    answer = undefined;
    await world.settle(100);
    t.match(told().condition, { status: "True" });
    t.same(Object.keys(world.sizes()).sort(), ["a", "b", "c", "d"]);
    await world.stop();
  },
);

t.test("a workload without an owner becomes the object's, and no other is made for its subset", async (t) => {
  const { world, asked } = await scene();
  await world.stop();
  world.apply(subsets("a", "b", "c", "d"));
  world.putOrphan("mine", "d", 2);
  asked();
  await world.start();
  await world.settle();
  const owners = world.server.read("statefulsets.apps", "ns/mine").metadata.ownerReferences;
  t.match(owners, [{ kind: "UnitedDeployment", name: "web", uid: "united" }]);
  t.notOk(asked().some((call) => /^(create|delete) statefulsets/.test(call)));
  t.strictSame(world.sizes(), { a: "1", b: "1", c: "2", d: "2" });
  await world.stop();
});

t.test(
  "a subset is closed in the status before its pods go to others, however long that takes",
  async (t) => {
    const world = new UnitedWorld();
    world.full.add("b");
    // What is ready stays anyway.
    world.slow.add("c");
    const adaptive = { rescheduleCriticalSeconds: 2, unschedulableDuration: 600 };
    const names = ["a", "b", "c"];
    world.apply({
      replicas: 5,
      topology: {
        scheduleStrategy: { type: "Adaptive", adaptive },
        subsets: names.map((name) => (name === "c" ? { name } : { name, maxReplicas: 2 })),
      },
    });
    const patch = (plural: string) =>
      plural === "uniteddeployments" ? { before: () => world.clock.sleep(1500) } : undefined;
    await world.start(withFaults(world.server.client, { patch }));
    const sizes: string[] = [];
    for (let round = 0; round < 60; round++) {
      await world.settle(1);
      const now = JSON.stringify(world.sizes());
      if (sizes.at(-1) !== now) sizes.push(now);
    }
    t.strictSame(sizes, ['{"a":"2","b":"2","c":"1"}', '{"a":"2","b":"0","c":"3"}']);
    await world.stop();
  },
);

const step = fc.oneof(
  fc.record({ do: fc.constant("scale" as const), to: fc.integer({ min: 0, max: 7 }) }),
  fc.record({ do: fc.constant("image" as const), to: fc.constantFrom("a", "b") }),
  fc.record({
    do: fc.constant("subsets" as const),
    to: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }),
  }),
  fc.record({ do: fc.constant("restart" as const) }),
  fc.record({ do: fc.constant("watches end" as const) }),
  fc.record({ do: fc.constant("wait" as const) }),
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Wanted {
  readonly names: readonly string[];
  readonly replicas: number;
  readonly image: string;
}

function changed(wanted: Wanted, each: Step): Wanted {
  if (each.do === "scale") return { ...wanted, replicas: each.to };
  if (each.do === "image") return { ...wanted, image: each.to };
  return each.do === "subsets" ? { ...wanted, names: each.to } : wanted;
}

function specOf({ names, replicas, image }: Wanted) {
  return { ...subsets(...names), replicas, template: setTemplate(image) };
}

function faultOf(die: number): Fault | undefined {
  const fail = (): Promise<never> => Promise.reject(new KubeError("Unavailable", "not now", { status: 503 }));
  if (die === 0) return { before: fail };
  // Carried out, but nobody hears of it.
  return die === 1 ? { after: fail } : undefined;
}

/** Events come up to a second late. */
function late(world: UnitedWorld, dice: () => number): Client {
  const { client } = world.server;
  const { clock } = world;
  return {
    ...client,
    watch: async (resource, options) => {
      const stream = await client.watch(resource, options);
      return (async function* () {
        for await (const events of stream) {
          await clock.sleep(100 * dice());
          yield events;
        }
      })();
    },
  };
}

t.test(
  "whatever is lost, late or refused, and whenever it is restarted, it ends as the last spec says",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 12 })),
        async (steps, dice) => {
          const world = new UnitedWorld();
          let isCalm = false;
          const next = () => (isCalm ? 12 : (dice.next().value ?? 12));
          const roll = (plural: string) => (plural === "events" ? undefined : faultOf(next()));
          const client = withFaults(
            late(world, () => (isCalm ? 0 : next())),
            {
              create: roll,
              patch: roll,
              delete: roll,
              get: roll,
            },
          );
          let last: Wanted = { names: ["a", "b"], replicas: 6, image: "a" };
          world.apply(specOf(last));
          await world.start(client);
          for (const each of steps) {
            last = changed(last, each);
            if (each.do === "scale" || each.do === "image" || each.do === "subsets")
              world.apply(specOf(last));
            // What happens until the next list is seen as its result alone.
            else if (each.do === "watches end")
              world.server.endWatches(new KubeError("Gone", "too old", { status: 410 }));
            else if (each.do === "wait") await world.settle(2);
            else {
              await world.stop();
              await world.start(client);
            }
          }
          isCalm = true;
          await world.settle(60);
          const { sets, pods, status } = world;
          const images = new Set(pods.map((pod) => Object(pod["spec"]).containers[0].image));
          await world.stop();
          const found = sets.map(({ metadata }) => metadata.labels?.["apps.kruise.io/subset-name"]).sort();
          if (found.join() !== last.names.toSorted().join()) throw new Error(`subsets ${found}`);
          if (pods.length !== last.replicas) throw new Error(`${pods.length} pods`);
          if (pods.length > 0 && [...images].join() !== last.image) throw new Error(`images ${[...images]}`);
          if (status?.replicas !== last.replicas || status.updatedReadyReplicas !== last.replicas)
            throw new Error(`status ${JSON.stringify(status)}`);
          if (world.revisions.length > 10) throw new Error(`${world.revisions.length} revisions`);
        },
      ),
      { seed: 14, numRuns: 40 },
    );
  },
);
