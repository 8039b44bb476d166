/** What a node agent beside the kubelet records about running containers (spec inplace-update 3.3, 24, 52). */
import { envHash, extractMetadataEnv, plainHash } from "../../kube/core/index.ts";
import type { Container, PodObject } from "../objects/index.ts";
import { type EnvEntry, type PodRun, specOf } from "./pod_run.ts";

export const recordAnnotation = "apps.kruise.io/runtime-containers-meta";

/** The variables that a container takes from its pod's labels and annotations. */
export function metadataEnvironment(pod: PodObject, container: Container): EnvEntry[] {
  return extractMetadataEnv({ ...container }, pod.metadata);
}

/** The annotation's text for the containers that a pod has now. */
export function containersRecord(pod: PodObject, run: PodRun): string {
  const containers: object[] = [];
  for (const container of run.containers) {
    if (container.kind !== "main" || container.id === "" || !specOf(pod, container)) continue;
    containers.push({
      name: container.name,
      containerID: container.id,
      restartCount: container.restarts,
      hashes: {
        plainHash: plainHash(container.name, container.image),
        extractedEnvFromMetadataHash: envHash(container.environment ?? []),
      },
    });
  }
  return JSON.stringify({ containers });
}
