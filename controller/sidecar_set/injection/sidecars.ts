/** The sidecars of one SidecarSet as a pod gets them: of its present spec, or of a revision. Spec: sidecarset 12, 27. */
import {
  type Mistyped,
  type RevisedSpec,
  revisedSpecOf,
  type SidecarContainer,
  type SidecarSet,
  type SidecarSetSpec,
  sidecarSet,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  type Volume,
} from "../../../crds/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";

export type MetadataPatch = NonNullable<SidecarSetSpec["patchPodMetadata"]>[number];

/** Nothing of it may be written to: it is what the caches hold. */
export interface Sidecars {
  /** Of the set. */
  readonly name: string;
  readonly containers: readonly SidecarContainer[];
  readonly initContainers: readonly SidecarContainer[];
  readonly volumes: readonly Volume[];
  readonly imagePullSecrets: NonNullable<SidecarSetSpec["imagePullSecrets"]>;
  readonly patches: readonly MetadataPatch[];
  readonly hash: string;
  readonly hashWithoutImage: string;
  /** Undefined while the controller has yet to make it. */
  readonly controllerRevision: string | undefined;
}

/** Why a pod gets no answer from a set: names the set. */
export class InjectionError extends Error {
  override readonly name = "InjectionError";

  constructor(message: string, set: string, options?: ErrorOptions) {
    super(`${message} (SidecarSet ${set})`, options);
  }
}

/** Of the present spec, with the revision that the controller has made of it. */
export function presentSidecars({ metadata, spec, status }: SidecarSet): Sidecars {
  const isObserved = status?.observedGeneration === metadata.generation;
  // The revision of an earlier spec would say something wrong about the pod.
  const revision = isObserved ? status?.latestRevision : undefined;
  return sidecarsOf(metadata.name ?? "", spec, metadata.annotations, revision);
}

/** Of a revision, with its hashes. Throws InjectionError when its data is not that of a SidecarSet. */
export function sidecarsOfRevision(set: string, { name, data, annotations }: ControllerRevision): Sidecars {
  const spec = revisedSpecOf(data);
  // Any revision can be named, also one of another kind.
  if (spec?.containers === undefined && spec?.initContainers === undefined)
    throw new InjectionError(`ControllerRevision ${name} holds no sidecars`, set);
  return sidecarsOf(set, spec, annotations, name);
}

/** The set with the types that the rest relies on. */
export function readSidecarSet(object: object): SidecarSet | Mistyped {
  const found = sidecarSet.read({ ...object, apiVersion: "apps.kruise.io/v1beta1", kind: "SidecarSet" });
  if ("errors" in found) return found;
  if (found.version !== "v1beta1") throw new Error(`a SidecarSet was read in ${found.version}`);
  return { ...found.object, spec: found.object.spec ?? {} };
}

function sidecarsOf(
  name: string,
  { containers, initContainers, volumes, imagePullSecrets, patchPodMetadata }: RevisedSpec,
  annotations: Readonly<Record<string, string>> = {},
  controllerRevision: string | undefined,
): Sidecars {
  return {
    name,
    containers: containers ?? [],
    initContainers: initContainers ?? [],
    volumes: volumes ?? [],
    imagePullSecrets: imagePullSecrets ?? [],
    patches: patchPodMetadata ?? [],
    hash: annotations[sidecarSetHashAnnotation] ?? "",
    hashWithoutImage: annotations[sidecarSetHashWithoutImageAnnotation] ?? "",
    controllerRevision,
  };
}
