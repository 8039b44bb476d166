/** The workload that suites of an installation's life begin with. */
import { CloneSet } from "../cases/clone_sets.ts";
import type { World } from "../cases/world.ts";
import type { Life } from "./suite.ts";

/** A CloneSet that is updated in place, on hollow nodes; resolves when all its pods are ready. */
export async function startPods(
  world: World,
  nodes: Life["nodes"],
  { name, replicas, maxUnavailable }: { name: string; replicas: number; maxUnavailable?: number },
): Promise<void> {
  const shape = {
    replicas,
    templateMetadata: { labels: nodes.labels },
    podSpec: nodes.podSpec("app:1"),
    strategy: { policy: "InPlaceIfPossible", ...(maxUnavailable === undefined ? {} : { maxUnavailable }) },
  } as const;
  await new CloneSet(world, name).start(shape, { timeoutMs: 120_000, stableMs: 1_000 });
}
