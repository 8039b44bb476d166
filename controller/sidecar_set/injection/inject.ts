/** Sidecars into a new pod: what is done, in order. Spec: sidecarset 3 to 10; pod-webhook 4.3. */
import { podContainerNames } from "../../../crds/index.ts";
import { compareBytes, ensureObject, formatTime, type JsonObject } from "../../../kube/core/index.ts";
import { objectAt, objectsAt, textsAt } from "../../json_fields.ts";
import { ensureList } from "../../pod_admission/draft.ts";
import { containersOf, type Placed, placeOf, withSidecars } from "./containers.ts";
import { patchedAnnotations } from "./pod_metadata.ts";
import { recordOf } from "./pod_record.ts";
import { ownContainers, resourcesByPolicy, sidecarNames } from "./resources.ts";
import type { Sidecars } from "./sidecars.ts";
import { missingPullSecrets, missingVolumes } from "./volumes.ts";

export interface InjectionOptions {
  /** Gate EnableSortSidecarContainerByName. */
  readonly sortByName: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Writes the sidecars of all sets into the pod, which has to be the caller's own. Throws InjectionError. */
export function injectSidecars(
  pod: JsonObject,
  sets: readonly Sidecars[],
  { sortByName, now }: InjectionOptions,
): void {
  const metadata = ensureObject(pod, "metadata");
  const spec = ensureObject(pod, "spec");
  let annotations = textsAt(metadata, "annotations");
  for (const { name, patches } of sets) annotations = patchedAnnotations(annotations, patches, name);
  // All of them are worked out before the first is written: a sidecar takes nothing from another one.
  const containers = placed(sets, pod, "containers");
  const initContainers = placed(sets, pod, "initContainers").sort(byName);
  if (sortByName) containers.sort(byName);
  const volumes = missingVolumes(objectsAt(spec, "volumes"), sets);
  const secrets = missingPullSecrets(objectsAt(spec, "imagePullSecrets"), sets);
  const record = recordOf(sets, annotations, formatTime(now));

  if (initContainers.length > 0)
    spec["initContainers"] = withSidecars(ensureList(spec, "initContainers"), initContainers);
  if (containers.length > 0) spec["containers"] = withSidecars(ensureList(spec, "containers"), containers);
  if (volumes.length > 0) ensureList(spec, "volumes").push(...volumes);
  if (secrets.length > 0) ensureList(spec, "imagePullSecrets").push(...secrets);
  metadata["annotations"] = { ...annotations, ...record };
}

function placed(sets: readonly Sidecars[], pod: JsonObject, list: "containers" | "initContainers"): Placed[] {
  const sidecars = sets.flatMap((set) => set[list].map((sidecar) => ({ sidecar, set: set.name })));
  const relative = sidecars.some(({ sidecar }) => sidecar.resourcesPolicy);
  const candidates = relative ? ownContainers(objectAt(pod, "spec"), sidecarNames(sets)) : [];
  const usual = list === "containers" ? "before" : "after";
  return sidecars.flatMap(({ sidecar, set }) => {
    const resources =
      sidecar.resourcesPolicy &&
      resourcesByPolicy(sidecar.resourcesPolicy, candidates, { sidecar: sidecar.name, set });
    const names = podContainerNames(sidecar);
    return containersOf(sidecar, pod, resources).map((container, index) => ({
      name: names[index] ?? sidecar.name,
      place: placeOf(sidecar, usual),
      container,
    }));
  });
}

function byName(left: Placed, right: Placed): number {
  return compareBytes(left.name, right.name);
}
