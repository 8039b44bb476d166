/** Plans of Advanced DaemonSets, by the controller's own function. */
import {
  controllerOptions,
  type DaemonSetSeen,
  daemonSetOptions,
  nodeVerdicts,
  type Plan,
  planDaemonSet,
} from "../../controller/index.ts";
import {
  convertObject,
  type DaemonSet,
  type DaemonSetStatus,
  decodeDaemonSet,
  defaultDaemonSet,
} from "../../crds/index.ts";
import { compileSelector, formatFieldErrors, isJsonObject } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { type Possessions, planPastRevision, readPossessions } from "./possessions.ts";
import { nodeImagesFor, pullJobsOf } from "./pull_jobs.ts";

export const daemonSetPlanner: Planner = {
  kind: "DaemonSet",
  async forecast(request) {
    const set = daemonSetOf(request.subject);
    const { plan, pods } = await planOf(request, set);
    const { status } = plan;
    return {
      summary:
        `${pods} pods for ${status.desiredNumberScheduled} nodes, ` +
        `${status.updatedNumberScheduled} at revision ${status.updateRevision ?? ""}, ` +
        `${status.numberAvailable ?? 0} available`,
      ...plan,
    };
  },
};

function daemonSetOf({ stored, manifest }: Subject): DaemonSet {
  const live = stored === undefined ? undefined : typed(stored);
  const wanted = manifest === undefined ? undefined : typed(manifest);
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError("no DaemonSet to plan");
  return wanted;
}

/** The object in the version in which plans are made, with its defaults. Throws CliError with the field errors. */
function typed(object: AnyObject): DaemonSet {
  const needsSpec = (): CliError => new CliError("a DaemonSet needs a spec");
  if (!isJsonObject(object) || !isJsonObject(at(object, "spec"))) throw needsSpec();
  const decoded = decodeDaemonSet(convertObject(defaultDaemonSet(object), "apps.kruise.io/v1beta1"));
  if ("errors" in decoded) {
    throw new CliError(`the DaemonSet is invalid: ${formatFieldErrors(decoded.errors)}`);
  }
  const { object: set, version } = decoded;
  if (version !== "v1beta1" || set.spec === undefined) throw needsSpec();
  return { ...set, spec: set.spec };
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: DaemonSet,
): Promise<{ plan: Plan<DaemonSetStatus>; pods: number }> {
  const { uid = "", namespace = access.namespace } = set.metadata;
  const owned = await readPossessions(access.client, { uid, namespace, selector: set.spec.selector });
  const pullJobs = gates.PreDownloadImageForDaemonSetUpdate
    ? await pullJobsOf(access, uid, namespace)
    : undefined;
  const options = daemonSetOptions(controllerOptions({ gates }), {
    resizeSubresource: true,
    imagePullJobs: pullJobs !== undefined,
  });
  const now = host.clock.now();
  const nodeImage = await nodeImagesFor(access, pullJobs);
  const planned = (possessions: Possessions): Plan<DaemonSetStatus> => {
    const seen = { ...seenOf(set, possessions, pullJobs), nodeImage };
    return planDaemonSet({ seen, options, now, random: host.random });
  };
  return { plan: planPastRevision(planned, owned, namespace, now), pods: owned.pods.length };
}

/** A failed pod counts as replaceable at once: how often it failed only the controller knows. */
function seenOf(set: DaemonSet, owned: Possessions, pullJobs: DaemonSetSeen["pullJobs"]): DaemonSetSeen {
  const selector = compileSelector(set.spec.selector);
  return {
    set,
    ...owned,
    orphans: owned.orphans.filter((pod) => selector.matches(pod.labels)),
    stored: owned.pods,
    busy: new Set(),
    failures: {},
    pullJobs,
    isTaken: (name) => owned.podNamed(name) !== undefined,
    hasNode: (name) => owned.nodeLabels(name) !== undefined,
    verdict: nodeVerdicts(set.spec.template.spec),
    failedPodWaitMs: () => 0,
  };
}
