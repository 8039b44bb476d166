/** Plans of Advanced StatefulSets, by the controller's own function. */
import {
  controllerOptions,
  type FeatureGates,
  type Plan,
  planStatefulSet,
  type StatefulSetSeen,
  statefulSetOptions,
} from "../../controller/index.ts";
import {
  convertObject,
  decodeStatefulSet,
  defaultStatefulSet,
  type StatefulSet,
  type StatefulSetStatus,
} from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { type Possessions, planPastRevision, readPossessions } from "./possessions.ts";
import { nodeImagesFor, pullJobsOf } from "./pull_jobs.ts";

export const statefulSetPlanner: Planner = {
  kind: "StatefulSet",
  async forecast(request) {
    const set = statefulSetOf(request.subject, request.gates);
    const { plan, pods } = await planOf(request, set);
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${pods} of ${set.spec.replicas ?? 1} pods, ` +
        `${updatedReplicas ?? 0} at revision ${updateRevision ?? ""}, ${availableReplicas ?? 0} available`,
      ...plan,
    };
  },
};

function statefulSetOf({ stored, manifest }: Subject, gates: FeatureGates): StatefulSet {
  const live = stored === undefined ? undefined : typed(stored, "stored", gates);
  const wanted = manifest === undefined ? undefined : typed(manifest, "manifest", gates);
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError("no StatefulSet to plan");
  return wanted;
}

/** As for CloneSets: the template of a stored object is left as it is. Throws CliError with the field errors. */
function typed(object: AnyObject, origin: "stored" | "manifest", gates: FeatureGates): StatefulSet {
  const needsSpec = (): CliError => new CliError("a StatefulSet needs a spec");
  if (!isJsonObject(object) || !isJsonObject(at(object, "spec"))) throw needsSpec();
  const options = {
    templateDefaults: origin === "manifest",
    hostNetworkPorts: gates.DefaultHostNetworkHostPortsInPodTemplates,
    deletesClaims: gates.StatefulSetAutoDeletePVC,
    resizesClaims: gates.StatefulSetAutoResizePVCGate,
  };
  const converted = convertObject(defaultStatefulSet(object, options), "apps.kruise.io/v1beta1");
  const decoded = decodeStatefulSet(converted);
  if ("errors" in decoded) {
    throw new CliError(`the StatefulSet is invalid: ${formatFieldErrors(decoded.errors)}`);
  }
  const { object: set, version } = decoded;
  if (version !== "v1beta1" || set.spec === undefined) throw needsSpec();
  return { ...set, spec: set.spec };
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: StatefulSet,
): Promise<{ plan: Plan<StatefulSetStatus>; pods: number }> {
  const { uid = "", namespace = access.namespace } = set.metadata;
  const owned = await readPossessions(access.client, { uid, namespace, selector: set.spec.selector });
  const pullJobs = gates.PreDownloadImageForInPlaceUpdate
    ? await pullJobsOf(access, uid, namespace)
    : undefined;
  const options = statefulSetOptions(controllerOptions({ gates }), {
    resizeSubresource: true,
    imagePullJobs: pullJobs !== undefined,
  });
  const now = host.clock.now();
  const nodeImage = await nodeImagesFor(access, pullJobs);
  const planned = (possessions: Possessions): Plan<StatefulSetStatus> =>
    planStatefulSet({ seen: { ...seenOf(set, possessions, pullJobs), nodeImage }, options, now });
  return { plan: planPastRevision(planned, owned, namespace, now), pods: owned.pods.length };
}

function seenOf(
  set: StatefulSet,
  owned: Possessions,
  pullJobs: StatefulSetSeen["pullJobs"],
): StatefulSetSeen {
  const prefix = `${set.metadata.name ?? ""}-`;
  const orphans = owned.orphans.filter(
    ({ name }) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)),
  );
  return { set, ...owned, orphans, stored: owned.pods, busy: new Set(), failures: {}, pullJobs };
}
