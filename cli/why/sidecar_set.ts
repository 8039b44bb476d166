/** Plans of SidecarSets, by the controller's own function, and which pods a set has nothing to do with. */
import {
  byNumber,
  matchedNamespaces,
  PendingPods,
  type Plan,
  planSidecarSet,
  rolloutOf,
  SidecarIndex,
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
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { type OwnedRevisions, planPastRevision } from "./owned_objects.ts";
import { subjectOf } from "./subject.ts";

export const sidecarSetPlanner: Planner = {
  kind: "SidecarSet",
  async forecast(request) {
    const set = sidecarSetOf(request.subject);
    const { plan, unmanaged } = await planOf(request, set);
    const { matchedPods, updatedPods, readyPods, latestRevision } = plan.status;
    return {
      summary: `${counted(matchedPods, "pod")}, ${updatedPods} at revision ${latestRevision ?? ""}, ${readyPods} ready`,
      ...plan,
      notices: noticesOf(set, unmanaged),
    };
  },
};

function sidecarSetOf(subject: Subject): SidecarSet {
  const set = subjectOf(
    {
      kind: "SidecarSet",
      needs: { path: ["spec", "selector"], name: "spec.selector" },
      read: (object) => sidecarSet.readStored(defaultSidecarSet(object)),
    },
    subject,
  );
  if (formatSelector(set.spec.selector ?? {}) === "")
    throw new CliError("spec.selector of a SidecarSet must not be empty: name the pods that it is for");
  if (subject.manifest === undefined) return set;
  // The stored object's are those of its stored spec.
  const { hash, hashWithoutImage } = sidecarSetHashes(set.spec);
  const annotations = {
    ...set.metadata.annotations,
    [sidecarSetHashAnnotation]: hash,
    [sidecarSetHashWithoutImageAnnotation]: hashWithoutImage,
  };
  return { ...set, metadata: { ...set.metadata, annotations } };
}

type Unmanaged = ReadonlyMap<UnmanagedReason, readonly string[]>;

async function planOf(
  { access, host }: ForecastRequest,
  set: SidecarSet,
): Promise<{ plan: Plan<SidecarSetStatus>; unmanaged: Unmanaged }> {
  const { client } = access;
  const systemNamespace = await controllerNamespace(access);
  const [selected, all, revisions] = await Promise.all([
    listAll(client, podResource, { labelSelector: formatSelector(set.spec.selector ?? {}) }),
    listAll(client, namespaceResource),
    ownRevisions(client, set, systemNamespace),
  ]);
  const labels = new Map(all.map((namespace) => [namespace.name, namespace.labels]));
  const namespaces = matchedNamespaces(set.spec.namespaceSelector, (name) => labels.get(name), 0);
  const rollout = rolloutOf(set);
  const unmanaged = Map.groupBy(selected, (pod) => unmanagedReason(pod, { rollout, namespaces }));
  const byKey = new Map(selected.map((pod) => [keyOf(pod), pod]));
  const now = host.clock.now();
  const planned = (owned: OwnedRevisions): Plan<SidecarSetStatus> => {
    const pods = new SidecarIndex({
      pods: () => selected,
      pod: (key) => byKey.get(key),
      inFlight: () => new PendingPods(),
    });
    const observed = { set, pods, namespaces, ...owned };
    return planSidecarSet(
      sidecarSetState({ observed, options: { systemNamespace }, now, random: host.random }),
    );
  };
  return { plan: planPastRevision(planned, revisions, systemNamespace, now), unmanaged: keysOf(unmanaged) };
}

function keysOf(groups: ReadonlyMap<UnmanagedReason | undefined, readonly Pod[]>): Unmanaged {
  const named = new Map<UnmanagedReason, readonly string[]>();
  for (const [reason, pods] of groups) if (reason !== undefined) named.set(reason, pods.map(keyOf).sort());
  return named;
}

async function ownRevisions(
  client: Client,
  { metadata, spec }: SidecarSet,
  namespace: string,
): Promise<OwnedRevisions> {
  const { name = "", uid } = metadata;
  const labelSelector = formatSelector({ matchLabels: { [revisionSidecarSetLabel]: name } });
  const labelled = await listAll(client, controllerRevisionResource, { namespace, labelSelector });
  const { revisionName = "" } = spec.injectionStrategy?.revision ?? {};
  // New pods may get the revision of another set.
  const fieldSelector = `metadata.name=${revisionName}`;
  const injected =
    revisionName === "" || labelled.some((revision) => revision.name === revisionName)
      ? []
      : await listAll(client, controllerRevisionResource, { namespace, fieldSelector });
  const isOwn = ({ owners }: ControllerRevision): boolean =>
    uid !== undefined && owners.some((owner) => owner.controller && owner.uid === uid);
  return {
    revisions: labelled.filter(isOwn).sort(byNumber),
    revisionData: (name) => [...labelled, ...injected].find((revision) => revision.name === name)?.data,
  };
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
      : [`the selector matches ${counted(pods.length, "pod")} ${text} (${listed(pods)})`];
  });
  return spec.injectionStrategy?.paused
    ? [...lines, "new pods get no sidecars while injectionStrategy.paused is set"]
    : lines;
}
