/** Whether the batches issued so far have taken effect. Spec: inplace-update 4.5. */
import { envHash, own, plainHash, quantityEqual } from "../../../kube/core/index.ts";
import type { Pod, PodContainer, ResourceAmounts } from "../../../kube/index.ts";
import { imageName } from "./running_image.ts";
import { graceState, hasNextBatch, type InPlaceState, inPlaceState, runtimeMeta } from "./state.ts";

export interface CompletionOptions {
  verticalScaling: boolean;
}

/**
 * Undefined when the issued batches are complete, else what is still awaited. What a node tells that has not seen the
 * present spec is about an earlier one: it may be stopping the very container that looks right.
 */
export function awaited(pod: Pod, state: InPlaceState, options: CompletionOptions): string | undefined {
  if (pod.behind) return "the node has not seen the pod's new spec yet";
  if (state.updateEnvFromMetadata) {
    const env = environmentAwaited(pod);
    if (env !== undefined) return env;
  }
  if (state.updateResources && options.verticalScaling) {
    const resources = resourcesAwaited(pod);
    if (resources !== undefined) return resources;
  }
  if (runtimeHashesMatch(pod)) return undefined;
  return imagesAwaited(pod, state);
}

/** No grace period, no further batch, and the issued ones complete. A pod that was never updated is complete. Rule 17. */
export function isCompleted(pod: Pod, options: CompletionOptions): boolean {
  if (graceState(pod).value !== undefined) return false;
  const state = inPlaceState(pod).value;
  if (state === undefined) return true;
  return !hasNextBatch(state) && awaited(pod, state, options) === undefined;
}

/** Rule 16: meta, status and spec have to speak of the same containers. */
function consistentMeta(pod: Pod): Map<string, { plainHash: number; env: number }> | undefined {
  const meta = runtimeMeta(pod);
  if (meta === undefined) return undefined;
  const known = new Map<string, { plainHash: number; env: number }>();
  for (const container of pod.containers) {
    const entry = meta.find((one) => one.name === container.name);
    const status = pod.containerStatuses.find((one) => one.name === container.name);
    if (entry === undefined || status === undefined || entry.containerID !== status.containerID)
      return undefined;
    known.set(container.name, {
      plainHash: entry.hashes.plainHash,
      env: entry.hashes.extractedEnvFromMetadataHash ?? 0,
    });
  }
  return known;
}

function environmentAwaited(pod: Pod): string | undefined {
  const meta = consistentMeta(pod);
  if (meta === undefined) return "the node agent has not reported the running containers yet";
  for (const container of pod.containers) {
    if (meta.get(container.name)?.env !== expectedEnvHash(pod, container)) {
      return `container ${container.name} does not run with its new environment yet`;
    }
  }
  return undefined;
}

const METADATA_PATH = /^metadata\.(labels|annotations)\['(.+)'\]$/;

function expectedEnvHash(pod: Pod, container: PodContainer): number {
  const entries: { name: string; value: string }[] = [];
  for (const env of container.env) {
    const match = env.value ? null : METADATA_PATH.exec(env.fieldPath ?? "");
    if (match?.[2] === undefined || FOREIGN_ENV.has(env.name)) continue;
    const map = match[1] === "labels" ? pod.labels : pod.annotations;
    entries.push({ name: env.name, value: map[match[2]] ?? "" });
  }
  return envHash(entries);
}

const FOREIGN_ENV = new Set(["SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT"]);

function resourcesAwaited(pod: Pod): string | undefined {
  for (const container of pod.containers) {
    const status = pod.containerStatuses.find((one) => one.name === container.name);
    if (status?.resources === undefined && isEmpty(container.resources)) continue;
    if (status?.resources === undefined || !sameResources(container.resources, status.resources)) {
      return `container ${container.name} does not run with its new resources yet`;
    }
  }
  return undefined;
}

function isEmpty(amounts: ResourceAmounts): boolean {
  return Object.keys(amounts.limits ?? {}).length === 0 && Object.keys(amounts.requests ?? {}).length === 0;
}

function sameResources(a: ResourceAmounts, b: ResourceAmounts): boolean {
  return sameAmounts(a.limits ?? {}, b.limits ?? {}) && sameAmounts(a.requests ?? {}, b.requests ?? {});
}

function sameAmounts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [one, other] = [own(a, name), own(b, name)];
    return one !== undefined && other !== undefined && quantityEqual(one, other);
  });
}

/** Rule 15c: what the runtime runs is what the spec says, whatever the image IDs are. */
export function runtimeHashesMatch(pod: Pod): boolean {
  const meta = consistentMeta(pod);
  if (meta === undefined) return false;
  return pod.containers.every(
    (container) => meta.get(container.name)?.plainHash === plainHash(container.name, container.image),
  );
}

function imagesAwaited(pod: Pod, state: InPlaceState): string | undefined {
  for (const [name, before] of Object.entries(state.lastContainerStatuses ?? {})) {
    const status = pod.containerStatuses.find((one) => one.name === name);
    if (status === undefined) return `container ${name} has no status yet`;
    const wanted = pod.containers.find((one) => one.name === name)?.image ?? "";
    const superseded = own(state.supersededImages ?? {}, name);
    const byName = superseded && runsWanted(status.image, wanted, superseded);
    if (byName === false) return `container ${name} runs an image that was asked for in between`;
    // Runtimes tell names in full, `docker.io/library/nginx:1`: two tags of one image differ in nothing else.
    if (byName || status.imageID !== before.imageID || imageName(status.image) === imageName(wanted))
      continue;
    return `container ${name} still runs its old image`;
  }
  return undefined;
}

/**
 * Where images were superseded another ID than the old one says nothing: whether the container runs the wanted image, by
 * name; undefined when the name is neither that one nor of those in between.
 */
function runsWanted(running: string, wanted: string, superseded: readonly string[]): boolean | undefined {
  const name = imageName(running);
  if (name === imageName(wanted)) return true;
  return superseded.some((image) => name === imageName(image)) ? false : undefined;
}

/** The state of an update whose batches have not taken effect. */
export function underWay(pod: Pod, options: CompletionOptions): InPlaceState | undefined {
  const state = inPlaceState(pod).value;
  return state !== undefined && awaited(pod, state, options) !== undefined ? state : undefined;
}

/**
 * For each container that is asked for another image: what was asked of it before, if that is not known to run. `earlier`: the
 * update that is under way.
 */
export function supersededImages(
  pod: Pod,
  changed: readonly string[],
  earlier: InPlaceState | undefined,
): Record<string, readonly string[]> {
  const superseded: Record<string, readonly string[]> = { ...earlier?.supersededImages };
  for (const { name, image } of pod.containers) {
    if (!changed.includes(name)) continue;
    // What has not run yet may be started once more as it was, and then tells an image that it did not have before.
    if (imageIdOf(pod, name) !== "" && own(earlier?.lastContainerStatuses ?? {}, name) === undefined)
      continue;
    superseded[name] = [...new Set([...(own(superseded, name) ?? []), image])];
  }
  return superseded;
}

/** What the container runs, or ran last; empty where it has not run yet. */
export function imageIdOf(pod: Pod, container: string): string {
  return pod.containerStatuses.find(({ name }) => name === container)?.imageID ?? "";
}
