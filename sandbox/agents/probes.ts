/**
 * Probes of the simulated agents: what NodePodProbes ask is run, `afterProbe` and `probeStatus` say what is reported of it.
 * Commands are those that exec.ts understands; ports answer when the running container declares them or the pod's
 * annotation `listens` names them. Spec: containers 4.4, rules 5 to 8.
 */

import type { NodePodProbe } from "../../crds/index.ts";
import { isJsonObject } from "../../kube/core/index.ts";
import {
  afterProbe,
  checkedProbes,
  ofFormerHandler,
  outcomeBeforeRun,
  type ProbeOutcome,
  type ProbeRecord,
  periodMs,
  probeReason,
  probeStatus,
  sameHandler,
  thresholdsOf,
  type WantedProbe,
  wantedProbes,
} from "../../node/index.ts";
import type { Next } from "../agenda.ts";
import { listensAnnotation, ofContainer } from "../annotations.ts";
import type { StoredObject } from "../cluster.ts";
import { execute } from "../nodes/exec.ts";
import { inRuntime } from "../nodes/node_agent.ts";
import type { ContainerRun } from "../nodes/pod_run.ts";
import { isPod, type PodObject } from "../objects/index.ts";
import { type AgentParts, type KindLoop, startKindLoop, writeStatus } from "./kind_loop.ts";

const resource = "nodepodprobes.apps.kruise.io";
const component = "kruise-daemon-podprobe";

interface Probing {
  readonly wanted: WantedProbe;
  readonly record: ProbeRecord | undefined;
  /** When it runs next, milliseconds since the epoch. */
  readonly nextAt: number;
}

export function startProbes(parts: AgentParts): KindLoop {
  const { cluster, clock, nodes } = parts;
  /** By node, then by the probe's key. */
  const known = new Map<string, ReadonlyMap<string, Probing>>();
  /** Runs what is due on a node and reports what there is to report. */
  const look = (node: string): Next => {
    const stored = cluster.get(resource, { name: node });
    const before = known.get(node);
    known.delete(node);
    if (!isNodePodProbe(stored) || nodes.node(node) === undefined) return undefined;
    const now = clock.now();
    const { object } = checkedProbes(stored);
    const probings = new Map<string, Probing>();
    for (const [key, wanted] of wantedProbes(object))
      probings.set(key, probed(parts, node, wanted, before?.get(key)));
    known.set(node, probings);
    const records = [...probings].flatMap(([key, { record }]) => (record ? [[key, record] as const] : []));
    writeStatus(cluster, resource, stored, probeStatus(object, new Map(records)));
    const nextAt = Math.min(...[...probings.values()].map((probing) => probing.nextAt));
    return Number.isFinite(nextAt) ? nextAt - now : undefined;
  };
  return startKindLoop(parts, resource, ({ object }, agenda) => agenda.add(object.metadata.name ?? ""), look);
}

/** A probe after what is due of it now. */
function probed(parts: AgentParts, node: string, wanted: WantedProbe, before: Probing | undefined): Probing {
  const { cluster, clock, events, nodes } = parts;
  const now = clock.now();
  const same = before !== undefined && sameHandler(before.wanted.probe, wanted.probe);
  if (same && before.nextAt > now) return { ...before, wanted };
  const record = same || !before?.record ? before?.record : ofFormerHandler(before.record);
  const probing = { wanted, record, nextAt: now + periodMs(wanted.probe) };
  const { namespace, name, uid } = wanted.pod;
  const pod = cluster.get("pods", { namespace, name });
  const run = nodes.runOf(uid)?.containers.find((one) => one.name === wanted.containerName);
  const container = inRuntime(run);
  if (!isPod(pod) || run === undefined || container === undefined) return probing;
  const beforeRun = outcomeBeforeRun(container, wanted, now);
  const outcome = beforeRun === "run" ? outcomeOf(pod, run, wanted, now) : beforeRun;
  if (outcome === undefined) return probing;
  const after = afterProbe(probing.record, container.id, outcome, thresholdsOf(wanted.probe), now);
  const { state, message } = after.record;
  if (after.changed && state !== "Unknown")
    events.write(pod, "Normal", probeReason(state), message, component, node);
  return { ...probing, record: after.record };
}

function outcomeOf(
  pod: PodObject,
  run: ContainerRun,
  { probe: { exec, httpGet, tcpSocket } }: WantedProbe,
  now: number,
): ProbeOutcome | undefined {
  if (exec) {
    const { code, stdout, stderr } = execute(pod, run, exec.command ?? [], now);
    return code === 0 ? { state: "Succeeded", message: stdout } : { state: "Failed", message: stderr };
  }
  const action = httpGet ?? tcpSocket;
  if (action === undefined) return undefined;
  const port = Number(action.port);
  if (listens(pod, run.name, port)) return { state: "Succeeded", message: "" };
  return { state: "Failed", message: `dial tcp ${pod.status?.podIP}:${port}: connect: connection refused` };
}

function listens(pod: PodObject, container: string, port: number): boolean {
  const named = ofContainer(pod.metadata, container, listensAnnotation);
  if (named !== undefined) return named.includes(port);
  const { ports = [] } = pod.spec.containers.find(({ name }) => name === container) ?? {};
  return ports.some(({ containerPort }) => containerPort === port);
}

function isNodePodProbe(object: StoredObject | undefined): object is StoredObject & NodePodProbe {
  return isJsonObject(object?.["spec"]);
}
