/** What a pod's annotations say of its sidecars from the beginning. Spec: sidecarset 5, 10, 40. */
import {
  formatInjectedList,
  formatInjectedSidecars,
  formatWorkingContainers,
  hotUpgradePair,
  type InjectedSidecars,
  injectedListAnnotation,
  isHotUpgrade,
  isNativeSidecar,
  parseInjectedList,
  parseInjectedSidecars,
  parseWorkingContainers,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  workingHotUpgradeAnnotation,
} from "../../../crds/index.ts";
import { compareBytes, type Labels } from "../../../kube/core/index.ts";
import { hotUpgradeVersions } from "./containers.ts";
import { InjectionError, type Sidecars } from "./sidecars.ts";

/**
 * The annotations to set, beside those that the pod has. `at`: RFC 3339. Throws InjectionError when a hash annotation that
 * the pod comes with is none: what it says of other sets would be lost.
 */
export function recordOf(sets: readonly Sidecars[], present: Labels, at: string): Record<string, string> {
  return {
    [sidecarSetHashAnnotation]: entries(sets, present, sidecarSetHashAnnotation, (sidecars) => ({
      ...entryOf(sidecars, sidecars.hash, at),
      controllerRevision: sidecars.controllerRevision,
    })),
    [sidecarSetHashWithoutImageAnnotation]: entries(
      sets,
      present,
      sidecarSetHashWithoutImageAnnotation,
      (sidecars) => entryOf(sidecars, sidecars.hashWithoutImage, at),
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
  entryFor: (sidecars: Sidecars) => InjectedSidecars,
): string {
  const found = parseInjectedSidecars(present[annotation]);
  if (found === undefined)
    throw new InjectionError(
      `annotation ${annotation} of the pod is not a JSON object`,
      sets.map(({ name }) => name).join(", "),
    );
  for (const sidecars of sets) found.set(sidecars.name, entryFor(sidecars));
  return formatInjectedSidecars(found);
}

function entryOf(sidecars: Sidecars, hash: string, updateTimestamp: string): InjectedSidecars {
  const { name, containers, initContainers } = sidecars;
  const sidecarList = [...containers, ...initContainers.filter(isNativeSidecar)].map((one) => one.name);
  return { updateTimestamp, hash, sidecarSetName: name, sidecarList: sidecarList.sort(compareBytes) };
}

function hotUpgradeRecord(sets: readonly Sidecars[], present: Labels): Record<string, string> {
  const names = sets
    .flatMap(({ containers, initContainers }) => [...containers, ...initContainers])
    .filter(isHotUpgrade)
    .map(({ name }) => name);
  if (names.length === 0) return {};
  const working = parseWorkingContainers(present[workingHotUpgradeAnnotation]) ?? new Map<string, string>();
  for (const name of names) working.set(name, hotUpgradePair(name)[0]);
  return Object.assign(
    { [workingHotUpgradeAnnotation]: formatWorkingContainers(working) },
    ...names.map(hotUpgradeVersions),
  );
}
