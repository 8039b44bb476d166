/** The shell of StatefulSet: what it sees in the caches, and its plan behind the shell that workloads share. */
import type { StatefulSet } from "../../crds/index.ts";
import { compileSelector } from "../../kube/core/index.ts";
import type { ControllerRevision } from "../../kube/index.ts";
import type { Caches, KindDeps, KindShell, ServerFeatures } from "../kind.ts";
import type { ControllerOptions } from "../options.ts";
import type { Performer } from "../rollout/perform.ts";
import { byNumber } from "../rollout/revisions.ts";
import { workloadShell } from "../rollout/workload_shell.ts";
import type { Seen, StatefulSetOptions } from "./observe.ts";
import { planStatefulSet } from "./plan.ts";
import { Rosters } from "./rosters.ts";

export function statefulSetShell(deps: KindDeps<StatefulSet>): KindShell {
  const options = statefulSetOptions(deps.options, deps.server);
  const rosters = new Rosters(deps.caches);
  return workloadShell(deps, {
    forget: (uid) => rosters.forget(uid),
    plan: (set, { performer, now, settled }) => {
      const seen = observe(set, deps.caches, performer, options, rosters);
      return planStatefulSet({ seen, options, now, settled });
    },
  });
}

/** Which gate and which ability of the server decides what: the only place that says so. */
export function statefulSetOptions(
  { gates, keepManagedFields }: Pick<ControllerOptions, "gates" | "keepManagedFields">,
  server: ServerFeatures,
): StatefulSetOptions {
  return {
    preparingUpdateAsUpdate: gates.PreparingUpdateAsUpdate,
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: server.resizeSubresource,
    resetsManagers: !keepManagedFields,
    startOrdinal: gates.StatefulSetStartOrdinal,
    deletesClaims: gates.StatefulSetAutoDeletePVC,
    resizesClaims: gates.StatefulSetAutoResizePVCGate,
    podIndexLabel: gates.PodIndexLabel,
    preDownload: gates.PreDownloadImageForInPlaceUpdate && server.imagePullJobs,
  };
}

/** Plain data from the caches; costs what has changed, not what the set owns. */
export function observe(
  set: StatefulSet,
  caches: Caches,
  performer: Pick<Performer, "pending" | "failures">,
  options: StatefulSetOptions,
  rosters: Rosters,
): Seen {
  const uid = set.metadata.uid ?? "";
  const namespace = set.metadata.namespace ?? "";
  return {
    set,
    roster: rosters.of(set, performer),
    podNamed: (name) => caches.pods.get(`${namespace}/${name}`),
    claimNamed: (name) => caches.claims.get(`${namespace}/${name}`),
    revisions: revisionsOf(set, caches),
    revisionData: (name) => caches.revisions.get(`${namespace}/${name}`)?.data,
    failures: performer.failures(uid),
    pullJobs: options.preDownload ? [...caches.pullJobs(uid)] : undefined,
    nodeImage: (node) => caches.nodeImage(node),
  };
}

/** Those of this set, and those of nobody that its selector matches (inplace-update rule 39). */
function revisionsOf(set: StatefulSet, caches: Caches): ControllerRevision[] {
  const own = [...caches.revisions.byIndex("controller", set.metadata.uid ?? "")];
  const selector = compileSelector(set.spec.selector);
  for (const orphan of caches.revisions.byIndex("orphan", set.metadata.namespace ?? "")) {
    if (selector.matches(orphan.labels)) own.push(orphan);
  }
  return own.sort(byNumber);
}
