/** The sidecars of one SidecarSet as a pod gets them: of its present spec, or of a revision. Spec: sidecarset 12, 27. */
import {
  injectedSidecarsWriter,
  isHotUpgrade,
  isNativeSidecar,
  type Mistyped,
  type RevisedSpec,
  revisedSpecOf,
  type SidecarContainer,
  type SidecarList,
  type SidecarSet,
  type SidecarSetSpec,
  sidecarSet,
  type Volume,
  writtenHashes,
} from "../../../../crds/index.ts";
import { compareBytes } from "../../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../../kube/index.ts";
import { type PreparedSidecar, prepareSidecar } from "./prepared_sidecar.ts";
import { mountedVolumes } from "./volumes.ts";

export type MetadataPatch = NonNullable<SidecarSetSpec["patchPodMetadata"]>[number];

/** Nothing of it may be written to: pods share it. */
export interface Sidecars {
  /** Of the set. */
  readonly name: string;
  readonly containers: readonly PreparedSidecar[];
  readonly initContainers: readonly PreparedSidecar[];
  /** Those that the sidecars mount, in the order of their mounts. */
  readonly mountedVolumes: readonly Volume[];
  readonly imagePullSecrets: NonNullable<SidecarSetSpec["imagePullSecrets"]>;
  readonly patches: readonly MetadataPatch[];
  /** Names of those that become two containers. */
  readonly hotUpgraded: readonly string[];
  /** Entries of the two hash annotations of a pod that is injected at a time (RFC 3339). */
  readonly hashEntry: ReturnType<typeof injectedSidecarsWriter>;
  readonly hashWithoutImageEntry: ReturnType<typeof injectedSidecarsWriter>;
}

/** Why a pod cannot have the sidecars of a set. */
export class InjectionError extends Error {
  override readonly name = "InjectionError";
  readonly set: string;

  constructor(message: string, set: string, options?: ErrorOptions) {
    super(`${message} (SidecarSet ${set})`, options);
    this.set = set;
  }
}

/** What follows from sets and revisions, worked out once each: objects of the caches never change, and every new pod asks. */
export class PreparedSidecars {
  readonly #known = new WeakMap<SidecarSet | ControllerRevision, Sidecars>();

  /** Of the present spec, with the revision that the controller has made of it. */
  ofSet(set: SidecarSet): Sidecars {
    const known = this.#known.get(set);
    if (known !== undefined) return known;
    const { metadata, spec, status } = set;
    const isObserved = status?.observedGeneration === metadata.generation;
    // The revision of an earlier spec would say something wrong about the pod.
    const revision = isObserved ? status?.latestRevision : undefined;
    const sidecars = prepareSidecars(metadata.name ?? "", spec, metadata.annotations, revision);
    this.#known.set(set, sidecars);
    return sidecars;
  }

  /** Of a revision, with its hashes. Throws InjectionError when its data is not that of a SidecarSet. */
  ofRevision(set: string, revision: ControllerRevision): Sidecars {
    const known = this.#known.get(revision);
    // Any revision can be named, also that of another set, or of another kind.
    if (known?.name === set) return known;
    const spec = revisedSpecOf(revision.data);
    if (spec?.containers === undefined && spec?.initContainers === undefined)
      throw new InjectionError(`ControllerRevision ${revision.name} holds no sidecars`, set);
    const sidecars = prepareSidecars(set, spec, revision.annotations, revision.name);
    this.#known.set(revision, sidecars);
    return sidecars;
  }
}

/** The set with the types that the rest relies on. */
export function readSidecarSet(object: object): SidecarSet | Mistyped {
  const found = sidecarSet.read({ ...object, apiVersion: "apps.kruise.io/v1beta1", kind: "SidecarSet" });
  if ("errors" in found) return found;
  if (found.version !== "v1beta1") throw new Error(`a SidecarSet was read in ${found.version}`);
  return { ...found.object, spec: found.object.spec ?? {} };
}

/** `annotations`: of the set or of its revision, with the hashes. */
export function prepareSidecars(
  name: string,
  { containers = [], initContainers = [], volumes, imagePullSecrets, patchPodMetadata }: RevisedSpec,
  annotations: Readonly<Record<string, string>> | undefined,
  controllerRevision: string | undefined,
): Sidecars {
  const listed = [...containers, ...initContainers.filter(isNativeSidecar)];
  const { hash, hashWithoutImage } = writtenHashes(annotations, { containers, initContainers });
  const entry = {
    sidecarSetName: name,
    sidecarList: listed.map((sidecar) => sidecar.name).sort(compareBytes),
  };
  const prepared = (all: readonly SidecarContainer[], list: SidecarList) =>
    all.map((sidecar) => prepareSidecar(sidecar, list));
  const hot = (all: readonly SidecarContainer[], list: SidecarList) =>
    all.filter((sidecar) => isHotUpgrade(sidecar, list)).map((sidecar) => sidecar.name);
  return {
    name,
    containers: prepared(containers, "containers"),
    initContainers: prepared(initContainers, "initContainers"),
    mountedVolumes: mountedVolumes([...initContainers, ...containers], volumes ?? []),
    imagePullSecrets: imagePullSecrets ?? [],
    patches: patchPodMetadata ?? [],
    hotUpgraded: [...hot(containers, "containers"), ...hot(initContainers, "initContainers")],
    hashEntry: injectedSidecarsWriter(name, { ...entry, hash, controllerRevision }),
    hashWithoutImageEntry: injectedSidecarsWriter(name, { ...entry, hash: hashWithoutImage }),
  };
}
