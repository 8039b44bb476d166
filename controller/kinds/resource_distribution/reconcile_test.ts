import fc from "fast-check";
import t from "tap";
import type { ResourceDistributionSpec } from "../../../crds/index.ts";
import { jsonEqual, type KubeObject, type Labels } from "../../../kube/core/index.ts";
import { type Client, KubeError } from "../../../kube/index.ts";
import { DistributionWorld } from "../../../testkit/controller/resource_distribution_world.ts";
import { type Fault, withFaults } from "../../../testkit/kube/fake_faults.ts";
import { targetsOf } from "./targets.ts";

const seed = 20_261_124;

function spec(data: Labels, targets: ResourceDistributionSpec["targets"]): ResourceDistributionSpec {
  const of: KubeObject & { data: Labels } = { ...resource, data };
  return { resource: of, targets };
}

const resource: ResourceDistributionSpec["resource"] = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings" },
};
const all = { allNamespaces: true };

function conditions(world: DistributionWorld): Record<string, readonly string[] | undefined> {
  const failing = (world.status?.conditions ?? []).filter(({ status }) => status === "True");
  return Object.fromEntries(
    failing.map((each) => [each.type, "failedNamespaces" in each ? each.failedNamespaces : undefined]),
  );
}

async function scene(
  names: readonly string[],
  of: ResourceDistributionSpec,
  client?: (world: DistributionWorld) => Client,
) {
  const world = new DistributionWorld();
  for (const name of names) world.namespace(name);
  world.distribute(of);
  const deps = await world.start(client?.(world));
  await world.settle();
  return { world, deps, calls: world.server.calls, clear: () => world.server.calls.splice(0) };
}

t.test(
  "a change costs one request a namespace, an event that of its own, and what is made a look at the distribution",
  async (t) => {
    const names = Array.from({ length: 300 }, (_, index) => `n${index}`);
    const { world, deps, clear } = await scene(names, spec({ mode: "one" }, all));
    t.match(world.status, { desired: 300, succeeded: 300, failed: undefined, observedGeneration: 1 });
    t.same(
      world.server.watched.filter((watch) => watch.includes("metadata.name")),
      ["*||metadata.name=settings"],
    );
    clear();
    world.distribute(spec({ mode: "two" }, all));
    await world.settle();
    const calls = clear();
    t.equal(calls.filter((call) => call.startsWith("patch configmaps")).length, 300);
    t.equal(calls.filter((call) => call.startsWith("patch resourcedistributions")).length, 1);
    t.equal(calls.length, 301, "nothing is read");
    t.same(deps.events, []);

    world.namespace("new");
    await world.settle();
    t.same(clear(), [
      "get resourcedistributions d",
      "create configmaps new/settings",
      "patch resourcedistributions d",
    ]);
    world.server.put("configmaps", {
      ...world.server.read("configmaps", "n7/settings"),
      data: { mode: "edited" },
    });
    await world.settle();
    t.same(clear(), ["patch configmaps n7/settings"]);
    world.server.remove("configmaps", "n8/settings");
    await world.settle();
    t.same(clear(), ["get resourcedistributions d", "create configmaps n8/settings"]);
    world.put("configmaps", "n9", {}, { name: "other" });
    await world.settle();
    t.same(clear(), [], "what has another name is not even seen");
    await world.stop();
  },
);

t.test("conflicts are reported, and end with the foreign object", async (t) => {
  const { world } = await scene(["a"], spec({ mode: "one" }, all));
  const foreign = world.put("configmaps", "b", { data: { theirs: "1" } });
  world.namespace("b");
  await world.settle();
  t.match(world.status, { desired: 2, succeeded: 1, failed: 1 });
  t.same(conditions(world), { ConflictOccurred: ["b"] });
  t.equal(world.server.read("configmaps", "b/settings"), foreign);
  world.server.remove("configmaps", "b/settings");
  await world.settle();
  t.same(conditions(world), {});
  t.same(world.server.read("configmaps", "b/settings")["data"], { mode: "one" });
  await world.stop();
});

t.test("a copy that somebody takes over is left alone, also if that is seen late", async (t) => {
  const { world } = await scene(["a"], spec({ mode: "one" }, all));
  const taken = world.put("configmaps", "a", { data: { theirs: "1" } }, { uid: "taken" });
  // Both arrive together: the plan may have seen neither.
  world.distribute(spec({ mode: "two" }, all));
  await world.settle();
  t.same(conditions(world), { ConflictOccurred: ["a"] });
  t.equal(world.server.read("configmaps", "a/settings"), taken);
  await world.stop();
});

t.test("missing and terminating namespaces, and one that heals", async (t) => {
  const targets = { includedNamespaces: { list: [{ name: "a" }, { name: "gone" }, { name: "going" }] } };
  const world = new DistributionWorld();
  world.namespace("a");
  world.namespace("going", {}, true);
  world.distribute(spec({}, targets));
  await world.start();
  await world.settle();
  t.match(world.status, { desired: 3, succeeded: 1, failed: 2 });
  t.same(conditions(world), { NamespaceNotExists: ["going", "gone"] });
  world.namespace("gone");
  await world.settle();
  t.same(conditions(world), { NamespaceNotExists: ["going"] });
  world.server.remove("namespaces", "a");
  await world.settle();
  t.same(conditions(world), { NamespaceNotExists: ["a", "going"] });
  await world.stop();
});

t.test("a namespace that refuses waits longer and longer, the others do not wait for it", async (t) => {
  const refused: string[] = [];
  const refusing = (world: DistributionWorld): Client => ({
    ...world.client,
    create: (of, namespace, body, options) => {
      if (namespace !== "b") return world.client.create(of, namespace, body, options);
      refused.push(String(world.clock.monotonic()));
      throw new KubeError("Forbidden", "exceeded quota", { status: 403 });
    },
  });
  const { world, deps } = await scene(["a", "b", "c"], spec({}, all), refusing);
  t.match(world.status, { desired: 3, succeeded: 2, failed: 1 });
  t.same(conditions(world), { CreateResourceFailed: ["b"] });
  const reason = world.status?.conditions?.find(({ type }) => type === "CreateResourceFailed")?.reason;
  t.equal(reason, "exceeded quota");
  const soon = refused.length;
  await world.settle(60_000);
  t.ok(refused.length > soon, "it is tried again");
  t.ok(refused.length < 12, `${refused.length} attempts in a minute`);
  t.same(deps.events, []);
  await world.stop();
});

t.test("a Secret's values reach its copies alone", async (t) => {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "settings" },
    stringData: { p: "geheim" },
  };
  const fail = { after: () => Promise.reject(new KubeError("Network", "reset", { ambiguous: true })) };
  let calls = 0;
  const faulty = (world: DistributionWorld) =>
    withFaults(world.client, { create: () => (calls++ === 0 ? fail : undefined) });
  const { world, deps } = await scene(["a", "b"], { resource: secret, targets: all }, faulty);
  await world.settle();
  t.match(world.server.read("secrets", "a/settings"), { type: "Opaque", data: { p: "Z2VoZWlt" } });
  t.notMatch(JSON.stringify([deps.log.lines, deps.events, world.status]), /geheim|Z2VoZWlt/);
  await world.stop();
});

t.test("a list that is refused is reported, and ends with the refusal", async (t) => {
  let isRefused = true;
  const refuse = () => {
    if (isRefused) throw new KubeError("Forbidden", "configmaps is forbidden", { status: 403 });
  };
  const of = (plural: string) => (plural === "configmaps" ? { before: refuse } : undefined);
  const refusing = (world: DistributionWorld) => withFaults(world.client, { watch: of, list: of });
  const included = { includedNamespaces: { list: [{ name: "a" }, { name: "gone" }] } };
  const { world, clear } = await scene(["a", "b"], spec({ mode: "one" }, included), refusing);
  t.match(world.status, { desired: 2, succeeded: undefined, failed: 2, observedGeneration: 1 });
  t.same(conditions(world), { GetResourceFailed: ["a", "gone"] });
  const condition = world.status?.conditions?.find(({ type }) => type === "GetResourceFailed");
  t.equal(condition?.reason, "configmaps is forbidden");
  clear();
  await world.settle(10_000);
  t.notOk(
    clear().some((call) => !/^(watch|list) configmaps/.test(call)),
    "nothing is written meanwhile",
  );
  isRefused = false;
  await world.settle(120_000);
  t.same(conditions(world), { NamespaceNotExists: ["gone"] });
  t.same(world.server.read("configmaps", "a/settings")["data"], { mode: "one" });
  await world.stop();
});

t.test("a distribution that is being deleted makes nothing", async (t) => {
  const { world, clear } = await scene(["a"], spec({}, all));
  clear();
  const plural = "resourcedistributions.apps.kruise.io";
  const { metadata, ...rest } = world.server.read(plural, "d");
  world.server.put(plural, { ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
  await world.settle();
  world.server.remove("configmaps", "a/settings");
  await world.settle();
  t.same(clear(), []);
  world.server.remove(plural, "d");
  await world.settle();
  await world.stop();
});

const names = ["a", "b", "c", "d"] as const;
const name = fc.constantFrom(...names);
const labels = fc.constantFrom<Labels>({}, { group: "test" });
const targets: fc.Arbitrary<ResourceDistributionSpec["targets"]> = fc.oneof(
  fc.constant(all),
  fc.record({
    includedNamespaces: fc.record({
      list: fc.array(
        name.map((each) => ({ name: each })),
        { maxLength: 2 },
      ),
    }),
    namespaceSelector: fc.constant({ matchLabels: { group: "test" } }),
  }),
  fc.record({ namespaceSelector: fc.constant({ matchLabels: { group: "test" } }) }),
);
const step = fc.oneof(
  fc.record({ do: fc.constant("namespace" as const), name, labels, deleting: fc.boolean() }),
  fc.record({ do: fc.constant("no namespace" as const), name }),
  fc.record({ do: fc.constant("foreign" as const), name }),
  fc.record({ do: fc.constant("remove" as const), name }),
  fc.record({ do: fc.constant("edit" as const), name }),
  fc.record({ do: fc.constant("disown" as const), name }),
  fc.record({ do: fc.constant("spec" as const), data: fc.constantFrom("1", "2"), targets }),
  fc.record({ do: fc.constant("watches end" as const) }),
  fc.record({ do: fc.constant("restart" as const) }),
  fc.record({ do: fc.constant("wait" as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function faultOf(die: number): Fault | undefined {
  const fail = (): Promise<never> => Promise.reject(new KubeError("Unavailable", "not now", { status: 503 }));
  if (die === 0) return { before: fail };
  // Carried out, but nobody hears of it.
  return die === 1 ? { after: fail } : undefined;
}

function execute(world: DistributionWorld, foreign: Map<string, unknown>, each: Step): void {
  const { server } = world;
  if (each.do === "spec") world.distribute(spec({ x: each.data }, each.targets));
  // What happens until the next list is seen as its result alone.
  else if (each.do === "watches end") server.endWatches(new KubeError("Gone", "too old", { status: 410 }));
  else if (each.do === "namespace") world.namespace(each.name, each.labels, each.deleting);
  else if (each.do !== "restart" && each.do !== "wait") change(world, foreign, each);
}

/** An object, or the end of its namespace. */
function change(
  world: DistributionWorld,
  foreign: Map<string, unknown>,
  each: Exclude<Step, { do: "spec" | "watches end" | "restart" | "wait" }>,
): void {
  const { server } = world;
  const key = `${each.name}/settings`;
  const held = server.object("configmaps", key);
  if (each.do === "no namespace") {
    if (server.object("namespaces", each.name)) server.remove("namespaces", each.name);
    if (held) server.remove("configmaps", key);
    foreign.delete(key);
  } else if (each.do === "foreign") {
    foreign.set(key, world.put("configmaps", each.name, { data: { theirs: "1" } }));
  } else if (held !== undefined) {
    if (each.do === "remove") {
      server.remove("configmaps", key);
      foreign.delete(key);
    } else if (each.do === "edit") {
      const edited = server.put("configmaps", { ...held, data: { x: "edited" } });
      if (foreign.has(key)) foreign.set(key, edited);
    } else {
      const { ownerReferences: _, ...metadata } = held.metadata;
      foreign.set(key, server.put("configmaps", { ...held, metadata }));
    }
  }
}

/** What the status and each namespace must be like in the end; undefined: as they are. */
function deviation(
  world: DistributionWorld,
  foreign: ReadonlyMap<string, unknown>,
  of: ResourceDistributionSpec,
) {
  const { server } = world;
  const includes = targetsOf(of);
  let desired = 0;
  const failing: Record<string, string[]> = {};
  for (const each of names) {
    const key = `${each}/settings`;
    const namespace = server.object("namespaces", each);
    const held = server.object("configmaps", key);
    const isUsable = namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
    if (foreign.has(key) && held !== foreign.get(key)) return `${key} is not ours`;
    if (!includes.includes(each, namespace?.metadata.labels)) {
      if (isUsable && held !== undefined && !foreign.has(key)) return `${key} is left`;
      continue;
    }
    desired++;
    const failure = isUsable ? (foreign.has(key) ? "ConflictOccurred" : undefined) : "NamespaceNotExists";
    if (failure !== undefined) failing[failure] = [...(failing[failure] ?? []), each];
    else if (!jsonEqual(held?.["data"], of.resource && Object(of.resource)["data"])) return `${key} differs`;
  }
  const failed = Object.values(failing).flat().length;
  const { status } = world;
  if ((status?.desired ?? 0) !== desired || (status?.failed ?? 0) !== failed)
    return `${status?.desired} and ${status?.failed} instead of ${desired} and ${failed}`;
  return jsonEqual(conditions(world), failing) ? undefined : `conditions ${JSON.stringify(failing)}`;
}

t.test("any history ends as the last spec says, and nothing of others is touched", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.integer({ min: 0, max: 12 })),
      async (steps, dice) => {
        const world = new DistributionWorld();
        const foreign = new Map<string, unknown>();
        let isCalm = false;
        const roll = () => (isCalm ? undefined : faultOf(dice.next().value ?? 12));
        const client = withFaults(world.client, {
          create: roll,
          patch: roll,
          delete: roll,
          get: roll,
        });
        let last = spec({ x: "1" }, all);
        for (const each of ["a", "b"]) world.namespace(each, { group: "test" });
        world.distribute(last);
        await world.start(client);
        for (const each of steps) {
          execute(world, foreign, each);
          if (each.do === "spec") last = spec({ x: each.data }, each.targets);
          if (each.do === "wait") await world.settle(500);
          if (each.do !== "restart") continue;
          // Wherever it was.
          await world.stop();
          await world.start(client);
        }
        isCalm = true;
        await world.settle(45_000);
        const wrong = deviation(world, foreign, last);
        await world.stop();
        if (wrong !== undefined) throw new Error(wrong);
      },
    ),
    { seed, numRuns: 60 },
  );
});
