/** A ConfigMap in many namespaces: how long a change takes to reach all copies, what it costs, and what one namespace costs. */
import { Cache, jsonResource, type KubeObject, nullLog, startInformer } from "../../kube/index.ts";
import { BenchError } from "../errors.ts";
import { eachInFlight } from "../in_flight.ts";
import { runPhase, sleep } from "../measure/phase.ts";
import type { Phase } from "../measure/result.ts";
import { BENCH_LABEL, namespaces } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";

interface Distribution extends KubeObject {
  status?: { desired?: number; succeeded?: number; observedGeneration?: number };
}

interface Settings extends KubeObject {
  data?: { mode?: string };
}

const distributions = jsonResource<Distribution>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "resourcedistributions",
  kind: "ResourceDistribution",
  namespaced: false,
});
const configMaps = jsonResource<Settings>({
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});

export const resourcedistribution: Scenario = {
  name: "resourcedistribution",
  summary: "a ConfigMap distributed to --namespaces namespaces, changed, and given to one more",
  kinds: [],
  usualPods: 1,
  gates: "ResourceDistributionGate=true",
  async run(stage) {
    const { client, clock, random, run, settings } = stage;
    const many = settings.namespaces;
    await eachInFlight(Array.from({ length: many }).keys(), settings.inFlight, (index) =>
      createNamespace(stage, `${stage.namespace}-${index}`),
    );
    const name = `bench-${run}`;
    const copies = new Cache<Settings>({ identify: configMaps.codec.identify });
    const fieldSelector = `metadata.name=${name}`;
    const common = { client, clock, random, log: nullLog };
    const informer = startInformer({ ...common, resource: configMaps, cache: copies, fieldSelector });
    const holds = (mode: string) => [...copies.values()].filter(({ data }) => data?.mode === mode).length;
    const phase = (
      title: string,
      touched: number,
      mode: string,
      wanted: number,
      begin: () => Promise<unknown>,
    ) => distributed(stage, { title, touched, name, isInPlace: () => holds(mode) === wanted, begin });
    try {
      await informer.synced;
      const phases: Phase[] = [
        await phase("distribute", many, "one", many, () =>
          client.create(distributions, undefined, object(stage, name)),
        ),
        await phase("change", many, "two", many, () =>
          client.patch(
            distributions,
            { name },
            { type: "merge", body: { spec: { resource: { data: { mode: "two" } } } } },
          ),
        ),
        await phase("one more namespace", 1, "two", many + 1, () =>
          createNamespace(stage, `${stage.namespace}-new`),
        ),
      ];
      return { phases };
    } finally {
      await informer.stop();
      await client.delete(distributions, { name }).catch(() => undefined);
    }
  },
};

interface Distributed {
  readonly title: string;
  /** Namespaces that the phase is about. */
  readonly touched: number;
  readonly name: string;
  isInPlace(): boolean;
  begin(): Promise<unknown>;
}

/** From the change until every copy is seen; the status follows. */
function distributed(stage: Stage, { title, touched, name, isInPlace, begin }: Distributed): Promise<Phase> {
  const { client, clock, timeoutMs } = stage;
  const facts: Record<string, number> = {};
  return runPhase(stage, {
    name: title,
    pods: touched,
    touched: () => false,
    facts: () => facts,
    async begin() {
      const started = clock.monotonic();
      const tookMs = () => Math.round(clock.monotonic() - started);
      const until = async (isReached: () => boolean | Promise<boolean>): Promise<void> => {
        while (!(await isReached())) {
          if (tookMs() > timeoutMs)
            throw new BenchError(
              `${title}: not every copy was in place after ${timeoutMs / 1000} s (--timeout)`,
            );
          await sleep(stage, 5);
        }
      };
      await begin();
      await until(isInPlace);
      facts["change to last copy, ms"] = tookMs();
      await until(async () => {
        const { metadata, status } = await client.get(distributions, { name });
        return status?.observedGeneration === metadata.generation && status?.succeeded === status?.desired;
      });
      facts["change to status, ms"] = tookMs();
    },
  });
}

function createNamespace({ client, run }: Stage, name: string): Promise<unknown> {
  const metadata = { name, labels: { [BENCH_LABEL]: run, "bench-distribution": run } };
  return client.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata });
}

function object({ run }: Stage, name: string): object {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ResourceDistribution",
    metadata: { name, labels: { [BENCH_LABEL]: run } },
    spec: {
      resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { mode: "one" } },
      targets: { namespaceSelector: { matchLabels: { "bench-distribution": run } } },
    },
  };
}
