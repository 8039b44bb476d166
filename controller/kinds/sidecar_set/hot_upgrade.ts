/**
 * Sidecars of two containers that take turns: the idle one gets the new image, and when it serves, the other one is put to
 * rest. Spec: sidecarset, rules 40 to 44.
 */
import {
  hotUpgradeAltVersionPrefix,
  hotUpgradePair,
  hotUpgradeVersionPrefix,
  isHotUpgrade,
  type SidecarContainer,
  type SidecarsBeforeUpdate,
} from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { areUpdated, isConsistent } from "../../rollout/in_place/sidecars.ts";
import { conditionOf } from "../../rollout/pods/pod_state.ts";

interface Pair {
  readonly containers: readonly [first: string, second: string];
  /** Of the one that is at rest. */
  readonly emptyImage: string;
}

/** A sidecar of the set's spec. */
export interface Sidecar {
  readonly name: string;
  readonly image: string;
  /** Undefined for one that is a single container. */
  readonly pair: Pair | undefined;
}

type HotSidecar = Sidecar & { readonly pair: Pair };

/** What happens to one pair: images by container, annotations, and which container serves from now on. */
export interface PairChange {
  readonly sidecar: string;
  readonly images: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly working: string;
}

/** `sidecar`: one of the set's regular containers, as no others are updated. */
export function pairOf(sidecar: SidecarContainer): Pair | undefined {
  if (!isHotUpgrade(sidecar, "containers")) return undefined;
  const emptyImage = sidecar.upgradeStrategy?.hotUpgradeEmptyImage ?? "";
  return { containers: hotUpgradePair(sidecar.name), emptyImage };
}

export function isHot(sidecar: Sidecar): sidecar is HotSidecar {
  return sidecar.pair !== undefined;
}

/** The container that is recorded as the one that serves; undefined: none of the pair is. */
export function workingOf({ name, pair }: Sidecar, working: ReadonlyMap<string, string>): string | undefined {
  const recorded = working.get(name);
  return recorded !== undefined && pair?.containers.includes(recorded) ? recorded : undefined;
}

/** Both containers of the pair have an image that does something (rule 44). */
export function isMigrating(pod: Pod, sidecar: Sidecar, working: ReadonlyMap<string, string>): boolean {
  if (!isHot(sidecar)) return false;
  return imageOf(pod, idleOf(sidecar, working)) !== sidecar.pair.emptyImage;
}

/** The one that is not recorded as serving. */
function idleOf(sidecar: HotSidecar, working: ReadonlyMap<string, string>): string {
  return otherOf(sidecar, workingOf(sidecar, working) ?? sidecar.pair.containers[0]);
}

function otherOf({ pair: { containers } }: HotSidecar, container: string): string {
  return containers[0] === container ? containers[1] : containers[0];
}

function imageOf(pod: Pod, container: string): string {
  return pod.containers.find(({ name }) => name === container)?.image ?? "";
}

/** The present image of the sidecar goes into one of its containers, unless one has it (rule 41). */
export function upgradePair(
  pod: Pod,
  sidecar: HotSidecar,
  working: ReadonlyMap<string, string>,
  before: SidecarsBeforeUpdate | undefined,
  setVersion: string,
): PairChange | undefined {
  const failing = failingOf(pod, sidecar, before);
  const empty = sidecar.pair.containers.find((name) => imageOf(pod, name) === sidecar.pair.emptyImage);
  const chosen = empty ?? failing ?? idleOf(sidecar, working);
  const other = otherOf(sidecar, chosen);
  if (imageOf(pod, other) === sidecar.image) {
    // What was to take over never came to serve, and the other one has the image that is wanted again.
    return empty === undefined && chosen === failing ? restPair(sidecar, chosen) : undefined;
  }
  return {
    sidecar: sidecar.name,
    images: imageOf(pod, chosen) === sidecar.image ? {} : { [chosen]: sidecar.image },
    annotations: {
      [hotUpgradeVersionPrefix + chosen]: setVersion,
      [hotUpgradeAltVersionPrefix + chosen]: pod.annotations[hotUpgradeVersionPrefix + other] ?? "0",
      [hotUpgradeAltVersionPrefix + other]: setVersion,
    },
    working: chosen,
  };
}

/** The only one of the pair that is not ready with its image. */
function failingOf(
  pod: Pod,
  { pair }: HotSidecar,
  before: SidecarsBeforeUpdate | undefined,
): string | undefined {
  const failing = pair.containers.filter(
    (name) =>
      pod.containerStatuses.find((status) => status.name === name)?.ready !== true ||
      !areUpdated(pod, [name], before),
  );
  return failing.length === 1 ? failing[0] : undefined;
}

/** `container` is put to rest, the other one serves alone. */
function restPair(sidecar: HotSidecar, container: string): PairChange {
  const other = otherOf(sidecar, container);
  return {
    sidecar: sidecar.name,
    images: { [container]: sidecar.pair.emptyImage },
    annotations: {
      [hotUpgradeVersionPrefix + container]: "0",
      [hotUpgradeAltVersionPrefix + other]: "0",
    },
    working: other,
  };
}

/**
 * Containers that have handed over are put to rest: once all others of the set run what they should, and the pod is
 * ready, or would be but for them (rule 43).
 */
export function resetPairs(
  pod: Pod,
  sidecars: readonly Sidecar[],
  working: ReadonlyMap<string, string>,
  before: SidecarsBeforeUpdate | undefined,
): readonly PairChange[] {
  const migrating = sidecars.filter(isHot).filter((sidecar) => isMigrating(pod, sidecar, working));
  if (migrating.length === 0) return [];
  const leaving = migrating.map((sidecar) => idleOf(sidecar, working));
  const staying = sidecars
    .flatMap(({ name, pair }) => pair?.containers ?? [name])
    .filter((name) => !leaving.includes(name));
  if (!isConsistent(pod, staying, before) || !isReadyWithout(pod, leaving)) return [];
  return migrating.map((sidecar) => restPair(sidecar, idleOf(sidecar, working)));
}

function isReadyWithout(pod: Pod, leaving: readonly string[]): boolean {
  if (pod.phase === "Running" && conditionOf(pod, "Ready")?.status === "True") return true;
  return pod.containers.every(
    ({ name }) =>
      leaving.includes(name) || pod.containerStatuses.find((status) => status.name === name)?.ready === true,
  );
}
