/** Connects the watchdog with the pods of this node, their events and their containers. */
import { containerTarget, stopTermsOf } from "../containers/restarter.ts";
import type { AgentContext, Feature } from "../context.ts";
import { Watchdog } from "./watchdog.ts";

const component = "kruise-daemon-liveness";

export function startLiveness(context: AgentContext): Feature {
  const { clock, execs, finder, pods } = context;
  const recorder = context.events.from(component);
  const watchdog = new Watchdog({
    clock,
    log: context.log.with({ component }),
    metrics: context.metrics,
    runtime: () => finder.current?.client,
    execs,
    unhealthy(pod, container, message) {
      recorder.event(
        containerTarget(pod, container),
        "Warning",
        "Unhealthy",
        `Liveness probe failed: ${message}`,
      );
    },
    restart(client, pod, container, signal) {
      const message = `Container ${container.name} failed liveness probe, will be restarted`;
      const terms = { ...stopTermsOf(pod, container), component, reason: "liveness", message } as const;
      return context.restarter.restart({ client, pod, container }, terms, signal);
    },
  });
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
