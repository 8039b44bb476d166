/** Connects the swapper with the pod watch. */
import type { AgentContext, Feature } from "../context.ts";
import { Swapper } from "./swapper.ts";

export function startSwaps(context: AgentContext): Feature {
  const { pods } = context;
  const swapper = new Swapper({ ...context, log: context.log.with({ component: "swaps" }) });
  const unsubscribe = pods.subscribe((change) => {
    if (change.type === "changed") swapper.changed(change.before, change.object);
    else if (change.type === "removed") swapper.removed(change.object);
  });
  return {
    name: "podInformerSynced",
    synced: pods.synced,
    async stop() {
      unsubscribe();
      await swapper.stop();
    },
  };
}
