/** The controller dies at full size; how soon does a new one do its work? */
import { BenchError } from "../errors.ts";
import { runPhase } from "../measure/phase.ts";
import { workloadOf } from "../measure/pod_board.ts";
import { isReady } from "../measure/pod_state.ts";
import type { Scenario } from "../scenario.ts";
import { createPhase, NAME } from "./one_workload.ts";

const CANARY = "canary";

export const restart: Scenario = {
  name: "restart",
  summary: "the controller is killed at full size and started anew, until it serves a new workload",
  kinds: ["CloneSet"],
  ownManager: true,
  async run(stage) {
    const { restartManager } = stage;
    if (restartManager === undefined)
      throw new BenchError("restart needs a manager that the bench starts: leave out --pid");
    const created = await createPhase(stage, "CloneSet");
    const versions = new Map(
      [...stage.board.pods()].map((pod) => [pod.metadata.uid, pod.metadata.resourceVersion]),
    );
    let readyMs = 0;
    const restarted = await runPhase(stage, {
      name: "restart",
      pods: stage.settings.pods,
      // Nothing is asked for while it is down: its webhooks would refuse it.
      begin: async () => {
        readyMs = await restartManager();
        await stage.workloads.create({ kind: "CloneSet", name: CANARY, replicas: 1, maxUnavailable: 1 });
      },
      arrived: (pod) => isReady(pod) && workloadOf(pod) === CANARY,
      wanted: 1,
      touched: (pod) => workloadOf(pod) === CANARY,
      facts: () => ({
        "until ready, ms": Math.round(readyMs),
        "pods written": [...stage.board.pods()].filter(
          (pod) =>
            workloadOf(pod) === NAME && versions.get(pod.metadata.uid) !== pod.metadata.resourceVersion,
        ).length,
      }),
    });
    return { phases: [created, restarted] };
  },
};
