/** What a node agent beside the kubelet records about running containers (spec inplace-update 3.3, 24, 52). */
import { goJson } from "../../kube/core/index.ts";
import type { Container, PodObject } from "../objects/index.ts";
import { type PodRun, specOf } from "./pod_run.ts";

export const recordAnnotation = "apps.kruise.io/runtime-containers-meta";

/** Variables that the injection of sidecars owns; they are no reason for a restart. */
const notCompared = new Set(["SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT"]);

/** JSON of the variables that a container takes from its pod's labels and annotations; `null` when it takes none. */
export function metadataEnvironment(pod: PodObject, container: Container): string {
  const found: { name: string; value?: string }[] = [];
  for (const { name, value, valueFrom } of container.env ?? []) {
    const path = valueFrom?.fieldRef?.fieldPath;
    if (value || path === undefined || notCompared.has(name)) continue;
    const parts = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
    if (!parts) continue;
    const source = parts[1] === "labels" ? pod.metadata.labels : pod.metadata.annotations;
    const current = source?.[parts[2] ?? ""];
    found.push(current ? { name, value: current } : { name });
  }
  if (found.length === 0) return "null";
  found.sort((left, right) => (left.name < right.name ? -1 : 1));
  return goJson(found);
}

/** The annotation's text for the containers that a pod has now. */
export function containersRecord(pod: PodObject, run: PodRun): string {
  const containers: object[] = [];
  for (const container of run.containers) {
    const spec = specOf(pod, container);
    if (container.kind !== "main" || container.id === "" || !spec) continue;
    const plain = goJson({ image: container.image, name: container.name });
    containers.push({
      name: container.name,
      containerID: container.id,
      restartCount: container.restarts,
      hashes: {
        plainHash: hashOfBytesText(plain),
        extractedEnvFromMetadataHash: hashOfBytesText(container.environment),
      },
    });
  }
  return JSON.stringify({ containers });
}

/** 32-bit FNV-1a over the text `([]uint8)[d d …]` of a string's UTF-8 bytes (spec inplace-update, rule 24). */
export function hashOfBytesText(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(`([]uint8)[${Buffer.from(text).join(" ")}]`)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash;
}
