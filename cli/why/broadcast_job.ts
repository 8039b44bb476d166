/** Plans of BroadcastJobs, by the controller's own function. */
import {
  broadcastJobEligibility,
  broadcastJobOptions,
  controllerOptions,
  planBroadcastJob,
} from "../../controller/index.ts";
import { type BroadcastJob, decodeBroadcastJob, defaultBroadcastJob } from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject } from "../../kube/core/index.ts";
import { nodeResource, podResource } from "../../kube/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { Planner, Subject } from "./forecast.ts";
import { everyItem } from "./possessions.ts";

export const broadcastJobPlanner: Planner = {
  kind: "BroadcastJob",
  async forecast({ access, subject, gates, host }) {
    const job = broadcastJobOf(subject);
    const { uid = "", namespace = access.namespace } = job.metadata;
    const [pods, nodes] = await Promise.all([
      everyItem(access.client, podResource, namespace),
      everyItem(access.client, nodeResource, undefined),
    ]);
    const plan = planBroadcastJob({
      seen: {
        job,
        status: job.status ?? {},
        pods: pods.filter((pod) => uid !== "" && pod.controller?.uid === uid),
        busy: new Set(),
        nodes,
        fits: broadcastJobEligibility(job.spec.template),
      },
      options: broadcastJobOptions(controllerOptions({ gates })),
      now: host.clock.now(),
      random: host.random,
    });
    const { phase, desired, active, succeeded, failed } = plan.status;
    return {
      summary: `${phase ?? ""}, ${desired} nodes, ${active} pods active, ${succeeded} succeeded, ${failed} failed`,
      ...plan,
    };
  },
};

function broadcastJobOf({ stored, manifest }: Subject): BroadcastJob {
  const live = stored === undefined ? undefined : typed(stored, "stored");
  const wanted = manifest === undefined ? undefined : typed(manifest, "manifest");
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError("no BroadcastJob to plan");
  return wanted;
}

/** Both versions are alike. The template of a stored object is left as it is. Throws CliError with the field errors. */
function typed(object: AnyObject, origin: "stored" | "manifest"): BroadcastJob {
  if (!isJsonObject(object) || !isJsonObject(at(object, "spec", "template", "spec"))) {
    throw new CliError("a BroadcastJob needs a template");
  }
  const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
  // An object that is given as the old one keeps its status.
  const old = origin === "stored" ? { old: object } : {};
  const decoded = decodeBroadcastJob(defaultBroadcastJob(object, { ...options, ...old }));
  if ("errors" in decoded) {
    throw new CliError(`the BroadcastJob is invalid: ${formatFieldErrors(decoded.errors)}`);
  }
  const { spec } = decoded.object;
  if (spec === undefined) throw new CliError("a BroadcastJob needs a spec");
  return { ...decoded.object, spec };
}
