/** What an in-place update leaves on the pod. Spec: inplace-update 3.1, 3.2, 3.3. */
import type { Pod, ResourceAmounts } from "../../../kube/index.ts";

export const STATE_ANNOTATION = "apps.kruise.io/inplace-update-state";
export const OLD_STATE_ANNOTATION = "inplace-update-state";
export const GRACE_ANNOTATION = "apps.kruise.io/inplace-update-grace";
export const OLD_GRACE_ANNOTATION = "inplace-update-grace";
export const RUNTIME_META_ANNOTATION = "apps.kruise.io/runtime-containers-meta";

/** Labels and annotations that only take effect with the containers that read them. */
export interface RefMetadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface BatchRecord {
  timestamp: string;
  /** Sorted container names; empty for a change of metadata only. */
  containers: string[];
}

/** Keys are written in this order. */
export interface InPlaceState {
  revision: string;
  /** RFC 3339, start of the whole update. */
  updateTimestamp: string;
  lastContainerStatuses: Record<string, { imageID: string }> | null;
  updateEnvFromMetadata?: true;
  updateResources?: true;
  updateImages?: true;
  nextContainerImages?: Record<string, string>;
  nextContainerRefMetadata?: Record<string, RefMetadata>;
  nextContainerResources?: Record<string, ResourceAmounts>;
  preCheckBeforeNext?: { containersRequiredReady: string[] };
  containerBatchesRecord?: BatchRecord[];
  /**
   * Images by container that earlier updates asked for and that were not seen running when this one began: the node may
   * still start them. Ours, and rare; absent otherwise.
   */
  supersededImages?: Record<string, readonly string[]>;
}

export interface GraceState {
  revision: string;
  containerImages?: Record<string, string>;
  containerRefMetadata?: Record<string, RefMetadata>;
  containerResources?: Record<string, ResourceAmounts>;
  /** Base64 of the JSON text of a strategic merge patch of the pod's metadata. */
  metaDataPatch?: string;
  updateEnvFromMetadata?: true;
  graceSeconds: number;
}

interface RuntimeContainerMeta {
  name: string;
  containerID: string;
  restartCount: number;
  hashes: { plainHash: number; extractedEnvFromMetadataHash?: number };
}

/** A parsed annotation, or why it could not be read. Broken data never stops other pods. */
export type Parsed<T> = { value: T } | { value: undefined; broken?: string };

const absent: Parsed<never> = { value: undefined };

/**
 * An annotation with what was parsed of it lately, by its text: pods that are updated together carry equal texts, and
 * every plan asks again. A text that is alive has its hash already, so that finding it costs no pass over its letters.
 */
class AnnotationReader<T extends object> {
  readonly #key: string;
  readonly #formerKey: string | undefined;
  readonly #check: (value: object) => value is T;
  readonly #lately = new Map<string, Parsed<T>>();

  constructor(keys: readonly [key: string, formerKey?: string], check: (value: object) => value is T) {
    [this.#key, this.#formerKey] = keys;
    this.#check = check;
  }

  read({ annotations }: Pod): Parsed<T> {
    const text =
      annotations[this.#key] ?? (this.#formerKey === undefined ? undefined : annotations[this.#formerKey]);
    if (text === undefined || text === "") return absent;
    const known = this.#lately.get(text);
    if (known !== undefined) return known;
    const parsed = parseText(text, this.#key, this.#check);
    this.#lately.set(text, parsed);
    if (this.#lately.size > KEPT) {
      // The oldest goes first.
      for (const oldest of this.#lately.keys()) {
        this.#lately.delete(oldest);
        break;
      }
    }
    return parsed;
  }
}

const KEPT = 1024;

function parseText<T extends object>(
  text: string,
  key: string,
  check: (value: object) => value is T,
): Parsed<T> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && check(value)) return { value };
  } catch {
    // Falls through: text that is no JSON and JSON of another shape are refused alike.
  }
  return {
    value: undefined,
    broken: `annotation ${key} holds ${JSON.stringify(text.slice(0, 80))}, which is not its JSON form`,
  };
}

function isState(value: object): value is InPlaceState {
  return "revision" in value && typeof value.revision === "string";
}

function isGrace(value: object): value is GraceState {
  return "revision" in value && typeof value.revision === "string";
}

function isRuntimeMeta(value: object): value is { containers: RuntimeContainerMeta[] } {
  return "containers" in value && Array.isArray(value.containers);
}

const states = new AnnotationReader([STATE_ANNOTATION, OLD_STATE_ANNOTATION], isState);
const graces = new AnnotationReader([GRACE_ANNOTATION, OLD_GRACE_ANNOTATION], isGrace);
const runtimeMetas = new AnnotationReader([RUNTIME_META_ANNOTATION], isRuntimeMeta);

export function inPlaceState(pod: Pod): Parsed<InPlaceState> {
  return states.read(pod);
}

export function graceState(pod: Pod): Parsed<GraceState> {
  return graces.read(pod);
}

export function runtimeMeta(pod: Pod): readonly RuntimeContainerMeta[] | undefined {
  return runtimeMetas.read(pod).value?.containers;
}

/** Whether a later batch of containers is still to be issued. */
export function hasNextBatch(state: InPlaceState): boolean {
  return (
    Object.keys(state.nextContainerImages ?? {}).length > 0 ||
    Object.keys(state.nextContainerRefMetadata ?? {}).length > 0 ||
    Object.keys(state.nextContainerResources ?? {}).length > 0
  );
}

/** The annotation's text: fixed key order, empty members left out. */
export function stateText(state: InPlaceState): string {
  return JSON.stringify({
    revision: state.revision,
    updateTimestamp: state.updateTimestamp,
    lastContainerStatuses: state.lastContainerStatuses,
    updateEnvFromMetadata: state.updateEnvFromMetadata,
    updateResources: state.updateResources,
    updateImages: state.updateImages,
    nextContainerImages: filled(state.nextContainerImages),
    nextContainerRefMetadata: filled(state.nextContainerRefMetadata),
    nextContainerResources: filled(state.nextContainerResources),
    preCheckBeforeNext: state.preCheckBeforeNext,
    containerBatchesRecord: state.containerBatchesRecord,
    supersededImages: filled(state.supersededImages),
  });
}

export function graceText(grace: GraceState): string {
  return JSON.stringify({
    revision: grace.revision,
    containerImages: filled(grace.containerImages),
    containerRefMetadata: filled(grace.containerRefMetadata),
    containerResources: filled(grace.containerResources),
    metaDataPatch: grace.metaDataPatch,
    updateEnvFromMetadata: grace.updateEnvFromMetadata,
    graceSeconds: grace.graceSeconds,
  });
}

function filled<T extends object>(map: T | undefined): T | undefined {
  return map !== undefined && Object.keys(map).length > 0 ? map : undefined;
}
