/** Creations of pods a second, with and without the webhooks, and how long each takes. */
import { eachInFlight } from "../in_flight.ts";
import { barePod } from "../measure/limit.ts";
import { runPhase } from "../measure/phase.ts";
import { WORKLOAD_LABEL, workloadOf } from "../measure/pod_board.ts";
import type { Phase } from "../measure/result.ts";
import { ascending, distributionOf } from "../measure/statistics.ts";
import { BENCH_LABEL, namespaces, podObjects } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";

export const admission: Scenario = {
  name: "admission",
  summary:
    "creations of pods through the manager's webhook, --in-flight at once, beside a namespace without it",
  kinds: [],
  async run(stage) {
    const bare = await unaskedNamespace(stage);
    return {
      phases: [
        await creationPhase(stage, { name: "without webhook", namespace: bare }),
        await creationPhase(stage, { name: "through webhook", namespace: stage.namespace }),
      ],
    };
  },
};

/** Makes a namespace with the label of a control plane, of whose pods the manager's webhooks are not asked. Returns its name. */
export async function unaskedNamespace({ client, namespace, run }: Stage): Promise<string> {
  const name = `${namespace}-bare`;
  await client.create(namespaces, undefined, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { [BENCH_LABEL]: run, "control-plane": "openkruise" } },
  });
  return name;
}

interface Creations {
  readonly name: string;
  readonly namespace: string;
  /** Of the pods, beside those of the bench. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Pods without an owner, `--in-flight` at once. */
export function creationPhase(stage: Stage, { name, namespace, labels = {} }: Creations): Promise<Phase> {
  const { pods, inFlight } = stage.settings;
  const workload = name.replace(" ", "-");
  const latencies: number[] = [];
  let seconds = 0;
  return runPhase(stage, {
    name,
    pods,
    begin: async () => {
      const started = stage.clock.monotonic();
      const indexes = Array.from({ length: pods }).keys();
      await eachInFlight(indexes, inFlight, async (index) => {
        stage.signal.throwIfAborted();
        const sent = stage.clock.monotonic();
        const pod = barePod(`${workload}-${index + 1}`, stage.run, { ...labels, [WORKLOAD_LABEL]: workload });
        await stage.client.create(podObjects, namespace, pod);
        latencies.push(stage.clock.monotonic() - sent);
      });
      seconds = (stage.clock.monotonic() - started) / 1000;
    },
    arrived: (pod) => workloadOf(pod) === workload,
    touched: () => true,
    facts: () => ({ "creations a second": Math.round(pods / seconds), "in flight, requests": inFlight }),
    clocks: () => ({ write: distributionOf(ascending(latencies), "client") }),
  });
}
