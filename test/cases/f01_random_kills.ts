import { setTimeout as sleep } from "node:timers/promises";
import { CloneSet } from "./clone_sets.ts";
import type { ControllerProcess } from "./controllers.ts";
import type { Policy } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const replicas = 20;
const maxUnavailable = 3;

/**
 * The controller is ended by SIGKILL again and again while it rolls out. What a watch of our own shows must keep the
 * budget at every moment, and the rollout must end once a controller lives. Each policy is a suite: they run side by side.
 */
function suite(policy: Policy, seed: number): Suite {
  return {
    number: "f01",
    title: `Fault: the controller is killed at random moments of rollouts, ${policy}`,
    needs: ["own-controller"],
    versions: ["v1beta1"],
    run: (world) => run(world, policy, seeded(seed)),
  };
}

export const inPlaceSuite = suite("InPlaceIfPossible", 20261120);
export const recreateSuite = suite("ReCreate", 20261121);

async function run(world: World, policy: Policy, random: () => number): Promise<void> {
  let controller = await world.startController({ certificatesInSecret: true });
  const clone = new CloneSet(world, `killed-${policy.toLowerCase()}`);
  await world.step(`${policy}: ${replicas} pods`, async () => {
    await clone.start({ replicas, strategy: { policy, maxUnavailable } }, { timeoutMs: 120_000 });
  });
  await world.step(`${policy}: five kills in mid-rollout`, async () => {
    const trail = await clone.trail();
    await clone.toImage("nginx:1.21");
    for (let kills = 0; kills < 5; kills++) {
      await sleep(random() * (world.simulated ? 250 : 2_500));
      controller = await restart(world, controller);
    }
    await clone.untilUpdated(replicas, "nginx:1.21", { timeoutMs: 240_000 });
    await trail.neverBelow(replicas - maxUnavailable);
  });
}

/** As in a cluster: the next one answers at the same address with the same certificates. */
async function restart(world: World, controller: ControllerProcess): Promise<ControllerProcess> {
  await controller.kill();
  return world.startController({ certificatesInSecret: true, webhookPort: controller.webhookPort });
}

/** A small generator (mulberry32), so that a run can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
