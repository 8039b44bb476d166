import t from "tap";
import { toAnyObject } from "../fields.ts";
import { unitedDeploymentProgress } from "./united_deployment.ts";

function united(updated: number, ready: number, partitions: readonly number[]) {
  const subsetStatuses = partitions.map((partition) => ({ replicas: 3, partition }));
  return toAnyObject({
    metadata: { name: "shop", generation: 2 },
    spec: { replicas: 6 },
    status: {
      observedGeneration: 2,
      replicas: 6,
      updatedReplicas: updated,
      updatedReadyReplicas: ready,
      subsetStatuses,
    },
  });
}

t.test("partitions end a rollout early, and it says so", async (t) => {
  t.match(unitedDeploymentProgress(united(2, 2, [2, 1])), {
    state: "waiting",
    message: /2 out of 3 new pods/,
  });
  t.match(unitedDeploymentProgress(united(3, 2, [2, 1])), {
    state: "waiting",
    message: /2 of 3 updated pods are ready/,
  });
  t.match(unitedDeploymentProgress(united(3, 3, [2, 1])), {
    state: "done",
    message: "partitioned roll out complete: 3 new pods have been updated...",
  });
  for (const partitions of [
    [0, 0],
    [2, 1],
  ])
    t.match(unitedDeploymentProgress(united(6, 6, partitions)), {
      state: "done",
      message: 'united deployment "shop" successfully rolled out',
    });
});
