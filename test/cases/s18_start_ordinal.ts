import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "s18",
  title: "Advanced StatefulSet: numbers that start elsewhere",
  needs: [],
  gates: "StatefulSetStartOrdinal=true",
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Sets(world);
    const start = (value: number | null) =>
      sets.patch("ss", "merge", { spec: { ordinals: value === null ? null : { start: value } } });
    for (const policy of ["Parallel", "OrderedReady"] as const) {
      await world.step(policy, async () => {
        const podSpec = { terminationGracePeriodSeconds: 1 };
        const more = { ordinals: { start: 2 } };
        await world.apply(statefulSet(world.version, { name: "ss", replicas: 3, policy, podSpec, more }));
        await sets.untilOrdinals("ss", [2, 3, 4]);
        await start(4);
        await sets.untilOrdinals("ss", [4, 5, 6]);
        await start(null);
        await sets.untilOrdinals("ss", [0, 1, 2]);
        await world.remove(sets.resource, "ss");
        await sets.untilGone("ss");
      });
    }
  },
};
