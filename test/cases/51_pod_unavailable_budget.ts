import assert from "node:assert/strict";
import { ApiError, type Item } from "../cluster/api.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { extremesOf } from "./trail.ts";
import type { World } from "./world.ts";

const UNAVAILABLE = "unavailable-pod.kruise.io/test";
const REFUSAL =
  'podunavailablebudget.policy.kruise.io "keep-three" is forbidden: pub unavailable allowed is negative';

function budgets(world: World): string {
  return `podunavailablebudgets.${world.version}.policy.kruise.io`;
}

function budget(world: World, name: string, spec: object): object {
  return {
    apiVersion: `policy.kruise.io/${world.version}`,
    kind: "PodUnavailableBudget",
    metadata: { name },
    spec,
  };
}

const selector = { matchLabels: { case: "budgeted" } };

async function evict(world: World, pod: string, options: object = {}): Promise<void> {
  const { api, namespace } = world;
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: pod, namespace },
    ...options,
  };
  const { status, body } = await api.request(
    "POST",
    `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`,
    eviction,
  );
  if (status >= 400) throw new ApiError(status, "", JSON.stringify(body).replaceAll('\\"', '"'));
}

function untilBudget(world: World, numbers: string): Promise<void> {
  const row = async () =>
    assert.equal(await world.row("keep-three", { resource: budgets(world) }), `keep-three ${numbers}`);
  return world.until(`keep-three ${numbers}`, row, { stableMs: world.simulated ? 300 : 2_000 });
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
  return world.api.patch("pods", pod, world.namespace, "merge", {
    metadata: { labels: { [UNAVAILABLE]: value } },
  });
}

async function names(world: World): Promise<string[]> {
  return (await world.livePodsOf("budgeted")).map((pod) => pod.metadata.name);
}

async function stepsOneAndTwo(world: World): Promise<void> {
  await world.step("1 deletions pass without a budget", async () => {
    await world.apply(
      cloneSet(world.version, {
        name: "budgeted",
        replicas: 4,
        strategy: { policy: "InPlaceIfPossible", maxUnavailable: "100%" },
      }),
    );
    await world.untilAll("budgeted", 4);
    const [first = ""] = await names(world);
    await world.remove("pods", first);
    await world.untilAll("budgeted", 4);
  });
  await world.step("2 a budget counts and ties its pods", async () => {
    await world.apply(budget(world, "keep-three", { selector, maxUnavailable: 1 }));
    await untilBudget(world, "1 4 3 4");
    const { header } = await world.printed(budgets(world));
    assert.deepEqual(header, ["NAME", "ALLOWED", "CURRENT", "DESIRED", "TOTAL"]);
    await world.until("the pods are tied", async () => {
      for (const pod of await world.livePodsOf("budgeted")) {
        assert.equal(pod.metadata.annotations?.["pub.kruise.io/related-pub"], "keep-three");
        assert.equal(pod.metadata.annotations?.["kruise.io/related-pub"], "keep-three");
      }
    });
  });
}

async function stepThree(world: World): Promise<void> {
  await world.step("3 nothing is allowed while a pod is unavailable", async () => {
    const [a = "", b = "", c = ""] = await names(world);
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
    await world.untilAll("budgeted", 4);
    await untilBudget(world, "1 4 3 4");
  });
}

async function stepsFourAndFive(world: World): Promise<void> {
  await world.step("4 a pod that is taken out of the protection", async () => {
    const [, b = "", c = ""] = await names(world);
    const annotations = { "pub.kruise.io/no-protect": "true" };
    await world.api.patch("pods", b, world.namespace, "merge", { metadata: { annotations } });
    await label(world, c, "true");
    await untilBudget(world, "0 3 3 4");
    await world.remove("pods", b);
    await world.untilAll("budgeted", 4);
    await label(world, c, null);
    await untilBudget(world, "1 4 3 4");
    await evict(world, c, { deleteOptions: { dryRun: ["All"] } });
    await untilBudget(world, "1 4 3 4");
    assert.ok((await names(world)).includes(c));
  });
  await world.step("5 the budget follows the replicas", async () => {
    await world.scale("budgeted", 0);
    await untilBudget(world, "0 0 0 0");
    await world.scale("budgeted", 4);
    await world.untilAll("budgeted", 4);
    await untilBudget(world, "1 4 3 4");
  });
}

/** A hook holds the pod, as long as its label stands. */
async function markedPod(world: World): Promise<void> {
  await world.step("8 a pod that is marked to be deleted counts as disrupted", async () => {
    const hold = "case.example/hold";
    const labelled = (pod: string, labels: object) =>
      world.api.patch("pods", pod, world.namespace, "merge", { metadata: { labels } });
    const lifecycle = { preDelete: { labelsHandler: { [hold]: "true" } } };
    await world.patch("budgeted", "merge", { spec: { lifecycle } });
    const [marked = "", other = ""] = await names(world);
    await labelled(marked, { [hold]: "true" });
    await untilBudget(world, "1 4 3 4");
    await labelled(marked, { "apps.kruise.io/specified-delete": "true" });
    await untilBudget(world, "0 4 3 4");
    await refusedWith(() => evict(world, other), [403, 429]);
    await labelled(marked, { [hold]: null });
    await world.until("it is replaced", async () => {
      const left = await names(world);
      assert.equal(left.length, 4);
      assert.ok(!left.includes(marked) && left.includes(other));
    });
    await untilBudget(world, "1 4 3 4");
  });
}

async function stepSeven(world: World): Promise<void> {
  await world.step("7 what is refused, and the end of the protection", async () => {
    const both = budget(world, "both", {
      selector: { matchLabels: { case: "other" } },
      maxUnavailable: 1,
      minAvailable: 1,
    });
    const message = await world.refused(() => world.apply(both), 400);
    assert.ok(message.includes("maxUnavailable and minAvailable are mutually exclusive"), message);
    await world.remove(budgets(world), "keep-three");
    const [a = "", b = ""] = await names(world);
    await world.remove("pods", a);
    await world.remove("pods", b);
  });
}

export const suite: Suite = {
  number: "51",
  title: "PodUnavailableBudget: deletion and eviction",
  needs: [],
  async run(world) {
    await stepsOneAndTwo(world);
    await stepThree(world);
    await stepsFourAndFive(world);
    await markedPod(world);
    await stepSeven(world);
  },
};

/** Step 6 of the case. */
export const updateSuite: Suite = {
  number: "p51",
  title: "PodUnavailableBudget: updates in place",
  needs: [],
  gates: "PodUnavailableBudgetUpdateGate=true",
  async run(world) {
    await stepsOneAndTwo(world);
    await world.step("6 one pod at a time is updated", async () => {
      const before = (await world.livePodsOf("budgeted")).map((pod) => pod.metadata.uid).sort();
      const trail = await world.trail("pods", "case=budgeted");
      await world.patch("budgeted", "json", imagePatch("nginx:1.21"));
      await world.untilAllUpdated("budgeted", 4, "nginx:1.21", { timeoutMs: 180_000 });
      const after = (await world.livePodsOf("budgeted")).map((pod) => pod.metadata.uid).sort();
      assert.deepEqual(after, before);
      const { leastAvailable, worst } = extremesOf(await trail.stop());
      assert.ok(leastAvailable >= 3, `available fell to ${leastAvailable}: ${worst}`);
    });
  },
};
