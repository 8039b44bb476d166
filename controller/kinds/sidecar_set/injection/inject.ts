/** Sidecars into a new pod: what is done, in order. Spec: sidecarset 3 to 10; pod-webhook 4.3. */
import { compareBytes, formatTime, type JsonObject } from "../../../../kube/core/index.ts";
import { objectAt, objectsAt, textsAt } from "../../../native/json_fields.ts";
import { writableList, writableObject } from "../../../runtime/admission/pod_draft.ts";
import { AppContainers } from "./app_containers.ts";
import { type Placed, placedContainers, withSidecars } from "./containers.ts";
import { patchedAnnotations } from "./pod_metadata.ts";
import { recordOf } from "./pod_record.ts";
import { ownContainers, resourcesByPolicy, sidecarNames } from "./resources.ts";
import type { Sidecars } from "./sidecars.ts";
import { missing } from "./volumes.ts";

export interface InjectionOptions {
  /** Gate EnableSortSidecarContainerByName. */
  readonly sortByName: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Writes the sidecars of all sets into the pod, of which only its own members are written to. Sets that have no container, which admission
 * refuses, leave nothing but their annotations. Throws InjectionError.
 */
export function injectSidecars(
  pod: JsonObject,
  sets: readonly Sidecars[],
  { sortByName, now }: InjectionOptions,
): void {
  const metadata = writableObject(pod, "metadata");
  const spec = writableObject(pod, "spec");
  let annotations = textsAt(metadata, "annotations");
  for (const { name, patches } of sets) annotations = patchedAnnotations(annotations, patches, name);
  // An annotation may name the container that variables are taken from.
  metadata["annotations"] = annotations;
  // All of them are worked out before the first is written: a sidecar takes nothing from another one.
  const app = new AppContainers(pod);
  const containers = placed(sets, pod, app, "containers");
  const initContainers = placed(sets, pod, app, "initContainers").sort(byName);
  if (containers.length === 0 && initContainers.length === 0) return;
  if (sortByName) containers.sort(byName);
  const volumes = missing(
    objectsAt(spec, "volumes"),
    sets.map((set) => set.mountedVolumes),
  );
  const secrets = missing(
    objectsAt(spec, "imagePullSecrets"),
    sets.map((set) => set.imagePullSecrets),
  );
  const record = recordOf(sets, annotations, formatTime(now));

  if (initContainers.length > 0)
    spec["initContainers"] = withSidecars(writableList(spec, "initContainers"), initContainers);
  if (containers.length > 0) spec["containers"] = withSidecars(writableList(spec, "containers"), containers);
  if (volumes.length > 0) writableList(spec, "volumes").push(...volumes);
  if (secrets.length > 0) writableList(spec, "imagePullSecrets").push(...secrets);
  metadata["annotations"] = { ...annotations, ...record };
}

function placed(
  sets: readonly Sidecars[],
  pod: JsonObject,
  app: AppContainers,
  list: "containers" | "initContainers",
): Placed[] {
  const usual = list === "containers" ? "before" : "after";
  let candidates: readonly JsonObject[] | undefined;
  return sets.flatMap(({ name: set, [list]: all }) =>
    all.flatMap((prepared) => {
      const { name, resourcesPolicy } = prepared.sidecar;
      if (resourcesPolicy) candidates ??= ownContainers(objectAt(pod, "spec"), sidecarNames(sets));
      const resources = resourcesPolicy
        ? resourcesByPolicy(resourcesPolicy, candidates ?? [], { sidecar: name, set })
        : undefined;
      return placedContainers(prepared, app, { usual, resources });
    }),
  );
}

function byName(left: Placed, right: Placed): number {
  return compareBytes(left.name, right.name);
}
