/** What somebody else writes, a person or another controller, though it is not theirs. */
import type { Act } from "./act.ts";
import type { Applied } from "./applied.ts";
import { asideLabel } from "./applied.ts";
import type { Chance } from "./chance.ts";

const stateAnnotation = "apps.kruise.io/inplace-update-state";
const revisionLabel = "controller-revision-hash";

/** Counts that are nobody's; what controllers remember in a status is theirs alone. */
const counts: Readonly<Record<string, readonly string[]>> = {
  CloneSet: ["replicas", "readyReplicas", "availableReplicas", "updatedReplicas"],
  StatefulSet: ["replicas", "readyReplicas", "availableReplicas", "updatedReplicas"],
  DaemonSet: ["numberReady", "numberAvailable", "updatedNumberScheduled"],
  SidecarSet: ["matchedPods", "updatedPods", "readyPods"],
  UnitedDeployment: ["replicas", "readyReplicas", "updatedReplicas"],
};

export function meddling(chance: Chance, applied: readonly Applied[], forMs: number): Act {
  const share = chance.share();
  switch (chance.whole(0, 6)) {
    case 0: {
      const [first, ...others] = applied.filter(({ manifest }) => manifest.kind in counts);
      if (first === undefined) return { act: "hold pod", share, forMs };
      const { path, manifest } = chance.oneOf([first, ...others]);
      const names = counts[manifest.kind] ?? [];
      return {
        act: "edit status",
        path,
        status: Object.fromEntries(names.map((name) => [name, chance.whole(0, 30)])),
      };
    }
    case 1:
      return { act: "hold pod", share, forMs };
    case 2:
      return { act: "edit child", share, how: chance.oneOf(["change", "change", "delete"]) };
    case 3:
      return { act: "edit pod", share, patch: { metadata: { ownerReferences: null } } };
    case 4: {
      // The name of a StatefulSet's pod stays taken, so that its ordinal would be away for good.
      const patch = { metadata: { labels: { app: null, [asideLabel]: "true" } } };
      return { act: "edit pod", share, kinds: ["CloneSet", "DaemonSet"], patch };
    }
    case 5:
      return {
        act: "edit pod",
        share,
        patch: { metadata: { labels: { [revisionLabel]: chance.oneOf([null, "by-hand"]) } } },
      };
    default:
      return {
        act: "edit pod",
        share,
        patch: { metadata: { annotations: { [stateAnnotation]: chance.oneOf([null, "{", "[]"]) } } },
      };
  }
}
