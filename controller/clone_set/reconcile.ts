/** The shell of CloneSet: what it sees in the caches, and its plan behind the shell that workloads share. */
import type { CloneSet } from "../../crds/index.ts";
import { compileSelector, keyOf } from "../../kube/core/index.ts";
import {
  type Cache,
  type ControllerRevision,
  type PersistentVolumeClaim,
  type Pod,
  sidesOf,
} from "../../kube/index.ts";
import type { Caches, KindDeps, KindShell, ServerFeatures } from "../kind.ts";
import type { ControllerOptions } from "../options.ts";
import type { Performer } from "../rollout/perform.ts";
import { byNumber } from "../rollout/revisions.ts";
import { workloadShell } from "../rollout/workload_shell.ts";
import type { CloneSetOptions, Seen } from "./observe.ts";
import { planCloneSet } from "./plan.ts";
import { Roster } from "./roster.ts";

export function cloneSetShell(deps: KindDeps<CloneSet>): KindShell {
  const options = cloneSetOptions(deps.options, deps.server);
  const rosters = new Map<string, Roster>();
  followPods(deps.caches.pods, rosters);
  return workloadShell(deps, {
    forget: (uid) => rosters.delete(uid),
    plan: (set, { performer, now, random, settled }) => {
      const seen = observe(set, deps.caches, performer, options, rosters);
      return planCloneSet({ seen, options, now, random, settled });
    },
  });
}

/** Which gate and which ability of the server decides what: the only place that says so. */
export function cloneSetOptions(
  {
    gates,
    excludePreparingDelete,
    keepManagedFields,
  }: Pick<ControllerOptions, "gates" | "excludePreparingDelete" | "keepManagedFields">,
  server: ServerFeatures,
): CloneSetOptions {
  return {
    shortHash: gates.CloneSetShortHash,
    partitionRollback: gates.CloneSetPartitionRollback,
    preparingUpdateAsUpdate: gates.PreparingUpdateAsUpdate,
    recreateOnClaimChange: gates.RecreatePodWhenChangeVCTInCloneSetGate,
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: server.resizeSubresource,
    resetsManagers: !keepManagedFields,
    excludePreparingDelete,
    preDownload: gates.PreDownloadImageForInPlaceUpdate && server.imagePullJobs,
  };
}

/** Plain data from the caches. A set's roster is made by its first pass, and hears of every change from then on. */
function observe(
  set: CloneSet,
  caches: Caches,
  performer: Pick<Performer, "overlay" | "pending" | "failures">,
  options: CloneSetOptions,
  rosters: Map<string, Roster>,
): Seen {
  const uid = set.metadata.uid ?? "";
  const namespace = set.metadata.namespace ?? "";
  let roster = rosters.get(uid);
  if (roster === undefined) {
    const pods = () => caches.pods.byIndex("controller", uid);
    roster = new Roster({
      uid,
      pods,
      pod: (name) => {
        const pod = caches.pods.get(keyOf({ namespace, name }));
        return pod?.controller?.uid === uid ? pod : undefined;
      },
      inFlight: () => performer.pending(uid),
      overlaid: () => performer.overlay(uid, [...pods()]).pods,
    });
    rosters.set(uid, roster);
  }
  return {
    set,
    roster,
    claims: [...claimsOf(caches, uid)],
    revisions: revisionsOf(set, caches),
    revisionData: (name) => caches.revisions.get(`${namespace}/${name}`)?.data,
    failures: performer.failures(uid),
    nodeLabels: (node) => caches.nodes.get(node)?.labels,
    pullJobs: options.preDownload ? [...caches.pullJobs(uid)] : undefined,
    nodeImage: (node) => caches.nodeImage(node),
  };
}

/** Tells rosters of their pods. */
function followPods(pods: Cache<Pod>, rosters: ReadonlyMap<string, Roster>): void {
  pods.subscribe((change) => {
    const { before, after } = sidesOf(change);
    const [from, to] = [before?.controller?.uid, after?.controller?.uid];
    if (from !== undefined) rosters.get(from)?.podChanged(before, after);
    if (to !== undefined && to !== from) rosters.get(to)?.podChanged(before, after);
  });
}

function claimsOf(caches: Caches, uid: string): Iterable<PersistentVolumeClaim> {
  return caches.claims.byIndex("owner", uid);
}

/** Those of this set, and those of nobody that its selector matches (inplace-update rule 39). */
function revisionsOf(set: CloneSet, caches: Caches): ControllerRevision[] {
  const own = [...caches.revisions.byIndex("controller", set.metadata.uid ?? "")];
  const selector = compileSelector(set.spec.selector);
  for (const orphan of caches.revisions.byIndex("orphan", set.metadata.namespace ?? "")) {
    if (selector.matches(orphan.labels)) own.push(orphan);
  }
  return own.sort(byNumber);
}
