/** Plans of BroadcastJobs, by the controller's own function. */
import {
  broadcastJobOptions,
  broadcastJobState,
  controllerOptions,
  listedCluster,
  observeBroadcastJob,
  planBroadcastJob,
} from "../../controller/index.ts";
import { broadcastJob, defaultBroadcastJob } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import { listAll, nodeResource, podResource } from "../../kube/index.ts";
import { planner } from "./subject.ts";

export const broadcastJobPlanner = planner({
  kind: "BroadcastJob",
  needs: { path: ["spec", "template", "spec"], name: "template" },
  read: (object, origin) => {
    const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
    // An object that is given as the old one keeps its status.
    const old = origin === "stored" ? object : undefined;
    return broadcastJob.readStored(defaultBroadcastJob(object, { ...options, old }));
  },
  async forecast(job, { access, gates, host }) {
    const { namespace = "" } = job.metadata;
    const [pods, nodes] = await Promise.all([
      listAll(access.client, podResource, { namespace }),
      listAll(access.client, nodeResource),
    ]);
    const plan = planBroadcastJob(
      broadcastJobState({
        observed: observeBroadcastJob(job, listedCluster({ pods, nodes })),
        options: broadcastJobOptions(controllerOptions({ gates })),
        now: host.clock.now(),
        random: host.random,
      }),
    );
    const { phase, desired, active, succeeded, failed } = plan.status;
    return {
      summary: `${phase ?? ""}, ${counted(desired ?? 0, "node")}, ${counted(active ?? 0, "pod")} active, ${succeeded} succeeded, ${failed} failed`,
      ...plan,
    };
  },
});
