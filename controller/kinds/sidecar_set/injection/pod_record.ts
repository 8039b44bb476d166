/** What a pod's annotations say of its sidecars from the beginning. Spec: sidecarset 5, 10, 40. */
import {
  formatInjectedList,
  formatInjectedSidecars,
  formatWorkingContainers,
  hotUpgradePair,
  injectedListAnnotation,
  parseInjectedList,
  parseInjectedSidecars,
  parseWorkingContainers,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  workingHotUpgradeAnnotation,
} from "../../../../crds/index.ts";
import type { Labels } from "../../../../kube/core/index.ts";
import { hotUpgradeVersions } from "./containers.ts";
import { InjectionError, type Sidecars } from "./sidecars.ts";

/**
 * The annotations to set, beside those that the pod has. `at`: RFC 3339. Throws InjectionError when a hash annotation that
 * the pod comes with is none: what it says of other sets would be lost.
 */
export function recordOf(sets: readonly Sidecars[], present: Labels, at: string): Record<string, string> {
  return {
    [sidecarSetHashAnnotation]: entries(sets, present, sidecarSetHashAnnotation, (set) => set.hashEntry(at)),
    [sidecarSetHashWithoutImageAnnotation]: entries(
      sets,
      present,
      sidecarSetHashWithoutImageAnnotation,
      (set) => set.hashWithoutImageEntry(at),
    ),
    [injectedListAnnotation]: formatInjectedList([
      ...parseInjectedList(present[injectedListAnnotation]),
      ...sets.map(({ name }) => name),
    ]),
    ...hotUpgradeRecord(sets, present),
  };
}

function entries(
  sets: readonly Sidecars[],
  present: Labels,
  annotation: string,
  entryOf: (set: Sidecars) => ReturnType<Sidecars["hashEntry"]>,
): string {
  const found = parseInjectedSidecars(present[annotation]);
  if (found === undefined)
    throw new InjectionError(
      `annotation ${annotation} of the pod is not a JSON object`,
      sets.map(({ name }) => name).join(", "),
    );
  return formatInjectedSidecars(found, sets.map(entryOf));
}

function hotUpgradeRecord(sets: readonly Sidecars[], present: Labels): Record<string, string> {
  const names = sets.flatMap(({ hotUpgraded }) => hotUpgraded);
  if (names.length === 0) return {};
  const working = parseWorkingContainers(present[workingHotUpgradeAnnotation]) ?? new Map<string, string>();
  for (const name of names) working.set(name, hotUpgradePair(name)[0]);
  return Object.assign(
    { [workingHotUpgradeAnnotation]: formatWorkingContainers(working) },
    ...names.map(hotUpgradeVersions),
  );
}
