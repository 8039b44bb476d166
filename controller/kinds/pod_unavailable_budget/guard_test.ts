import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { type Client, KubeError, type Pod, seededRandom } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { withFaults } from "../../../testkit/kube/fake_faults.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { writersOf } from "../../plan/owners.ts";
import type { Refusal } from "../../runtime/admission/refusals.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { BudgetGuard } from "./guard.ts";

const plural = "podunavailablebudgets.policy.kruise.io";

function pod(name: string, changes: Partial<Pod> = {}): Pod {
  return barePod(name, {
    annotations: { "kruise.io/related-pub": "three" },
    controller: { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "set" },
    nodeName: "node",
    initRestarts: 0,
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", reason: "", message: "", lastTransitionAt: 0 }],
    ...changes,
  });
}

function setup(allowed: number, wrap: (client: Client) => Client = (client) => client) {
  const server = fakeServer();
  server.put(plural, {
    apiVersion: "policy.kruise.io/v1beta1",
    kind: "PodUnavailableBudget",
    metadata: { name: "three", namespace: "default", uid: "u", generation: 1, resourceVersion: "1" },
    spec: { maxUnavailable: 1 },
    status: {
      observedGeneration: 1,
      unavailableAllowed: allowed,
      currentAvailable: 4,
      desiredAvailable: 3,
      totalReplicas: 4,
    },
  });
  const refused: Refusal[] = [];
  const events: string[] = [];
  const clock = testClock();
  const client = wrap(server.client);
  const guard = new BudgetGuard({
    client,
    writesFor: writersOf(client),
    clock,
    random: seededRandom(1),
    options: controllerOptions(),
    recorderOf: (controller) => ({
      event: (target, type, reason, message) =>
        events.push(`${controller}: ${target.name} ${type} ${reason}: ${message}`),
    }),
    refused: (refusal) => refused.push(refusal),
  });
  const status = (): JsonObject => Object(server.object(plural, "default/three"))["status"];
  return { server, clock, guard, refused, events, status };
}

t.test("of two deletions at the same time one passes", async (t) => {
  const { guard, refused, events, status } = setup(1);
  const ask = (name: string) => guard.ask(pod(name), "DELETE", "someone", false);
  const [a, b] = await Promise.all([ask("a"), ask("b")]);
  t.match([a, b], [{ allowed: true }, { allowed: false, message: /pub unavailable allowed is negative$/ }]);
  t.match(status(), { unavailableAllowed: 0, disruptedPods: { a: "2026-01-01T00:00:00Z" } });
  t.same(events, ["pub-controller: b Warning PubPreventPodDeletion: openkruise pub prevents pod deletion"]);
  t.match(refused, [
    {
      event: "PodUnavailableBudget",
      name: "b",
      userName: "someone",
      counted: { kind: "CloneSet", name: "web" },
    },
  ]);
});

t.test("a review that comes twice, at once or later, spends once, and both are answered alike", async (t) => {
  const { guard, status } = setup(1);
  const ask = () => guard.ask(pod("a"), "EVICT", "someone", false);
  t.same(await Promise.all([ask(), ask()]), [{ allowed: true }, { allowed: true }]);
  t.same(await ask(), { allowed: true });
  t.match(status(), { unavailableAllowed: 0, currentAvailable: 3 });
});

t.test("a dry run spends nothing and is refused alike", async (t) => {
  const some = setup(1);
  t.same(await some.guard.ask(pod("a"), "EVICT", "someone", true), { allowed: true });
  t.equal(some.server.writes.length, 0);
  t.match(await setup(0).guard.ask(pod("a"), "EVICT", "someone", true), { allowed: false });
});

t.test("pods that nobody counts on pass", async (t) => {
  const { guard, server } = setup(0);
  for (const free of [
    pod("a", { annotations: {} }),
    pod("a", { annotations: { "kruise.io/related-pub": "three", "pub.kruise.io/no-protect": "true" } }),
    pod("a", { annotations: { "kruise.io/related-pub": "gone" } }),
    pod("a", { phase: "Pending" }),
  ]) {
    t.same(await guard.ask(free, "DELETE", "someone", false), { allowed: true });
  }
  t.equal(server.writes.length, 0);
});

t.test("a race for the status is run again, four times at most", async (t) => {
  let conflicts = 1;
  const racing = (client: Client): Client =>
    withFaults(client, {
      patch: () =>
        conflicts-- > 0
          ? {
              before: () => {
                throw new KubeError("Conflict", "modified", { status: 409 });
              },
            }
          : undefined,
    });
  const once = setup(1, racing);
  const decision = once.guard.ask(pod("a"), "DELETE", "someone", false);
  await once.clock.advance(600);
  t.same(await decision, { allowed: true });
  conflicts = 9;
  const always = setup(1, racing);
  const refusal = always.guard.ask(pod("a"), "DELETE", "someone", false);
  await always.clock.advance(2000);
  t.same(await refusal, { allowed: false, message: "modified" });
  t.equal(conflicts, 5);
});
