/** From one template to another: is it possible in place, and what changes? Spec: inplace-update 4.1, 4.7 rule 22, 4.8. */
import { diffPositional, type JsonPatchOperation, own, podQos } from "../../../kube/core/index.ts";
import type { ResourceAmounts } from "../../../kube/index.ts";
import type { RefMetadata } from "./state.ts";

/** The parts of a revision's stored template that decide. Everything else is compared as plain JSON. */
export interface Template {
  metadata?: {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: readonly string[];
  };
  spec?: { containers?: readonly TemplateContainer[] };
}

interface TemplateContainer {
  name?: string;
  image?: string;
  resources?: { limits?: Record<string, string | number>; requests?: Record<string, string | number> };
  env?: readonly { name?: string; value?: string; valueFrom?: { fieldRef?: { fieldPath?: string } } }[];
}

export interface InPlaceChange {
  /** Container name -> new image. */
  images: Readonly<Record<string, string>>;
  resources: Readonly<Record<string, ResourceAmounts>>;
  /** Metadata that containers read into their environment: written with their batch. */
  refMetadata: Readonly<Record<string, RefMetadata>>;
  /** Undefined when nothing else changes there. */
  metadataPatch: MetadataPatch | undefined;
}

/** Strategic merge patch of the pod's `metadata`. */
export interface MetadataPatch {
  labels?: Record<string, string | null>;
  annotations?: Record<string, string | null>;
  /** To be added. */
  finalizers?: readonly string[];
  [REMOVED_FINALIZERS]?: readonly string[];
}

/** Directive of strategic merge patches. */
const REMOVED_FINALIZERS = "$deleteFromPrimitiveList/finalizers";

export type Eligibility = { change: InPlaceChange } | { change: undefined; reason: string };

export interface ChangeOptions {
  verticalScaling: boolean;
  envFromMetadata: boolean;
}

/** Whether pods are updated in place, and whether those are replaced that cannot be. */
export type UpdatePolicy = "ReCreate" | "InPlaceIfPossible" | "InPlaceOnly";

export function policyOf(text: string | undefined): UpdatePolicy {
  return text === "InPlaceIfPossible" || text === "InPlaceOnly" ? text : "ReCreate";
}

const IMAGE_PATH = /^\/spec\/containers\/(\d+)\/image$/;
const RESOURCE_PATH = /^\/spec\/containers\/(\d+)\/resources\/(limits|requests)\/(cpu|memory)$/;
const METADATA_ENTRY = /^\/metadata\/(labels|annotations)\/([^/]+)$/;
/** Written by sidecar injection; they never come from the template. Rule 22. */
const FOREIGN_ENV = new Set(["SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT"]);

/** Compares template to template, never pod to template (rule 6): hand edits and injected sidecars do not matter. */
export function inPlaceChange(before: Template, after: Template, options: ChangeOptions): Eligibility {
  const images: Record<string, string> = {};
  const resources: Record<string, { limits?: Record<string, string>; requests?: Record<string, string> }> =
    {};
  const metadataOperations: JsonPatchOperation[] = [];
  for (const operation of diffPositional(before, after)) {
    if (operation.path.startsWith("/metadata/") || operation.path === "/metadata") {
      metadataOperations.push(operation);
      continue;
    }
    const refused = containerOperation(operation, after, options, images, resources);
    if (refused !== undefined) return { change: undefined, reason: refused };
  }
  if (Object.keys(resources).length > 0 && podQos(before.spec ?? {}) !== podQos(after.spec ?? {})) {
    return { change: undefined, reason: "the change of resources changes the pod's QoS class" };
  }
  const refMetadata = options.envFromMetadata ? referencedMetadata(metadataOperations, after) : {};
  return {
    change: { images, resources, refMetadata, metadataPatch: metadataPatch(before, after, refMetadata) },
  };
}

function containerOperation(
  operation: JsonPatchOperation,
  after: Template,
  options: ChangeOptions,
  images: Record<string, string>,
  resources: Record<string, { limits?: Record<string, string>; requests?: Record<string, string> }>,
): string | undefined {
  const refusal = `${operation.op} ${operation.path} is not possible in place`;
  if (operation.op !== "replace") return refusal;
  const image = IMAGE_PATH.exec(operation.path);
  if (image !== null) {
    const container = after.spec?.containers?.[Number(image[1])];
    if (container?.name === undefined || container.image === undefined) return refusal;
    images[container.name] = container.image;
    return undefined;
  }
  const resource = options.verticalScaling ? RESOURCE_PATH.exec(operation.path) : null;
  const list = resource?.[2];
  const quantity = resource?.[3];
  if (resource === null || (list !== "limits" && list !== "requests") || quantity === undefined)
    return refusal;
  const container = after.spec?.containers?.[Number(resource[1])];
  if (container?.name === undefined) return refusal;
  const amounts = own(resources, container.name) ?? {};
  amounts[list] = { ...amounts[list], [quantity]: String(operation.value) };
  resources[container.name] = amounts;
  return undefined;
}

/** Labels and annotations added or replaced one by one that a container's environment reads. Rule 22 and 23. */
function referencedMetadata(
  operations: readonly JsonPatchOperation[],
  after: Template,
): Record<string, RefMetadata> {
  const changed = new Map<string, { map: "labels" | "annotations"; key: string; value: string }>();
  for (const operation of operations) {
    const match = METADATA_ENTRY.exec(operation.path);
    const map = match?.[1];
    if (match?.[2] === undefined || (map !== "labels" && map !== "annotations") || operation.op === "remove")
      continue;
    const key = match[2].replaceAll("~1", "/").replaceAll("~0", "~");
    changed.set(`metadata.${map}['${key}']`, { map, key, value: String(operation.value) });
  }
  const found: Record<string, RefMetadata> = {};
  if (changed.size === 0) return found;
  for (const container of after.spec?.containers ?? []) {
    for (const env of container.env ?? []) {
      if (env.value || FOREIGN_ENV.has(env.name ?? "")) continue;
      const entry = changed.get(env.valueFrom?.fieldRef?.fieldPath ?? "");
      if (entry === undefined || container.name === undefined) continue;
      const read = own(found, container.name) ?? {};
      read[entry.map] = { ...read[entry.map], [entry.key]: entry.value };
      found[container.name] = read;
    }
  }
  return found;
}

/**
 * Two-way patch of the template's metadata, without the keys that go with a container's batch. Entry by entry, also where the
 * last one of a map goes: a patch that removes the map would take along what others wrote on the pod. Rule 5.
 */
function metadataPatch(
  { metadata: old = {} }: Template,
  { metadata: next = {} }: Template,
  refMetadata: Readonly<Record<string, RefMetadata>>,
): MetadataPatch | undefined {
  const patch: MetadataPatch = {};
  for (const map of ["labels", "annotations"] as const) {
    const entries = changedEntries(old[map] ?? {}, next[map] ?? {});
    for (const withBatch of Object.values(refMetadata))
      for (const key of Object.keys(withBatch[map] ?? {})) delete entries[key];
    if (Object.keys(entries).length > 0) patch[map] = entries;
  }
  const [before, after] = [texts(old.finalizers), texts(next.finalizers)];
  const whole = withFinalizers(patch, {
    addFinalizers: after.filter((finalizer) => !before.includes(finalizer)),
    removeFinalizers: before.filter((finalizer) => !after.includes(finalizer)),
  });
  return Object.keys(whole).length > 0 ? whole : undefined;
}

/** A grace period may hold a patch that somebody else wrote. */
export function finalizersIn(patch: MetadataPatch): {
  readonly addFinalizers: readonly string[];
  readonly removeFinalizers: readonly string[];
} {
  return { addFinalizers: texts(patch.finalizers), removeFinalizers: texts(patch[REMOVED_FINALIZERS]) };
}

export function withFinalizers(
  patch: MetadataPatch,
  { addFinalizers, removeFinalizers }: ReturnType<typeof finalizersIn>,
): MetadataPatch {
  return {
    ...patch,
    ...(addFinalizers.length > 0 ? { finalizers: addFinalizers } : {}),
    ...(removeFinalizers.length > 0 ? { [REMOVED_FINALIZERS]: removeFinalizers } : {}),
  };
}

function texts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}

function changedEntries(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const changed: Record<string, string | null> = {};
  for (const key of Object.keys(before)) if (own(after, key) === undefined) changed[key] = null;
  for (const [key, value] of Object.entries(after)) if (own(before, key) !== value) changed[key] = value;
  return changed;
}
