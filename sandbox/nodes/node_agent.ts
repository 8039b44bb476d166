/** What a simulated node's agent sees of its containers, and what it records of them (spec inplace-update 3.3, 24, 52). */
import { envHash, extractMetadataEnv, plainHash } from "../../kube/core/index.ts";
import {
  agentPod,
  isReported,
  planContainerMeta,
  type RuntimeContainer,
  splitContainerID,
} from "../../node/index.ts";
import type { Container, PodObject } from "../objects/index.ts";
import type { ContainerRun, EnvEntry, PodRun } from "./pod_run.ts";

/** The variables that a container takes from its pod's labels and annotations. */
export function metadataEnvironment(pod: PodObject, container: Container): EnvEntry[] {
  return extractMetadataEnv({ ...container }, pod.metadata);
}

/** As an agent sees it in its runtime; undefined before it has been made. */
export function inRuntime(run: ContainerRun | undefined): RuntimeContainer | undefined {
  const id = splitContainerID(run?.id ?? "")?.id;
  if (run === undefined || id === undefined) return undefined;
  const { name, image, restarts, state, startedAt, exitCode } = run;
  const hash = plainHash(name, image).toString(16);
  const seen = state === "waiting" ? "created" : state;
  return { name, id, restartCount: restarts, state: seen, startedAt, exitCode, hash };
}

/** Whether the agent looks after the containers of the pod at all (rule 51). */
export function isLookedAfter(pod: PodObject): boolean {
  return isReported(agentPod(pod));
}

/**
 * The annotation's text for the containers that a pod has now, as its status is going to show them; undefined: it has it, or
 * is to have none.
 */
export function containersRecord(pod: PodObject, { containers: runs }: PodRun): string | undefined {
  if (!isLookedAfter(pod)) return undefined;
  const mains = runs.filter(({ kind }) => kind === "main");
  const containerStatuses = mains.map(({ name, id }) => ({ name, containerID: id }));
  const containers = new Map<string, RuntimeContainer>();
  const envHashes = new Map<string, number>();
  for (const main of mains) {
    const seen = inRuntime(main);
    if (seen === undefined) continue;
    containers.set(main.name, seen);
    envHashes.set(seen.id, envHash(main.environment ?? []));
  }
  const reported = agentPod({ ...pod, status: { containerStatuses } });
  return planContainerMeta({ pod: reported, containers, envHashes }, true).annotation;
}
