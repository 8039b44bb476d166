/** Connects the watchdog with the pods of this node. */
import type { AgentContext, Feature } from "../context.ts";
import { component, Watchdog } from "./watchdog.ts";

export function startLiveness(context: AgentContext): Feature {
  const { events, pods } = context;
  const log = context.log.with({ component });
  const watchdog = new Watchdog({ ...context, log, recorder: events.from(component) });
  for (const pod of pods.values()) watchdog.update(pod);
  const unsubscribe = pods.subscribe(({ type, object }) => {
    if (type === "removed") watchdog.remove(object);
    else watchdog.update(object);
  });
  return {
    name: "podInformerSynced",
    synced: pods.synced,
    async stop() {
      unsubscribe();
      await watchdog.stop();
    },
  };
}
