import { join } from "node:path";
import t from "tap";
import { arrowsIn, cyclesIn, doublesIn, importsOf, refusal } from "./import_directions.ts";

t.test("imports point up the list of rooms and go through doors", async (t) => {
  const arrows = arrowsIn(join(import.meta.dirname, ".."));
  t.ok(arrows.length > 300, `${arrows.length} imports were read`);
  t.same(
    arrows.map(refusal).filter((one) => one !== undefined),
    [],
  );
});

t.test("wrong arrows are found", async (t) => {
  t.match(refusal({ from: "kube/watch.ts", to: "crds/index.ts" }), /kube may not import crds/);
  t.match(refusal({ from: "sandbox/storage.ts", to: "kube/index.ts" }), /sandbox may not import kube/);
  t.match(refusal({ from: "controller/start.ts", to: "kube/cache.ts" }), /only kube\/index.ts/);
  t.equal(refusal({ from: "controller/start.ts", to: "kube/core/index.ts" }), undefined);
  t.equal(refusal({ from: "kube/watch.ts", to: "kube/cache.ts" }), undefined);
});

t.test("inside the controller imports point down its floors, and kinds import no other kind", async (t) => {
  const refused = (from: string, to: string) =>
    refusal({ from: `controller/${from}`, to: `controller/${to}` }) ?? "";
  t.match(refused("plan/owners.ts", "native/workload.ts"), /plan may not import native/);
  t.match(refused("native/workload.ts", "rollout/pass.ts"), /native may not import rollout/);
  t.match(refused("rollout/observe.ts", "runtime/kind.ts"), /rollout may not import runtime/);
  t.match(refused("runtime/kind.ts", "pod_webhook/chain.ts"), /runtime may not import pod_webhook/);
  t.match(
    refused("pod_webhook/chain.ts", "kinds/sidecar_set/pod_step.ts"),
    /pod_webhook may not import kinds\/sidecar_set/,
  );
  t.match(refused("runtime/caches.ts", "kinds/pod_readiness/index.ts"), /runtime may not import kinds/);
  t.match(refused("kinds/clone_set/index.ts", "kinds.ts"), /kinds\/clone_set may not import controller/);
  t.match(refused("runtime/admission/server.ts", "start.ts"), /runtime may not import controller/);
  t.match(
    refused("kinds/workload_spread/guard.ts", "kinds/pod_unavailable_budget/guard.ts"),
    /a kind may not import another kind's folder/,
  );
  for (const [from, to] of [
    ["native/workload.ts", "plan/owners.ts"],
    ["kinds/clone_set/plan.ts", "rollout/order/order.ts"],
    ["kinds/sidecar_set/injection/inject.ts", "kinds/sidecar_set/pod_step.ts"],
    ["kinds/sidecar_set/pod_step.ts", "pod_webhook/chain.ts"],
    ["runtime/admission/server.ts", "runtime/informers.ts"],
    ["kinds.ts", "kinds/clone_set/index.ts"],
    ["start.ts", "kinds.ts"],
    ["runtime/caches_test.ts", "kinds/clone_set/index.ts"],
    ["kinds/clone_set/index_bench.ts", "kinds/daemon_set/index.ts"],
  ] as const) {
    t.equal(refused(from, to), "", `${from} -> ${to}`);
  }
});

t.test("what tests alone import is in the testkit", async (t) => {
  t.same(doublesIn(arrowsIn(join(import.meta.dirname, ".."))), []);
  const arrows = [
    { from: "kube/watch_test.ts", to: "kube/fake_server.ts" },
    { from: "kube/watch_test.ts", to: "kube/watch.ts" },
    { from: "kube/index.ts", to: "kube/watch.ts" },
  ];
  t.same(doublesIn(arrows), ["kube/fake_server.ts"]);
});

t.test("the testkit is for tests", async (t) => {
  const to = "testkit/kube/fake_server.ts";
  for (const from of [
    "kube/watch_test.ts",
    "sandbox/http/list_bench.ts",
    "test/faults/lab.ts",
    "bench/run.ts",
  ]) {
    t.equal(refusal({ from, to }), undefined);
  }
  t.match(refusal({ from: "kube/watch.ts", to }), /only tests may import testkit/);
  t.match(refusal({ from: "kube/index.ts", to }), /only tests/, "an index that exports a double");
  t.equal(refusal({ from: to, to: "kube/watch_state.ts" }), undefined);
});

t.test("no files import each other in a circle, types included", async (t) => {
  t.same(cyclesIn(arrowsIn(join(import.meta.dirname, ".."))), []);
  t.same(
    cyclesIn([
      { from: "a", to: "b" },
      { from: "b", to: "c" },
      { from: "c", to: "b" },
    ]),
    ["b -> c -> b"],
  );
});

t.test("every form of import is seen", async (t) => {
  const text = `import a from "./a.ts";\nimport type { B } from '../b.ts';\nexport * from "./c.ts";\nimport "./d.ts";\nawait import("./e.ts");\nimport {\n  f,\n  g,\n} from "./f.ts";`;
  t.same(importsOf(text), ["./a.ts", "../b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts"]);
});
