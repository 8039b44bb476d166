import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, container, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf } from "./trail.ts";
import type { World } from "./world.ts";

const alpha = "clonesets.v1alpha1.apps.kruise.io";
const beta = "clonesets.v1beta1.apps.kruise.io";

function mode(value: string): object[] {
  return [{ op: "replace", path: "/spec/template/spec/containers/0/env/0/value", value }];
}

export const suite: Suite = {
  number: "09",
  title: "CloneSet: InPlaceOnly",
  needs: [],
  async run(world) {
    const uids = new Set<string>();
    const unchanged = async () => {
      const pods = await world.podsOf("only");
      assert.ok(pods.length === 2 && pods.every((pod) => uids.has(pod.metadata.uid)), "same pods");
      assert.deepEqual(pods.map(restarts), [1, 1]);
      return pods;
    };
    await world.step("1 apply", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "only",
          replicas: 2,
          strategy: { policy: "InPlaceOnly", maxUnavailable: 1 },
          containers: [container("nginx", "nginx:1.20", { env: [{ name: "MODE", value: "first" }] })],
        }),
      );
      for (const pod of await world.untilAll("only", 2)) uids.add(pod.metadata.uid);
    });
    await world.step("2 image", async () => {
      await world.patch("only", "json", imagePatch("nginx:1.21"), alpha);
      await world.until("updated", async () => {
        const pods = await unchanged();
        assert.ok(pods.every((pod) => pod.spec?.containers?.[0]?.image === "nginx:1.21"));
        assert.equal(await world.row("only"), "only 2 2 2 2 2 2");
      });
    });
    await world.step("3 environment is refused", () => refuseEnvironment(world));
    await world.step("4 label of the template", async () => {
      const labels = { spec: { template: { metadata: { labels: { extra: "1" } } } } };
      await world.patch("only", "merge", labels, alpha);
      await world.until("labels arrived", async () => {
        const pods = await unchanged();
        assert.deepEqual(
          pods.map((pod) => pod.metadata.labels?.["extra"]),
          ["1", "1"],
        );
        assert.equal(await world.row("only"), "only 2 2 2 2 2 2");
      });
    });
    await world.step("5 environment through v1beta1", () => environmentThroughBeta(world, unchanged));
    await world.step("6 surge is refused", async () => {
      const manifest = cloneSet("v1alpha1", {
        name: "only-surge",
        replicas: 2,
        strategy: { policy: "InPlaceOnly", maxSurge: 1 },
      });
      const message = await world.refused(() => world.apply(manifest), 422);
      assert.ok(message.includes("can not use maxSurge with strategy type InPlaceOnly"), message);
    });
  },
};

function restarts(pod: Item): number | undefined {
  return pod.status?.containerStatuses?.[0]?.restartCount;
}

async function refuseEnvironment(world: World): Promise<void> {
  const { generation } = (await world.get("only")).metadata;
  const message = await world.refused(() => world.patch("only", "json", mode("second"), alpha), 422);
  assert.ok(message.startsWith('admission webhook "vcloneset.kb.io" denied the request:'), message);
  const reason =
    "spec: Forbidden: only allowed to update images in spec for InPlaceOnly, but found replace /containers/0/env/0/value";
  assert.ok(message.includes(reason.slice(0, reason.indexOf(" replace"))), message);
  assert.match(message, /but found replace \S*\/env\/0\/value/);
  assert.equal((await world.get("only")).metadata.generation, generation);
}

/** Admission may refuse this through v1beta1 too; where it accepts, the refusal shows as a condition. */
async function environmentThroughBeta(world: World, unchanged: () => Promise<unknown>): Promise<void> {
  const answer = await world.patch("only", "json", mode("second"), beta).catch((error: unknown) => error);
  if (answer instanceof Error) {
    assert.match(answer.message, /only allowed to update images in spec for InPlaceOnly/);
    await unchanged();
    return;
  }
  await world.until("the condition says so", async () => {
    const condition = conditionOf(await world.get("only"), "FailedUpdate");
    assert.equal(condition?.status, "True");
    const expected = /^find Pod only-\w{5} update strategy is InPlaceOnly but can not update in-place$/;
    assert.match(condition?.message ?? "", expected);
  });
  await world.stays(async () => {
    await unchanged();
    assert.equal((await world.get("only")).status?.updatedReplicas ?? 0, 0);
  });
  await world.patch("only", "json", mode("first"), beta);
  await world.until("back at the old content", async () => {
    await unchanged();
    assert.equal(await world.row("only"), "only 2 2 2 2 2 2");
    assert.notEqual(conditionOf(await world.get("only"), "FailedUpdate")?.status, "True");
  });
}
