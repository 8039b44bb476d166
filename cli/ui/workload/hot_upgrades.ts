/** Sidecars of two containers that take turns: which one of a pod works, and how far its upgrade is. Spec: sidecarset 40 to 44. */
import {
  hotUpgradePair,
  hotUpgradeVersionPrefix,
  parseWorkingContainers,
  workingHotUpgradeAnnotation,
} from "../../../crds/index.ts";
import { type AnyObject, at, listAt, textAt } from "../../fields.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import type { HotSlot, HotStep, HotUpgradeItem } from "../shared/detail_items.ts";

const mostPods = 200;

/** One of the two containers. */
export interface SlotFacts {
  readonly container: string;
  readonly image: string;
  readonly isReady: boolean;
  /** Of the SidecarSet when it got its image; `0` at rest. */
  readonly version: string;
}

export interface HotPair {
  /** As the set names it. */
  readonly sidecar: string;
  readonly working: string;
  readonly slots: readonly SlotFacts[];
}

/** Pairs that a pod says it has, of whichever set. */
export function hotPairs(pod: AnyObject): HotPair[] {
  const { annotations = {} } = pod.metadata;
  const working = parseWorkingContainers(annotations[workingHotUpgradeAnnotation]) ?? [];
  return [...working].map(([sidecar, container]) => ({
    sidecar,
    working: container,
    slots: hotUpgradePair(sidecar).map((name) => slotFacts(pod, name)),
  }));
}

function slotFacts(pod: AnyObject, container: string): SlotFacts {
  const named = (list: readonly unknown[]) => list.find((each) => textAt(each, "name") === container);
  return {
    container,
    image: textAt(named(listAt(pod, "spec", "containers")), "image") ?? "",
    isReady: at(named(listAt(pod, "status", "containerStatuses")), "ready") === true,
    version: pod.metadata.annotations?.[hotUpgradeVersionPrefix + container] ?? "",
  };
}

export interface PodWithPairs {
  readonly namespace: string;
  readonly pod: string;
  readonly hot: readonly HotPair[];
}

const order: readonly HotStep[] = ["starting", "handingOver", "waiting", "rests"];

/** What is under way first; at most 200. */
export function hotUpgradeItems(
  pods: Iterable<PodWithPairs>,
  set: AnyObject,
): ReadonlyMap<string, HotUpgradeItem> {
  const sidecars = hotSidecars(set);
  if (sidecars.size === 0) return new Map();
  const items = [...pods].flatMap(({ namespace, pod, hot }) =>
    hot.flatMap((pair) => {
      const wanted = sidecars.get(pair.sidecar);
      if (wanted === undefined) return [];
      const item = { ...hotUpgradeItem(pair, wanted), namespace, pod };
      return [[`hot/${namespace}/${pod}/${item.sidecar}`, item] as const];
    }),
  );
  items.sort(
    ([a, left], [b, right]) => order.indexOf(left.step) - order.indexOf(right.step) || (a < b ? -1 : 1),
  );
  return new Map(items.slice(0, mostPods));
}

interface Wanted {
  readonly image: string;
  readonly emptyImage: string;
}

/** By name; of regular containers, as no others are updated. */
function hotSidecars(set: AnyObject): Map<string, Wanted> {
  const hot = listAt(set, "spec", "containers").filter(
    (container) => textAt(container, "upgradeStrategy", "upgradeType") === "HotUpgrade",
  );
  return new Map(
    hot.map((container) => [
      textAt(container, "name") ?? "",
      {
        image: textAt(container, "image") ?? "",
        emptyImage: textAt(container, "upgradeStrategy", "hotUpgradeEmptyImage") ?? "",
      },
    ]),
  );
}

function hotUpgradeItem(pair: HotPair, wanted: Wanted): Omit<HotUpgradeItem, "namespace" | "pod"> {
  const slots = pair.slots.map(
    ({ container, image, isReady, version }): HotSlot => ({
      container: shownName(container),
      image: shownText(image),
      version: shownText(version),
      isReady,
      isWorking: container === pair.working,
      isEmpty: image === wanted.emptyImage,
      isNew: image === wanted.image,
    }),
  );
  return { is: "hotUpgrade", sidecar: shownName(pair.sidecar), step: stepOf(slots), slots };
}

/** While both containers have an image that does something, the one that is recorded as working takes over. */
function stepOf(slots: readonly HotSlot[]): HotStep {
  const working = slots.find(({ isWorking }) => isWorking);
  if (slots.every(({ isEmpty }) => !isEmpty)) return working?.isReady === true ? "handingOver" : "starting";
  return working?.isNew === true ? "rests" : "waiting";
}
