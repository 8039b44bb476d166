/**
 * The requests of one pod's in-place update: gate off, spec, and (by refresh) the gate on again.
 * Spec: inplace-update 4.2 to 4.4, 4.6, 4.8.
 */

import { notAhead, own, quantityEqual, timeOf } from "../../../kube/core/index.ts";
import type { Pod, ResourceAmounts } from "../../../kube/index.ts";
import { stateMetadata, timestamp } from "../lifecycle/lifecycle.ts";
import { hasGate, IN_PLACE_READY } from "../pods/pod_state.ts";
import { gateOff, gateOn, needsGateOn } from "../pods/readiness.ts";
import {
  afterChange,
  type PodChange,
  type PodPatch,
  type PodWrite,
  podPatch,
  podWrite,
} from "../writes/pod_patch.ts";
import { containersOf, nextBatch, type Pending } from "./batches.ts";
import { finalizersIn, type InPlaceChange, type MetadataPatch } from "./change.ts";
import { awaited, type CompletionOptions, imageIdOf, supersededImages, underWay } from "./completion.ts";
import { allowsLean, LEAN_UPDATE_ANNOTATION } from "./lean.ts";
import {
  GRACE_ANNOTATION,
  type GraceState,
  graceState,
  graceText,
  hasNextBatch,
  type InPlaceState,
  inPlaceState,
  OLD_GRACE_ANNOTATION,
  OLD_STATE_ANNOTATION,
  STATE_ANNOTATION,
  stateText,
} from "./state.ts";

export interface InPlaceOptions extends CompletionOptions {
  /** The server has the `pods/resize` subresource (1.32 and newer). Rule 26. */
  resizeSubresource: boolean;
  /** The write of a new spec ends the tracking of field managers, unless somebody uses server-side apply. */
  resetsManagers: boolean;
}

/** Since an update began, milliseconds: see refreshAwaited. */
const SUPERSEDED_MS = 60_000;

export interface Target {
  /** Text of the state annotation's `revision`. */
  revision: string;
  labels: Readonly<Record<string, string>>;
  graceSeconds: number;
  /** Whether the lifecycle label is moved to `Updating`. */
  lifecycle: boolean;
  /** Without the readiness gate and the lifecycle label, where the change allows it. */
  lean: boolean;
}

/** Starts an update of a pod that was seen as it is: the first request has the seen resourceVersion as precondition. */
export function startInPlace(
  pod: Pod,
  asked: InPlaceChange,
  target: Target,
  options: InPlaceOptions,
  now: number,
): PodWrite {
  const change = forContainersOf(pod, asked);
  const steps: PodPatch[] = [];
  let after = pod;
  const first = (): { resourceVersion?: string } =>
    steps.length === 0 ? { resourceVersion: pod.resourceVersion } : {};
  const lean = target.lean && allowsLean(change);
  const gated = !lean && hasGate(pod, IN_PLACE_READY) && !resizesWithoutRestart(pod, change);
  const off: PodChange = gated ? { conditions: gateOff(pod) } : {};
  const withGate = gated && changesMetadataAlone(change) && target.graceSeconds === 0;
  if (gated && !withGate) {
    steps.push(podPatch(after, off, now, { subresource: "status", ...first() }));
    after = afterChange(after, off, now);
  }
  // What an earlier update still waits for is waited for, whatever this one changes.
  const earlier = underWay(pod, options);
  const state: InPlaceState = {
    revision: target.revision,
    updateTimestamp: timestamp(now),
    lastContainerStatuses: earlier?.lastContainerStatuses ?? null,
    ...(isAny(change.refMetadata) || earlier?.updateEnvFromMetadata ? { updateEnvFromMetadata: true } : {}),
    ...(isAny(change.resources) || earlier?.updateResources ? { updateResources: true } : {}),
    ...(isAny(change.images) || earlier?.updateImages ? { updateImages: true } : {}),
    supersededImages: supersededImages(pod, Object.keys(change.images), earlier),
  };
  const metadata =
    target.lifecycle && !lean ? stateMetadata("Updating", now) : { labels: {}, annotations: {} };
  const labels: Record<string, string | null> = { ...target.labels, ...metadata.labels };
  const annotations: Record<string, string | null> = { ...metadata.annotations };
  if (lean) annotations[LEAN_UPDATE_ANNOTATION] = target.revision;
  else if (LEAN_UPDATE_ANNOTATION in pod.annotations) annotations[LEAN_UPDATE_ANNOTATION] = null;
  if (OLD_STATE_ANNOTATION in pod.annotations) annotations[OLD_STATE_ANNOTATION] = null;
  if (target.graceSeconds > 0) {
    annotations[STATE_ANNOTATION] = stateText(state);
    annotations[GRACE_ANNOTATION] = graceText(graceOf(change, target));
    const held: PodChange = { labels, annotations };
    steps.push(podPatch(after, held, now, first()));
    return { steps, after: afterChange(after, held, now), begins: true };
  }
  // Annotations of earlier updates must not survive this one.
  if (GRACE_ANNOTATION in pod.annotations) annotations[GRACE_ANNOTATION] = null;
  const patch = change.metadataPatch ?? {};
  const issued = issueBatch(after, state, change, options, now, first, {
    labels: { ...patch.labels, ...labels },
    annotations: { ...patch.annotations, ...annotations },
    ...finalizersIn(patch),
    ...(withGate ? off : {}),
  });
  return { steps: [...steps, ...issued.steps], after: issued.after, begins: true };
}

/** Somebody may have left containers of the template out at the pod's creation: the server refuses to add them. */
function forContainersOf(pod: Pod, change: InPlaceChange): InPlaceChange {
  const present = new Set(pod.containers.map(({ name }) => name));
  const absent = containersOf(change).filter((name) => !present.has(name));
  if (absent.length === 0) return change;
  const kept = <T>(map: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(map).filter(([name]) => present.has(name)));
  // The metadata that they read is the pod's all the same.
  const patch: MetadataPatch = { ...change.metadataPatch };
  for (const name of absent) {
    for (const map of ["labels", "annotations"] as const) {
      const entries = own(change.refMetadata, name)?.[map];
      if (entries !== undefined) patch[map] = { ...patch[map], ...entries };
    }
  }
  return {
    images: kept(change.images),
    resources: kept(change.resources),
    refMetadata: kept(change.refMetadata),
    metadataPatch: isAny(patch) ? patch : undefined,
  };
}

/**
 * Then one request has both: the status subresource takes labels and annotations. A container that reads them is stopped
 * while the gate is off, and a kubelet that has seen the gate has seen what the container is to read.
 * What goes with images or resources waits for them: a pod whose new spec is refused must not have its metadata. Finalizers do
 * not go through the status subresource.
 */
function changesMetadataAlone({ images, resources, metadataPatch = {} }: InPlaceChange): boolean {
  const { addFinalizers, removeFinalizers } = finalizersIn(metadataPatch);
  return !isAny(images) && !isAny(resources) && addFinalizers.length + removeFinalizers.length === 0;
}

function graceOf(change: InPlaceChange, target: Target): GraceState {
  return {
    revision: target.revision,
    containerImages: { ...change.images },
    containerRefMetadata: { ...change.refMetadata },
    containerResources: { ...change.resources },
    ...(change.metadataPatch === undefined
      ? {}
      : {
          metaDataPatch: Buffer.from(JSON.stringify({ metadata: change.metadataPatch })).toString("base64"),
        }),
    ...(Object.keys(change.refMetadata).length > 0 ? { updateEnvFromMetadata: true } : {}),
    graceSeconds: target.graceSeconds,
  };
}

/** Rule 7 and 27: only resources change, and none of them needs a restart. */
function resizesWithoutRestart(pod: Pod, change: InPlaceChange): boolean {
  if (Object.keys(change.images).length > 0 || Object.keys(change.refMetadata).length > 0) return false;
  if (change.metadataPatch !== undefined || Object.keys(change.resources).length === 0) return false;
  for (const [name, amounts] of Object.entries(change.resources)) {
    const policy = pod.containers.find((container) => container.name === name)?.resizePolicy ?? {};
    for (const resource of [...Object.keys(amounts.limits ?? {}), ...Object.keys(amounts.requests ?? {})]) {
      if (policy[resource] === "RestartContainer") return false;
    }
  }
  return true;
}

interface BesideBatch extends Pick<PodChange, "addFinalizers" | "removeFinalizers"> {
  labels: Record<string, string | null>;
  annotations: Record<string, string | null>;
  /** Only beside a batch of metadata alone. */
  conditions?: NonNullable<PodChange["conditions"]>;
}

/** Writes one batch: images, resources and the metadata its containers read, with the state that records it. */
function issueBatch(
  pod: Pod,
  state: InPlaceState,
  pending: Pending,
  options: InPlaceOptions,
  now: number,
  first: () => { resourceVersion?: string },
  metadata: BesideBatch,
): PodWrite {
  const { batch, rest } = nextBatch(pod, pending);
  const containers = containersOf(batch);
  const more = containersOf(rest).length > 0;
  const next: InPlaceState = {
    ...state,
    lastContainerStatuses: recordedImages(pod, state.lastContainerStatuses, batch.images),
    nextContainerImages: { ...rest.images },
    nextContainerRefMetadata: { ...rest.refMetadata },
    nextContainerResources: { ...rest.resources },
    preCheckBeforeNext: more ? { containersRequiredReady: containers } : undefined,
    containerBatchesRecord: [
      ...(state.containerBatchesRecord ?? []),
      { timestamp: timestamp(now), containers },
    ],
  };
  const labels = { ...metadata.labels };
  const annotations = { ...metadata.annotations, [STATE_ANNOTATION]: stateText(next) };
  for (const own of Object.values(batch.refMetadata)) {
    Object.assign(labels, own.labels);
    Object.assign(annotations, own.annotations);
  }
  const steps: PodPatch[] = [];
  let after = pod;
  const resize = changedAmounts(pod, batch.resources);
  if (options.resizeSubresource && Object.keys(resize).length > 0) {
    const resized: PodChange = { resources: resize };
    steps.push(podPatch(after, resized, now, { subresource: "resize", ...first() }));
    after = afterChange(after, resized, now);
  }
  const { conditions, addFinalizers = [], removeFinalizers = [] } = metadata;
  const spec: PodChange = {
    labels,
    annotations,
    addFinalizers,
    removeFinalizers,
    images: batch.images,
    ...(options.resizeSubresource ? {} : { resources: resize }),
    ...(conditions ? { conditions } : {}),
  };
  const how = conditions ? { subresource: "status" as const } : { resetsManagers: options.resetsManagers };
  steps.push(podPatch(after, spec, now, { ...how, ...(steps.length === 0 ? first() : {}) }));
  return { steps, after: afterChange(after, spec, now) };
}

function isAny(changed: object): boolean {
  return Object.keys(changed).length > 0;
}

function recordedImages(
  pod: Pod,
  before: InPlaceState["lastContainerStatuses"],
  images: Readonly<Record<string, string>>,
): InPlaceState["lastContainerStatuses"] {
  if (Object.keys(images).length === 0) return before;
  const recorded = { ...before };
  for (const name of Object.keys(images)) recorded[name] = { imageID: imageIdOf(pod, name) };
  return recorded;
}

/** Only values that differ from the pod's are sent (rule 26). */
function changedAmounts(
  pod: Pod,
  resources: Readonly<Record<string, ResourceAmounts>>,
): Record<string, ResourceAmounts> {
  const changed: Record<string, ResourceAmounts> = {};
  for (const [name, wanted] of Object.entries(resources)) {
    const present = pod.containers.find((container) => container.name === name)?.resources ?? {};
    const limits = differing(present.limits ?? {}, wanted.limits ?? {});
    const requests = differing(present.requests ?? {}, wanted.requests ?? {});
    if (limits === undefined && requests === undefined) continue;
    changed[name] = { ...(limits ? { limits } : {}), ...(requests ? { requests } : {}) };
  }
  return changed;
}

function differing(
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): Record<string, string> | undefined {
  const entries = Object.entries(wanted).filter(([name, value]) => {
    const held = own(present, name);
    return held === undefined || !quantityEqual(held, value);
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

export type InPlaceStep =
  | { kind: "done" }
  | { kind: "waiting"; reason: "Grace" | "InPlace"; because: string; requeueAfterMs?: number }
  | {
      kind: "write";
      write: PodWrite;
      why: "grace over" | "grace dropped" | "next batch" | "superseded images forgotten" | "dated anew";
    }
  /** The gate may be True again; the caller joins this with what else it wants of the pod's status. */
  | { kind: "gate"; conditions: NonNullable<PodChange["conditions"]> };

/** One step of a pod that is being updated, or has been, or never was. Rules 11 to 14. */
export function refreshInPlace(
  pod: Pod,
  matchesRevision: (revision: string) => boolean,
  options: InPlaceOptions,
  now: number,
): InPlaceStep {
  const grace = graceState(pod).value;
  if (grace !== undefined) return refreshGrace(pod, grace, matchesRevision, options, now);
  const state = inPlaceState(pod).value;
  if (state !== undefined) {
    const missing = awaited(pod, state, options);
    if (missing !== undefined) return refreshAwaited(pod, state, missing, now);
    if (hasNextBatch(state)) return refreshBatch(pod, state, options, now);
  }
  return needsGateOn(pod) ? { kind: "gate", conditions: [gateOn()] } : { kind: "done" };
}

/**
 * Two names may stand for one image, and runtimes tell either: a container that is ready with an image that was asked for in
 * between is waited for so long only, by which time a node that has seen the newest spec has started what it asks for.
 */
function refreshAwaited(pod: Pod, state: InPlaceState, missing: string, now: number): InPlaceStep {
  const waiting: InPlaceStep = { kind: "waiting", reason: "InPlace", because: missing };
  if (state.supersededImages === undefined || pod.behind || !areReady(pod, state.supersededImages))
    return waiting;
  const redated = datedAnew(pod, state, now);
  if (redated !== undefined) return redated;
  const leftMs = (timeOf(state.updateTimestamp) ?? 0) + SUPERSEDED_MS - now;
  if (leftMs > 0) return { ...waiting, requeueAfterMs: leftMs };
  const { supersededImages: _, ...rest } = state;
  return { kind: "write", why: "superseded images forgotten", write: stateWrite(pod, rest, now) };
}

function stateWrite(pod: Pod, state: InPlaceState, now: number): PodWrite {
  const change: PodChange = { annotations: { [STATE_ANNOTATION]: stateText(state) } };
  return podWrite(pod, change, now, { resourceVersion: pod.resourceVersion });
}

/** An update that was begun by a clock that was ahead is waited for from now on. */
function datedAnew(pod: Pod, state: InPlaceState, now: number): InPlaceStep | undefined {
  const updateTimestamp = notAhead(state.updateTimestamp, now);
  if (updateTimestamp === state.updateTimestamp) return undefined;
  return { kind: "write", why: "dated anew", write: stateWrite(pod, { ...state, updateTimestamp }, now) };
}

function areReady({ containerStatuses }: Pod, containers: object): boolean {
  return containerStatuses.every(({ name, ready }) => ready || !Object.hasOwn(containers, name));
}

function refreshGrace(
  pod: Pod,
  grace: GraceState,
  matchesRevision: (revision: string) => boolean,
  options: InPlaceOptions,
  now: number,
): InPlaceStep {
  const removal = {
    [GRACE_ANNOTATION]: null,
    ...(OLD_GRACE_ANNOTATION in pod.annotations ? { [OLD_GRACE_ANNOTATION]: null } : {}),
  };
  const state = inPlaceState(pod).value;
  if (!matchesRevision(grace.revision) || state === undefined) {
    const drop: PodChange = { annotations: removal };
    const write = podWrite(pod, drop, now, { resourceVersion: pod.resourceVersion });
    return { kind: "write", why: "grace dropped", write };
  }
  const redated = datedAnew(pod, state, now);
  if (redated !== undefined) return redated;
  const leftMs = (timeOf(state.updateTimestamp) ?? 0) + grace.graceSeconds * 1000 - now;
  if (leftMs > 0) {
    const requeueAfterMs = Math.ceil(leftMs / 1000) * 1000;
    const wait = `the grace period of ${grace.graceSeconds} s is not over`;
    return { kind: "waiting", reason: "Grace", because: wait, requeueAfterMs };
  }
  const pending: Pending = {
    images: grace.containerImages ?? {},
    resources: grace.containerResources ?? {},
    refMetadata: grace.containerRefMetadata ?? {},
  };
  const patch = decodeMetadataPatch(grace.metaDataPatch);
  const write = issueBatch(
    pod,
    state,
    pending,
    options,
    now,
    () => ({ resourceVersion: pod.resourceVersion }),
    {
      labels: patch.labels ?? {},
      annotations: { ...patch.annotations, ...removal },
      ...finalizersIn(patch),
    },
  );
  return { kind: "write", why: "grace over", write };
}

/** The metadata part of a grace period, empty when there is none or it is broken. */
export function decodeMetadataPatch(text: string | undefined): MetadataPatch {
  if (text === undefined) return {};
  try {
    const patch: { metadata?: MetadataPatch } = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
    return patch.metadata ?? {};
  } catch {
    return {};
  }
}

function refreshBatch(pod: Pod, state: InPlaceState, options: InPlaceOptions, now: number): InPlaceStep {
  for (const name of state.preCheckBeforeNext?.containersRequiredReady ?? []) {
    if (pod.containerStatuses.find((status) => status.name === name)?.ready !== true) {
      const wait = `container ${name} is not ready, and the next containers change after it`;
      return { kind: "waiting", reason: "InPlace", because: wait };
    }
  }
  const pending: Pending = {
    images: state.nextContainerImages ?? {},
    resources: state.nextContainerResources ?? {},
    refMetadata: state.nextContainerRefMetadata ?? {},
  };
  const write = issueBatch(
    pod,
    state,
    pending,
    options,
    now,
    () => ({ resourceVersion: pod.resourceVersion }),
    {
      labels: {},
      annotations: {},
    },
  );
  return { kind: "write", why: "next batch", write };
}
