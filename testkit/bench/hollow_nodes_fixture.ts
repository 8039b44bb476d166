/** The bench's hollow nodes before any API server: kubelets of many pods for suites that need no real containers. */

import { connect } from "../../bench/connection.ts";
import { startHollowCluster } from "../../bench/hollow_cluster.ts";
import { BENCH_LABEL, nodeObjects } from "../../bench/resources.ts";
import { behaviourOf } from "../../bench/timing.ts";
import { podSpec } from "../../bench/workloads.ts";
import { nullLog, seededRandom, systemClock } from "../../kube/index.ts";

export interface HollowNodesFixture {
  readonly names: readonly string[];
  /** Labels of a pod that these nodes run. */
  readonly labels: Readonly<Record<string, string>>;
  /** A pod's spec that brings it there, with one container `main` of this image. */
  podSpec(image: string): object;
  /** Removes the nodes; their pods should be gone by then. Safe to call twice. */
  stop(): Promise<void>;
}

export interface HollowNodesFixtureOptions {
  /** Of the administrator. */
  readonly kubeconfig: string;
  /** Name of the group, a label's value. */
  readonly run: string;
  readonly nodes: number;
  readonly podsPerNode: number;
  /** How long a container takes to start, in milliseconds, as the bench's `--start` takes it. */
  readonly start: string;
}

/** Resolves when the nodes are registered. */
export async function startHollowNodes(options: HollowNodesFixtureOptions): Promise<HollowNodesFixture> {
  const { kubeconfig, run, nodes, podsPerNode, start } = options;
  const random = seededRandom(1);
  const { client } = await connect({ clock: systemClock, random }, kubeconfig);
  const cluster = await startHollowCluster({
    client,
    clock: systemClock,
    random,
    log: nullLog,
    nodes,
    podsPerNode,
    behaviour: behaviourOf({ start, pull: "0", ready: "0", crash: "0%", pullFailures: "0%" }),
    run,
    heartbeats: true,
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await cluster.stop();
    for (const name of cluster.nodes) await client.delete(nodeObjects, { name });
    await client.close();
  };
  return {
    names: cluster.nodes,
    labels: { [BENCH_LABEL]: run },
    podSpec: (image) => podSpec(run, image),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
