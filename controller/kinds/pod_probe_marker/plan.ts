/**
 * What one node needs: which probes its agent is to run, and what their results make of its pods. Pure.
 * Spec: containers 4.4.
 */
import type { NodePodProbe, NodePodProbeStatus } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import type { KindEffect } from "../../plan/effects.ts";
import { byText } from "../../rollout/pods/sorted_slots.ts";
import { marksOf, type PodMarks, type ProbeResult } from "./marks.ts";
import { byClaim, isProbed, type Marker, type MarkerProbe, nodeProbeName, type PodProbes } from "./model.ts";

export interface PodWithMarkers {
  readonly pod: ObservedPod;
  /** Markers whose selectors match it. */
  readonly markers: readonly Marker[];
}

export interface ProbedNodeObserved {
  readonly name: string;
  /** Undefined: there is no such node, or it is being deleted. */
  readonly node: { readonly ready: boolean; readonly virtual: boolean } | undefined;
  readonly held: NodePodProbe | undefined;
  /** Pods on the node that some marker selects. */
  readonly pods: readonly PodWithMarkers[];
  /** `namespace/name` of markers of which the pods are not known yet: what is there for them stays. */
  readonly undecided: ReadonlySet<string>;
  /** By UID: the results that a pod shows already. What others have made of its labels since is theirs. */
  readonly applied: ReadonlyMap<string, string>;
}

export interface NodePlan {
  /** What becomes of the NodePodProbe; absent: it stays. */
  readonly action?: KindEffect;
  readonly marks: readonly PodMarks[];
  /** As in ProbedNodeObserved, once the marks are written. */
  readonly applied: ReadonlyMap<string, string>;
}

const none: Pick<NodePlan, "marks" | "applied"> = { marks: [], applied: new Map() };

export function planNode(observed: ProbedNodeObserved): NodePlan {
  const { node, held } = observed;
  if (node === undefined) return held === undefined ? none : { ...none, action: { type: "delete object" } };
  if (node.virtual) return none;
  const wanted = wantedProbes(observed);
  const spec = { podProbes: wanted };
  if (held === undefined)
    return node.ready ? { ...none, action: { type: "create object", body: { spec } } } : none;
  const present = sorted(held.spec?.podProbes ?? []);
  return {
    ...(jsonEqual(present, wanted) ? {} : { action: { type: "patch object", body: { spec } } }),
    ...markPods(observed, held.status),
  };
}

/** Results are written when they come, change or are reported again, not whenever a pod looks different. */
function markPods(
  { pods, applied }: ProbedNodeObserved,
  status: NodePodProbeStatus | undefined,
): Pick<NodePlan, "marks" | "applied"> {
  const marks: PodMarks[] = [];
  const after = new Map<string, string>();
  for (const { pod, markers } of pods) {
    if (!isProbed(pod)) continue;
    const results = resultsOf(status, pod);
    if (results.size === 0) continue;
    const claiming = [...markers].sort(byClaim);
    const shown = JSON.stringify([claiming.map(({ name, probes }) => [name, probes]), [...results.values()]]);
    after.set(pod.uid, shown);
    if (applied.get(pod.uid) === shown) continue;
    const wanted = marksOf(pod, claiming, results);
    if (wanted !== undefined) marks.push(wanted);
  }
  return { marks, applied: after };
}

function wantedProbes({ held, pods, undecided }: ProbedNodeObserved): PodProbes[] {
  const byUid = new Map<string, PodProbes>();
  for (const { pod, markers } of pods) {
    if (!isProbed(pod)) continue;
    const probes = [...markers].sort(byClaim).flatMap((marker) => probesFor(marker, pod));
    if (probes.length > 0) byUid.set(pod.uid, { ...identityOf(pod), probes });
  }
  for (const entry of undecided.size === 0 ? [] : (held?.spec?.podProbes ?? [])) {
    const kept = (entry.probes ?? []).filter(({ name }) => {
      return undecided.has(`${entry.namespace}/${name.split("#", 1)[0]}`);
    });
    if (kept.length === 0) continue;
    const known = byUid.get(entry.uid);
    byUid.set(
      entry.uid,
      known ? { ...known, probes: [...(known.probes ?? []), ...kept] } : { ...entry, probes: kept },
    );
  }
  return sorted([...byUid.values()]);
}

function identityOf(pod: ObservedPod): Omit<PodProbes, "probes"> {
  return { name: pod.name, namespace: pod.namespace, uid: pod.uid, IP: pod.podIP };
}

function probesFor(marker: Marker, pod: ObservedPod): NonNullable<PodProbes["probes"]> {
  return marker.probes.flatMap((probe) => {
    const resolved = resolvePorts(probe, pod);
    const { containerName } = probe;
    return resolved === undefined
      ? []
      : [{ name: nodeProbeName(marker, probe), containerName, probe: resolved }];
  });
}

/** The probe with its port as a number; undefined when the container has no such port (rule 3). */
export function resolvePorts(
  { containerName, probe }: MarkerProbe,
  pod: ObservedPod,
): MarkerProbe["probe"] | undefined {
  const ports = pod.containers.find(({ name }) => name === containerName)?.ports ?? [];
  const { httpGet, tcpSocket } = probe;
  const action = httpGet ?? tcpSocket;
  if (action === undefined || action === null) return probe;
  const port = numberOf(action.port, ports);
  if (port === undefined) return undefined;
  if (httpGet) return { ...probe, httpGet: { ...httpGet, port } };
  return tcpSocket ? { ...probe, tcpSocket: { ...tcpSocket, port } } : probe;
}

function numberOf(
  port: number | string,
  named: readonly { readonly name: string; readonly port: number }[],
): number | undefined {
  if (typeof port === "number") return port;
  const found = named.find(({ name }) => name === port)?.port;
  if (found !== undefined) return found;
  return /^\d{1,5}$/.test(port) ? Number(port) : undefined;
}

/** Without regard to the order in which they were written. */
function sorted(entries: readonly PodProbes[]): PodProbes[] {
  return entries
    .map((entry) => ({
      ...entry,
      probes: (entry.probes ?? []).toSorted((a, b) => byText(a.name, b.name)),
    }))
    .sort((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name) || byText(a.uid, b.uid));
}

/** The results of a pod's probes, by the probe's name on the node. */
function resultsOf(status: NodePodProbeStatus | undefined, pod: ObservedPod): Map<string, ProbeResult> {
  const states = status?.podProbeStatuses?.find(({ uid }) => uid === pod.uid)?.probeStates ?? [];
  return new Map(states.map((state) => [state.name, state]));
}
