/** Plans of SidecarSets, by the controller's own function, and which pods a set has nothing to do with. */
import {
  listedCluster,
  observeSidecarSet,
  type Plan,
  planSidecarSet,
  rolloutOf,
  type SidecarSetObserved,
  selectedIndex,
  sidecarSetState,
  type UnmanagedReason,
  unmanagedReason,
} from "../../controller/index.ts";
import {
  defaultSidecarSet,
  revisionSidecarSetLabel,
  type SidecarSet,
  type SidecarSetStatus,
  sidecarSet,
  sidecarSetHashAnnotation,
  sidecarSetHashes,
  sidecarSetHashWithoutImageAnnotation,
} from "../../crds/index.ts";
import { counted, formatSelector, keyOf } from "../../kube/core/index.ts";
import {
  type Client,
  type ControllerRevision,
  controllerRevisionResource,
  listAll,
  namespaceResource,
  type Pod,
  podResource,
} from "../../kube/index.ts";
import { controllerNamespace } from "../controller_namespace.ts";
import { CliError } from "../errors.ts";
import { listed } from "./describe.ts";
import type { ForecastRequest } from "./forecast.ts";
import { planPastRevision } from "./listed_workload.ts";
import { planner } from "./subject.ts";

export const sidecarSetPlanner = planner({
  kind: "SidecarSet",
  needs: { path: ["spec", "selector"], name: "spec.selector" },
  read: (object) => sidecarSet.readStored(defaultSidecarSet(object)),
  async forecast(found, request) {
    if (formatSelector(found.spec.selector ?? {}) === "")
      throw new CliError("spec.selector of a SidecarSet must not be empty: name the pods that it is for");
    // The stored object's hashes are those of its stored spec.
    const set = request.subject.manifest === undefined ? found : withHashes(found);
    const { plan, unmanaged } = await planOf(request, set);
    const { matchedPods, updatedPods, readyPods, latestRevision } = plan.status;
    return {
      summary: `${counted(matchedPods, "pod")}, ${updatedPods} at revision ${latestRevision ?? ""}, ${readyPods} ready`,
      ...plan,
      notices: noticesOf(set, unmanaged),
    };
  },
});

function withHashes(set: SidecarSet): SidecarSet {
  const { hash, hashWithoutImage } = sidecarSetHashes(set.spec);
  const annotations = {
    ...set.metadata.annotations,
    [sidecarSetHashAnnotation]: hash,
    [sidecarSetHashWithoutImageAnnotation]: hashWithoutImage,
  };
  return { ...set, metadata: { ...set.metadata, annotations } };
}

/** `undefined`: those that it manages. */
type Unmanaged = ReadonlyMap<UnmanagedReason | undefined, readonly Pod[]>;

async function planOf(
  { access, host }: ForecastRequest,
  set: SidecarSet,
): Promise<{ plan: Plan<SidecarSetStatus>; unmanaged: Unmanaged }> {
  const { client } = access;
  const systemNamespace = await controllerNamespace(access);
  const [pods, namespaces, revisions] = await Promise.all([
    listAll(client, podResource, { labelSelector: formatSelector(set.spec.selector ?? {}) }),
    listAll(client, namespaceResource),
    revisionsFor(client, set, systemNamespace),
  ]);
  const cluster = listedCluster({ pods, namespaces, revisions });
  const observed = (): SidecarSetObserved =>
    observeSidecarSet(set, cluster, { index: selectedIndex([cluster.pods]), systemNamespace });
  const matching = { rollout: rolloutOf(set), namespaces: observed().namespaces };
  const unmanaged = Map.groupBy(pods, (pod) => unmanagedReason(pod, matching));
  const now = host.clock.now();
  const plan = planPastRevision(cluster, { namespace: systemNamespace }, now, () =>
    planSidecarSet(
      sidecarSetState({ observed: observed(), options: { systemNamespace }, now, random: host.random }),
    ),
  );
  return { plan, unmanaged };
}

/** The set's history, and the revision that new pods get: it may be one of another set. */
async function revisionsFor(
  client: Client,
  { metadata, spec }: SidecarSet,
  namespace: string,
): Promise<readonly ControllerRevision[]> {
  const { name = "" } = metadata;
  const labelSelector = formatSelector({ matchLabels: { [revisionSidecarSetLabel]: name } });
  const labelled = await listAll(client, controllerRevisionResource, { namespace, labelSelector });
  const { revisionName = "" } = spec.injectionStrategy?.revision ?? {};
  if (revisionName === "" || labelled.some((revision) => revision.name === revisionName)) return labelled;
  const fieldSelector = `metadata.name=${revisionName}`;
  return [...labelled, ...(await listAll(client, controllerRevisionResource, { namespace, fieldSelector }))];
}

/** Pods with the set's labels that are none of its pods, by reason. */
function noticesOf({ spec }: SidecarSet, unmanaged: Unmanaged): string[] {
  const created = "pods get them when they are created again";
  const said: readonly (readonly [UnmanagedReason, string])[] = [
    ["not injected", `without sidecars of this set, which come with a pod's creation: ${created}`],
    ["lacks containers", `without a container that was added to this set: ${created}`],
    ["namespace", "in a namespace that namespaceSelector does not match"],
    ["inactive", "ended or being deleted"],
  ];
  const lines = said.flatMap(([reason, text]) => {
    const pods = unmanaged.get(reason) ?? [];
    return pods.length === 0
      ? []
      : [`the selector matches ${counted(pods.length, "pod")} ${text} (${listed(pods.map(keyOf).sort())})`];
  });
  return spec.injectionStrategy?.paused
    ? [...lines, "new pods get no sidecars while injectionStrategy.paused is set"]
    : lines;
}
