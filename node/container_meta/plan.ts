/** What the agent reports of a pod's containers, and which it restarts for new environment values. Pure. Spec: containers 3, inplace-update 51 to 54. */
import {
  envHash,
  ignoredMetadataEnv,
  isJsonObject,
  metadataReference,
  plainHash,
} from "../../kube/core/index.ts";
import { type RuntimeContainer, splitContainerID } from "../container.ts";
import { type AgentContainer, type AgentPod, metadataEnvValue } from "../pod.ts";

export const metaAnnotation = "apps.kruise.io/runtime-containers-meta";
const sidecarAnnotation = "kruise.io/sidecarset-hash";

export interface ContainerMeta {
  readonly name: string;
  readonly containerID: string;
  readonly restartCount: number;
  readonly hashes: { readonly plainHash: number; readonly extractedEnvFromMetadataHash?: number };
}

/** Pods of the API's workloads and pods with injected sidecars are reported (rule 51). */
export function isReported(pod: AgentPod): boolean {
  const active = !pod.deleting && pod.phase !== "Succeeded" && pod.phase !== "Failed";
  return (
    active && (pod.controllerGroup === "apps.kruise.io" || pod.annotations[sidecarAnnotation] !== undefined)
  );
}

/** What the pod carries; entries that cannot be read are left out. */
export function readMeta(pod: AgentPod): ContainerMeta[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(pod.annotations[metaAnnotation] ?? "{}");
  } catch {
    return [];
  }
  const list = isJsonObject(parsed) && Array.isArray(parsed["containers"]) ? parsed["containers"] : [];
  return list.filter(isContainerMeta);
}

function isContainerMeta(value: unknown): value is ContainerMeta {
  return (
    isJsonObject(value) &&
    typeof value["name"] === "string" &&
    typeof value["containerID"] === "string" &&
    typeof value["restartCount"] === "number" &&
    isJsonObject(value["hashes"]) &&
    typeof value["hashes"]["plainHash"] === "number"
  );
}

function metadataEnv({ env }: AgentContainer): AgentContainer["env"] {
  return env.filter(
    ({ name, value, fieldPath = "" }) =>
      value === "" && !ignoredMetadataEnv.has(name) && metadataReference(fieldPath) !== undefined,
  );
}

/** Hash of the values that the container should have by the pod's present metadata. */
export function expectedEnvHash(container: AgentContainer, pod: AgentPod): number {
  return envHash(
    metadataEnv(container).map((env) => ({ name: env.name, value: metadataEnvValue(env, pod) ?? "" })),
  );
}

/** Hash of the values that it really has. */
export function actualEnvHash(container: AgentContainer, values: ReadonlyMap<string, string>): number {
  return envHash(metadataEnv(container).map(({ name }) => ({ name, value: values.get(name) ?? "" })));
}

/** True when no values need to be read to know the hash. */
export function hasNoMetadataEnv(container: AgentContainer): boolean {
  return metadataEnv(container).length === 0;
}

/** Whether the runtime has to be asked: the annotation does not describe the containers of the pod's status. */
export function needsReport(pod: AgentPod, withEnv: boolean): boolean {
  if (!isReported(pod)) return false;
  const meta = readMeta(pod);
  const running = pod.containerStatuses.filter((status) => status.containerID !== "");
  if (meta.length !== running.length) return true;
  return running.some((status) => {
    const entry = meta.find((one) => one.name === status.name);
    if (entry?.containerID !== status.containerID) return true;
    const container = pod.containers.find((one) => one.name === status.name);
    if (!withEnv || !container) return false;
    return entry.hashes.extractedEnvFromMetadataHash !== expectedEnvHash(container, pod);
  });
}

export interface ContainerMetaObserved {
  readonly pod: AgentPod;
  /** Newest instance by container name. */
  readonly containers: ReadonlyMap<string, RuntimeContainer>;
  /** Real env hash by container id; absent while it is not known. */
  readonly envHashes: ReadonlyMap<string, number>;
}

export interface MetaPlan {
  /** The annotation's new text; absent when the pod has it already. */
  readonly annotation?: string;
  /** Containers that run with old values although the pod is held for an update (rule 54). */
  readonly restart: readonly EnvironmentLack[];
}

export interface EnvironmentLack {
  readonly name: string;
  readonly containerId: string;
  /** Hash of the environment that the pod's present metadata asks for. */
  readonly wanted: number;
}

export function planContainerMeta(
  { pod, containers, envHashes }: ContainerMetaObserved,
  withEnv: boolean,
): MetaPlan {
  const known = new Map(readMeta(pod).map((entry) => [entry.containerID, entry]));
  const meta: ContainerMeta[] = [];
  const restart: EnvironmentLack[] = [];
  for (const { name, containerID } of pod.containerStatuses) {
    const seen = containers.get(name);
    // The pod's status and the runtime disagree for a moment; the next event brings them together.
    if (!seen || splitContainerID(containerID)?.id !== seen.id) continue;
    const entry = known.get(containerID);
    const hash = withEnv ? (entry?.hashes.extractedEnvFromMetadataHash ?? envHashes.get(seen.id) ?? 0) : 0;
    meta.push({
      name,
      containerID,
      restartCount: entry?.restartCount ?? seen.restartCount,
      hashes: {
        plainHash: entry?.hashes.plainHash ?? Number.parseInt(seen.hash || "0", 16),
        ...(hash === 0 ? {} : { extractedEnvFromMetadataHash: hash }),
      },
    });
    const container = pod.containers.find((one) => one.name === name);
    const updating = pod.conditions["InPlaceUpdateReady"] === "False";
    if (!container || !updating || seen.state !== "running" || hash === 0) continue;
    const wanted = expectedEnvHash(container, pod);
    if (hash !== wanted && !isLeftToKubelet(pod, container, seen)) {
      restart.push({ name, containerId: seen.id, wanted });
    }
  }
  const annotation = JSON.stringify({ containers: meta });
  return {
    restart,
    ...(annotation === pod.annotations[metaAnnotation] || meta.length === 0 ? {} : { annotation }),
  };
}

/** What one container lacks, by the hash that its pod's annotation reports; undefined: it needs no restart. */
export function environmentLack(
  pod: AgentPod,
  container: RuntimeContainer,
  withEnv: boolean,
): EnvironmentLack | undefined {
  const containers = new Map([[container.name, container]]);
  const { restart } = planContainerMeta({ pod, containers, envHashes: new Map() }, withEnv);
  return restart.find(({ containerId }) => containerId === container.id);
}

/** A kubelet with an older spec has older metadata, too. Kubelets before 1.33 do not report it. */
export function isKubeletBehind({ generation, observedGeneration }: AgentPod): boolean {
  return observedGeneration > 0 && observedGeneration < generation;
}

/**
 * The kubelet restarts a container of another image itself, with the new environment: one restart for both. Before 1.33
 * its hash may be of more than name and image.
 */
function isLeftToKubelet(pod: AgentPod, { name, image }: AgentContainer, seen: RuntimeContainer): boolean {
  return pod.observedGeneration > 0 && seen.hash !== plainHash(name, image).toString(16);
}
