/**
 * The NodePodProbe as the prober may rely on it: what was stored before its definition had a schema may hold anything. Pure.
 */
import type { NodePodProbe, NodePodProbeSpec, NodePodProbeStatus } from "../../crds/index.ts";
import { isJsonObject } from "../../kube/core/index.ts";

type PodProbe = NonNullable<NodePodProbeSpec["podProbes"]>[number];
type ContainerProbe = NonNullable<PodProbe["probes"]>[number];

export interface CheckedProbes {
  readonly object: NodePodProbe;
  /** Paths of what cannot be read and is left out, `podProbes[0].probes[1]`. */
  readonly ignored: readonly string[];
}

export function checkedProbes(given: NodePodProbe): CheckedProbes {
  const ignored: string[] = [];
  const podProbes: PodProbe[] = [];
  const spec: unknown = given.spec;
  for (const [index, pod] of listOf(spec, "podProbes", "podProbes", ignored).entries()) {
    const path = `podProbes[${index}]`;
    if (!isPod(pod)) {
      ignored.push(path);
      continue;
    }
    const probes: ContainerProbe[] = [];
    for (const [at, probe] of listOf(pod, "probes", `${path}.probes`, ignored).entries()) {
      if (isProbe(probe)) probes.push(probe);
      else ignored.push(`${path}.probes[${at}]`);
    }
    podProbes.push({ ...pod, probes });
  }
  const { status, ...rest } = given;
  return { object: { ...rest, spec: { podProbes }, ...(isStatus(status) ? { status } : {}) }, ignored };
}

function listOf(object: unknown, name: string, path: string, ignored: string[]): readonly unknown[] {
  const list = isJsonObject(object) ? (object[name] ?? []) : [];
  if (Array.isArray(list)) return list;
  ignored.push(path);
  return [];
}

function isPod(value: unknown): value is PodProbe {
  return isJsonObject(value) && isText(value["name"]) && isText(value["namespace"]) && isText(value["uid"]);
}

function isProbe(value: unknown): value is ContainerProbe {
  return (
    isJsonObject(value) &&
    isText(value["name"]) &&
    isText(value["containerName"]) &&
    isJsonObject(value["probe"])
  );
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

/** Each pod's results have to be a list; a status of another shape is replaced. */
function isStatus(value: unknown): value is NodePodProbeStatus {
  if (!isJsonObject(value)) return false;
  const pods = value["podProbeStatuses"] ?? [];
  return (
    Array.isArray(pods) &&
    pods.every((pod) => {
      const states = isJsonObject(pod) ? (pod["probeStates"] ?? []) : undefined;
      return Array.isArray(states) && states.every(isJsonObject);
    })
  );
}
