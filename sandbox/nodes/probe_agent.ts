/**
 * The agents' probes on simulated nodes: what NodePodProbes ask is run, `afterProbe` and `probeStatus` say what is told of
 * it (spec containers 4.4, rules 5 to 8). Commands are those that exec.ts understands; ports answer when the running
 * container declares them or the pod's annotation `sandbox.refit.dev/listens` names them.
 */
import type { NodePodProbe } from "../../crds/index.ts";
import { type Clock, isJsonObject, jsonEqual, timeOf } from "../../kube/core/index.ts";
import {
  afterProbe,
  checkedProbes,
  outcomeBeforeRun,
  type ProbeOutcome,
  type ProbeRecord,
  periodMs,
  probeReason,
  probeStatus,
  type RuntimeContainer,
  sameHandler,
  splitContainerID,
  thresholdsOf,
  type WantedProbe,
  wantedProbes,
} from "../../node/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import type { Cluster, StoredObject } from "../cluster.ts";
import type { EventWriter } from "../events.ts";
import { objectsAt } from "../json.ts";
import { type ContainerStatus, isPod, type PodObject } from "../objects/index.ts";
import type { ExecResult } from "./exec.ts";
import { followKind } from "./followed_kind.ts";

export interface ProbeAgentOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly events: EventWriter;
  /** Whether a simulated kubelet answers for this node. */
  readonly simulates: (node: string) => boolean;
  /** Runs a command in a running container; undefined when it does not run. */
  readonly exec: (
    namespace: string,
    pod: string,
    container: string,
    command: readonly string[],
  ) => ExecResult | undefined;
  readonly onError: (error: unknown, key: string) => void;
}

const resource = "nodepodprobes.apps.kruise.io";
const component = "kruise-daemon-podprobe";
const listensAnnotation = "sandbox.refit.dev/listens";

interface Probing {
  readonly wanted: WantedProbe;
  readonly record: ProbeRecord | undefined;
  /** When it runs next, milliseconds since the epoch. */
  readonly nextAt: number;
}

export class ProbeAgent {
  readonly #options: ProbeAgentOptions;
  readonly #agenda: Agenda;
  readonly #unsubscribe: () => void;
  /** By node, then by the probe's key. */
  readonly #nodes = new Map<string, ReadonlyMap<string, Probing>>();

  constructor(options: ProbeAgentOptions) {
    this.#options = options;
    const { cluster, clock, onError } = options;
    this.#agenda = createAgenda({ clock, onError, run: (node) => this.#look(node) });
    this.#unsubscribe = followKind(cluster, resource, ({ object }) =>
      this.#agenda.add(object.metadata.name ?? ""),
    );
  }

  stop(): void {
    this.#unsubscribe();
    this.#agenda.stop();
  }

  /** Runs what is due on a node and tells what there is to tell. */
  #look(node: string): Next {
    const { cluster, clock, simulates } = this.#options;
    const stored = cluster.get(resource, { name: node });
    if (!isNodePodProbe(stored) || !simulates(node)) {
      this.#nodes.delete(node);
      return undefined;
    }
    const now = clock.now();
    const { object } = checkedProbes(stored);
    const before = this.#nodes.get(node);
    const probings = new Map<string, Probing>();
    for (const [key, wanted] of wantedProbes(object))
      probings.set(key, this.#probed(node, wanted, before?.get(key), now));
    this.#nodes.set(node, probings);
    const records = [...probings].flatMap(([key, { record }]) => (record ? [[key, record] as const] : []));
    const status = probeStatus(object, new Map(records));
    if (!jsonEqual(stored.status?.podProbeStatuses ?? [], status.podProbeStatuses)) {
      cluster.update(resource, { name: node }, (draft) => {
        draft["status"] = status;
      });
    }
    const nextAt = Math.min(...[...probings.values()].map((probing) => probing.nextAt));
    return Number.isFinite(nextAt) ? nextAt - now : undefined;
  }

  #probed(node: string, wanted: WantedProbe, before: Probing | undefined, now: number): Probing {
    const { events } = this.#options;
    const known = before !== undefined && sameHandler(before.wanted.probe, wanted.probe) ? before : undefined;
    if (known !== undefined && known.nextAt > now) return { ...known, wanted };
    const probing = { wanted, record: known?.record, nextAt: now + periodMs(wanted.probe) };
    const pod = this.#podOf(wanted);
    const container = pod && containerIn(pod, wanted.containerName);
    if (pod === undefined || container === undefined) return probing;
    const outcome = this.#outcome(pod, container, wanted, now);
    if (outcome === undefined) return probing;
    const after = afterProbe(known?.record, container.id, outcome, thresholdsOf(wanted.probe), now);
    const { state, message } = after.record;
    if (after.changed && state !== "Unknown")
      events.write(pod, "Normal", probeReason(state), message, component, node);
    return { ...probing, record: after.record };
  }

  #podOf({ pod: { namespace, name, uid } }: WantedProbe): PodObject | undefined {
    const pod = this.#options.cluster.get("pods", { namespace, name });
    return isPod(pod) && pod.metadata.uid === uid ? pod : undefined;
  }

  #outcome(
    pod: PodObject,
    container: RuntimeContainer,
    wanted: WantedProbe,
    now: number,
  ): ProbeOutcome | undefined {
    const known = outcomeBeforeRun(container, wanted, now);
    if (known !== "run") return known;
    const { exec, httpGet, tcpSocket } = wanted.probe;
    if (exec) {
      const { namespace, name } = wanted.pod;
      const result = this.#options.exec(namespace, name, container.name, exec.command ?? []);
      if (result === undefined) return undefined;
      return result.code === 0
        ? { state: "Succeeded", message: result.stdout }
        : { state: "Failed", message: result.stderr };
    }
    const action = httpGet ?? tcpSocket;
    if (action === undefined) return undefined;
    const port = Number(action.port);
    if (listens(pod, container.name, port)) return { state: "Succeeded", message: "" };
    return { state: "Failed", message: `dial tcp ${pod.status?.podIP}:${port}: connect: connection refused` };
  }
}

/** Undefined before it has been made. */
function containerIn(pod: PodObject, name: string): RuntimeContainer | undefined {
  const status = pod.status?.containerStatuses?.find((one) => one.name === name);
  const id = splitContainerID(status?.containerID ?? "")?.id;
  return status === undefined || id === undefined ? undefined : inRuntime(status, id);
}

function inRuntime({ name, restartCount, state }: ContainerStatus, id: string): RuntimeContainer {
  return {
    name,
    id,
    restartCount,
    state: state.running ? "running" : "exited",
    startedAt: timeOf(state.running?.startedAt) ?? 0,
    exitCode: state.terminated?.exitCode ?? 0,
  };
}

function listens(pod: PodObject, container: string, port: number): boolean {
  const told = pod.metadata.annotations?.[listensAnnotation];
  if (told !== undefined) return told.split(",").some((one) => Number(one) === port);
  const spec = pod.spec.containers.find(({ name }) => name === container);
  return objectsAt({ ...spec }, "ports").some((declared) => declared["containerPort"] === port);
}

function isNodePodProbe(object: StoredObject | undefined): object is StoredObject & NodePodProbe {
  return isJsonObject(object?.["spec"]);
}
