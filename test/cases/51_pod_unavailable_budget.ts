import assert from "node:assert/strict";
import { ApiError, type Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { Handle } from "./handle.ts";
import { nameOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const UNAVAILABLE = "unavailable-pod.kruise.io/test";
const REFUSAL =
  'podunavailablebudget.policy.kruise.io "keep-three" is forbidden: pub unavailable allowed is negative';

function budgetOf(world: World, name = "keep-three"): Handle {
  const resource = `podunavailablebudgets.${world.version}.policy.kruise.io`;
  return new Handle(world, "PodUnavailableBudget", name, resource);
}

const selector = { matchLabels: { case: "budgeted" } };

async function evict(world: World, pod: string, options: object = {}): Promise<void> {
  const { api, namespace } = world;
  const metadata = { name: pod, namespace };
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, ...options };
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
  const { status, body } = await api.request("POST", path, eviction);
  if (status >= 400) throw new ApiError(status, "", JSON.stringify(body).replaceAll('\\"', '"'));
}

function untilBudget(world: World, row: string): Promise<void> {
  return budgetOf(world).untilPrinted(row, { stableMs: world.simulated ? 300 : 2_000 });
}

async function refusedWith(send: () => Promise<unknown>, statuses: readonly number[]): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    assert.ok(statuses.includes(error.status), `${error.status} ${error.message}`);
    assert.ok(error.message.includes(REFUSAL), error.message);
    return;
  }
  throw new Error("accepted, but must be refused");
}

function label(world: World, pod: string, value: string | null): Promise<Item> {
  return world.label(pod, { [UNAVAILABLE]: value });
}

async function names(clone: CloneSet): Promise<string[]> {
  return (await clone.livePods()).map(nameOf);
}

async function stepsOneAndTwo(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await world.step("1 deletions pass without a budget", async () => {
    await clone.create({ replicas: 4, strategy: { policy: "InPlaceIfPossible", maxUnavailable: "100%" } });
    await clone.untilAll(4);
    const [first = ""] = await names(clone);
    await world.remove("pods", first);
    await clone.untilAll(4);
  });
  await world.step("2 a budget counts and ties its pods", async () => {
    await budgetOf(world).apply({ selector, maxUnavailable: 1 });
    await untilBudget(world, "1 4 3 4");
    assert.equal(await budgetOf(world).columns(), "NAME ALLOWED CURRENT DESIRED TOTAL");
    await world.until("the pods are tied", async () => {
      for (const pod of await clone.livePods()) {
        assert.equal(pod.metadata.annotations?.["pub.kruise.io/related-pub"], "keep-three");
        assert.equal(pod.metadata.annotations?.["kruise.io/related-pub"], "keep-three");
      }
    });
  });
}

async function stepThree(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await world.step("3 nothing is allowed while a pod is unavailable", async () => {
    const [a = "", b = "", c = ""] = await names(clone);
    await label(world, a, "true");
    await untilBudget(world, "0 3 3 4");
    const dryRun = { dryRun: ["All"] };
    await refusedWith(() => world.remove("pods", b, dryRun), [403]);
    await refusedWith(() => world.remove("pods", b), [403]);
    await refusedWith(() => evict(world, c, { deleteOptions: dryRun }), [403, 429]);
    await refusedWith(() => evict(world, c), [403, 429]);
    await world.until("an event on the pods", async () => {
      for (const pod of [b, c]) {
        const [event] = await world.events("Pod", pod, "PubPreventPodDeletion");
        assert.equal(event?.type, "Warning");
        assert.equal(event.message, "openkruise pub prevents pod deletion");
        assert.equal(event.source, "pub-controller");
      }
    });
    await untilBudget(world, "0 3 3 4");
    await world.remove("pods", a);
    await clone.untilAll(4);
    await untilBudget(world, "1 4 3 4");
  });
}

async function stepsFourAndFive(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await world.step("4 a pod that is taken out of the protection", async () => {
    const [, b = "", c = ""] = await names(clone);
    const annotations = { "pub.kruise.io/no-protect": "true" };
    await world.annotate(b, annotations);
    await label(world, c, "true");
    await untilBudget(world, "0 3 3 4");
    await world.remove("pods", b);
    await clone.untilAll(4);
    await label(world, c, null);
    await untilBudget(world, "1 4 3 4");
    await evict(world, c, { deleteOptions: { dryRun: ["All"] } });
    await untilBudget(world, "1 4 3 4");
    assert.ok((await names(clone)).includes(c));
  });
  await world.step("5 the budget follows the replicas", async () => {
    await clone.scale(0);
    await untilBudget(world, "0 0 0 0");
    await clone.scale(4);
    await clone.untilAll(4);
    await untilBudget(world, "1 4 3 4");
  });
}

/** A hook holds the pod, as long as its label stands. */
async function markedPod(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await world.step("8 a pod that is marked to be deleted counts as disrupted", async () => {
    const hold = "case.example/hold";
    const labelled = (pod: string, labels: Record<string, string | null>) => world.label(pod, labels);
    const lifecycle = { preDelete: { labelsHandler: { [hold]: "true" } } };
    await clone.mergeSpec({ lifecycle });
    const [marked = "", other = ""] = await names(clone);
    await labelled(marked, { [hold]: "true" });
    await untilBudget(world, "1 4 3 4");
    await labelled(marked, { "apps.kruise.io/specified-delete": "true" });
    await untilBudget(world, "0 4 3 4");
    await refusedWith(() => evict(world, other), [403, 429]);
    await labelled(marked, { [hold]: null });
    await world.until("it is replaced", async () => {
      const left = await names(clone);
      assert.equal(left.length, 4);
      assert.ok(!left.includes(marked) && left.includes(other));
    });
    await untilBudget(world, "1 4 3 4");
  });
}

async function stepSeven(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await world.step("7 what is refused, and the end of the protection", async () => {
    const both = { selector: { matchLabels: { case: "other" } }, maxUnavailable: 1, minAvailable: 1 };
    const send = () => budgetOf(world, "both").apply(both);
    await world.refuses(400, send, "maxUnavailable and minAvailable are mutually exclusive");
    await budgetOf(world).remove();
    const [a = "", b = ""] = await names(clone);
    await world.remove("pods", a);
    await world.remove("pods", b);
  });
}

export const suite: Suite = {
  number: "51",
  title: "PodUnavailableBudget: deletion and eviction",
  needs: [],
  async run(world) {
    const clone = new CloneSet(world, "budgeted");
    await stepsOneAndTwo(clone);
    await stepThree(clone);
    await stepsFourAndFive(clone);
    await markedPod(clone);
    await stepSeven(clone);
  },
};

/** Step 6 of the case. */
export const updateSuite: Suite = {
  number: "p51",
  title: "PodUnavailableBudget: updates in place",
  needs: [],
  gates: "PodUnavailableBudgetUpdateGate=true",
  async run(world) {
    const clone = new CloneSet(world, "budgeted");
    await stepsOneAndTwo(clone);
    await world.step("6 one pod at a time is updated", async () => {
      const before = (await clone.livePods()).map(uidOf).sort();
      const trail = await clone.trail();
      await clone.toImage("nginx:1.21");
      await clone.untilUpdated(4, "nginx:1.21", { timeoutMs: 180_000 });
      const after = (await clone.livePods()).map(uidOf).sort();
      assert.deepEqual(after, before);
      await trail.neverBelow(3);
    });
  },
};
