/** The probes of a NodePodProbe, and what is reported of them. Pure. Spec: containers 4.4. */
import type { NodePodProbe, NodePodProbeSpec, NodePodProbeStatus } from "../../crds/index.ts";
import { formatTime, jsonEqual } from "../../kube/core/index.ts";
import type { RuntimeContainer } from "../container.ts";
import type { ProbeOutcome, ProbeRecord, Thresholds } from "./result.ts";

type PodProbe = NonNullable<NodePodProbeSpec["podProbes"]>[number];
export type Probe = NonNullable<PodProbe["probes"]>[number]["probe"];

export interface ProbedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A probe as the NodePodProbe wants it. */
export interface WantedProbe {
  readonly pod: ProbedPod;
  readonly ip: string;
  readonly name: string;
  readonly containerName: string;
  readonly probe: Probe;
}

/** By the key that records have. */
export function wantedProbes(nodePodProbe: NodePodProbe | undefined): Map<string, WantedProbe> {
  const wanted = new Map<string, WantedProbe>();
  for (const { name, namespace, uid, IP, probes = [] } of nodePodProbe?.spec.podProbes ?? []) {
    for (const { name: probeName, containerName, probe } of probes) {
      const key = probeKey(uid, containerName, probeName);
      wanted.set(key, { pod: { namespace, name, uid }, ip: IP, name: probeName, containerName, probe });
    }
  }
  return wanted;
}

function probeKey(podUid: string, containerName: string, probeName: string): string {
  return JSON.stringify([podUid, containerName, probeName]);
}

export function periodMs(probe: Probe): number {
  return Math.max(1, probe.periodSeconds ?? 1) * 1000;
}

export function thresholdsOf({ failureThreshold = 1, successThreshold = 1 }: Probe): Thresholds {
  return { failureThreshold, successThreshold };
}

/** A changed handler starts at Unknown again, a changed period does not. */
export function sameHandler(a: Probe, b: Probe): boolean {
  return jsonEqual([a.exec, a.httpGet, a.tcpSocket], [b.exec, b.httpGet, b.tcpSocket]);
}

/** The outcome that needs no run; `run` when one is due, undefined before the initial delay is over. */
export function outcomeBeforeRun(
  container: RuntimeContainer,
  { probe }: WantedProbe,
  now: number,
): ProbeOutcome | "run" | undefined {
  if (container.state !== "running")
    return { state: "Failed", message: `Container(${container.name}) is Non-running` };
  const delayMs = Math.max(1, probe.initialDelaySeconds ?? 1) * 1000;
  return now - container.startedAt < delayMs ? undefined : "run";
}

type PodStatus = NonNullable<NodePodProbeStatus["podProbeStatuses"]>[number];
type StateEntry = NonNullable<PodStatus["probeStates"]>[number];

/** Results of the pods and probes of the spec, in its order. What is not known here yet stays as the server has it. */
export function probeStatus(
  object: NodePodProbe,
  records: ReadonlyMap<string, ProbeRecord>,
): NodePodProbeStatus {
  const podProbeStatuses: PodStatus[] = [];
  for (const { name, namespace, uid, probes = [] } of object.spec.podProbes ?? []) {
    const before = object.status?.podProbeStatuses?.find((one) => one.uid === uid)?.probeStates ?? [];
    const probeStates = probes.flatMap((probe): StateEntry[] => {
      const record = records.get(probeKey(uid, probe.containerName, probe.name));
      const kept = before.find((one) => one.name === probe.name);
      if (!record) return kept ? [kept] : [];
      const entry = stateEntry(probe.name, record);
      // An agent that was restarted does not move the time of a state that did not change.
      return [
        kept?.state === record.state && kept.lastTransitionTime
          ? { ...entry, lastTransitionTime: kept.lastTransitionTime }
          : entry,
      ];
    });
    if (probeStates.length > 0) podProbeStatuses.push({ name, namespace, uid, probeStates });
  }
  return { podProbeStatuses };
}

function stateEntry(name: string, record: ProbeRecord): StateEntry {
  return {
    name,
    state: record.state,
    lastProbeTime: formatTime(record.publishedAt),
    lastTransitionTime: formatTime(record.lastTransitionAt),
    ...(record.message ? { message: record.message } : {}),
  };
}
