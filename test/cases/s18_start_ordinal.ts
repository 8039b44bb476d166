import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "s18",
  title: "Advanced StatefulSet: numbers that start elsewhere",
  needs: [],
  gates: "StatefulSetStartOrdinal=true",
  versions: ["v1beta1"],
  async run(world) {
    const set = new StatefulSet(world, "ss");
    const podSpec = { terminationGracePeriodSeconds: 1 };
    for (const policy of ["Parallel", "OrderedReady"] as const) {
      await world.step(policy, async () => {
        await set.create({ replicas: 3, policy, podSpec, more: { ordinals: { start: 2 } } });
        await set.untilOrdinals(2, 3, 4);
        await set.mergeSpec({ ordinals: { start: 4 } });
        await set.untilOrdinals(4, 5, 6);
        await set.mergeSpec({ ordinals: null });
        await set.untilOrdinals(0, 1, 2);
        await set.remove();
        await set.untilGone();
      });
    }
  },
};
