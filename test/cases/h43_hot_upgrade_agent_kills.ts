/**
 * Hot upgrades whose agent dies in the middle of each of their phases. Direct swaps are asked for: containers with `postStart`
 * and variables from metadata, as these are, the agent leaves to the kubelet, also when it comes back.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Upgrades, underTraffic } from "./hot_upgrade_traffic.ts";
import type { Suite } from "./suite.ts";

const flags = ["--direct-swap=true"];
/** Each phase is met once for either container. */
const rounds = 2;
const longestMs = 60_000;

interface Phase {
  readonly name: string;
  /** Whether an upgrade to the image is in it. */
  isReached(upgrades: Upgrades, image: string): Promise<boolean>;
}

const phases: readonly Phase[] = [
  {
    name: "the new image is in the pod",
    isReached: async (upgrades, image) => (await upgrades.pair()).some((one) => one.image === image),
  },
  {
    name: "the new container starts",
    isReached: async (upgrades, image) =>
      (await upgrades.pair()).some((one) => one.image === image && !one.started),
  },
  {
    name: "the new container serves",
    isReached: async (upgrades, image) => upgrades.servedBy(image),
  },
  {
    name: "the former container is to rest",
    isReached: async (upgrades, image) =>
      (await upgrades.pair()).some((one) => one.image !== image && !one.started),
  },
];

export const suite: Suite = {
  number: "h43",
  title: "SidecarSet: no request fails when the agent dies during hot upgrades",
  needs: ["own-controller", "real-node", "agent", "own-agents"],
  versions: ["v1beta1"],
  async run(world) {
    const [agent] = world.nodeAgents;
    assert.ok(agent);
    await world.startController();
    try {
      await agent.stop();
      await agent.start(flags);
      const place = { nodeName: agent.node, annotations: { "agent.refit/direct-swap": "true" } };
      await underTraffic(world, place, async (upgrades) => {
        for (const phase of phases) {
          await world.step(`killed while ${phase.name}`, async () => {
            for (let round = 0; round < rounds; round++) {
              const image = await upgrades.begin();
              const latest = performance.now() + longestMs;
              while (!(await phase.isReached(upgrades, image))) {
                assert.ok(performance.now() < latest, `it was never seen that ${phase.name}`);
                await sleep(2);
              }
              await agent.kill();
              await agent.start(flags);
              await upgrades.end();
            }
          });
        }
      });
    } finally {
      await agent.stop();
      await agent.start();
    }
  },
};
