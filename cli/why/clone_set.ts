/** Plans of CloneSets, by the controller's own function. */
import {
  cloneSetOptions,
  controllerOptions,
  type Plan,
  planCloneSet,
  type Seen,
} from "../../controller/index.ts";
import {
  type CloneSet,
  type CloneSetStatus,
  convertCloneSet,
  decodeCloneSet,
  defaultCloneSet,
} from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { type Possessions, planPastRevision, readPossessions } from "./possessions.ts";
import { nodeImagesFor, pullJobsOf } from "./pull_jobs.ts";

export const cloneSetPlanner: Planner = {
  kind: "CloneSet",
  async forecast(request) {
    const set = cloneSetOf(request.subject);
    const { plan, pods } = await planOf(request, set);
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${pods} of ${set.spec.replicas ?? 1} pods, ` +
        `${updatedReplicas} at revision ${updateRevision}, ${availableReplicas} available`,
      ...plan,
    };
  },
};

function cloneSetOf({ stored, manifest }: Subject): CloneSet {
  const live = stored === undefined ? undefined : typed(stored, "stored");
  const wanted = manifest === undefined ? undefined : typed(manifest, "manifest");
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError("no CloneSet to plan");
  return wanted;
}

/**
 * The object in the version in which plans are made, with its defaults. The template of a stored object is left as it
 * is: admission has filled it in, or was told not to. Throws CliError with the field errors.
 */
function typed(object: AnyObject, origin: "stored" | "manifest"): CloneSet {
  const needsSpec = (): CliError => new CliError("a CloneSet needs a spec");
  if (!isJsonObject(object) || !isJsonObject(at(object, "spec"))) throw needsSpec();
  const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
  const decoded = decodeCloneSet(convertCloneSet(defaultCloneSet(object, options), "v1beta1"));
  if ("errors" in decoded) {
    throw new CliError(`the CloneSet is invalid: ${formatFieldErrors(decoded.errors)}`);
  }
  const { object: set, version } = decoded;
  if (version !== "v1beta1" || set.spec === undefined) throw needsSpec();
  return { ...set, spec: set.spec };
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: CloneSet,
): Promise<{ plan: Plan<CloneSetStatus>; pods: number }> {
  const { uid = "", namespace = access.namespace } = set.metadata;
  const owned = await readPossessions(access.client, { uid, namespace, selector: set.spec.selector });
  const pullJobs = gates.PreDownloadImageForInPlaceUpdate
    ? await pullJobsOf(access, uid, namespace)
    : undefined;
  const server = { resizeSubresource: true, imagePullJobs: pullJobs !== undefined };
  const options = cloneSetOptions(controllerOptions({ gates }), server);
  const now = host.clock.now();
  const nodeImage = await nodeImagesFor(access, pullJobs);
  const planned = (possessions: Possessions): Plan<CloneSetStatus> => {
    const seen = { ...seenOf(set, possessions, pullJobs), nodeImage };
    return planCloneSet({ seen, options, now, random: host.random });
  };
  return { plan: planPastRevision(planned, owned, namespace, now), pods: owned.pods.length };
}

function seenOf(set: CloneSet, owned: Possessions, pullJobs: Seen["pullJobs"]): Seen {
  return { set, ...owned, stored: owned.pods, busy: new Set(), failures: {}, pullJobs };
}
