/**
 * The node agent's probes, simulated: what NodePodProbes ask of simulated nodes is run, and the results are reported
 * as an agent reports them (spec containers 4.4, rules 5 to 8). Commands are those that exec.ts understands; ports
 * answer when the running container declares them or the pod's annotation `sandbox.refit.dev/listens` names them.
 */

import type { Clock } from "../../kube/core/index.ts";
import { jsonEqual } from "../../kube/core/index.ts";
import { type Agenda, createAgenda } from "../agenda.ts";
import type { Cluster, StoredObject } from "../cluster.ts";
import type { EventWriter } from "../events.ts";
import { type Fields, fieldsAt, listAt, numberAt, objectsAt, setAt, textAt } from "../json.ts";
import { isPod, type PodObject, timeText } from "../objects/index.ts";
import type { ExecResult } from "./exec.ts";

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

const definitions = "customresourcedefinitions.apiextensions.k8s.io";
const resource = "nodepodprobes.apps.kruise.io";
const listensAnnotation = "sandbox.refit.dev/listens";
/** How often is looked what is due, milliseconds. */
const lookMs = 250;

interface Outcome {
  readonly state: "Succeeded" | "Failed";
  readonly message: string;
}

interface Probing extends Partial<Outcome> {
  nextAt: number;
  state?: "Succeeded" | "Failed";
  message?: string;
  /** Outcomes like the last one in a row. */
  run: { state: string; count: number };
  /** As reported. */
  entry?: Fields;
}

export class ProbeAgent {
  readonly #options: ProbeAgentOptions;
  readonly #agenda: Agenda;
  readonly #unsubscribe: () => void;
  /** By pod, container and probe. */
  readonly #probings = new Map<string, Probing>();

  constructor(options: ProbeAgentOptions) {
    this.#options = options;
    const { cluster, clock, onError } = options;
    this.#agenda = createAgenda({ clock, onError, run: () => this.#look() });
    const begin = (definition: StoredObject): void => {
      if (definition.metadata.name === resource) this.#agenda.add(resource);
    };
    for (const definition of cluster.list(definitions)) begin(definition);
    this.#unsubscribe = cluster.subscribe(definitions, ({ object }) => begin(object));
  }

  stop(): void {
    this.#unsubscribe();
    this.#agenda.stop();
  }

  #look(): number | undefined {
    const { cluster, simulates } = this.#options;
    if (!cluster.get(definitions, { name: resource })) return undefined;
    const seen = new Set<string>();
    for (const object of [...cluster.list(resource)]) {
      if (simulates(object.metadata.name ?? "")) this.#probeNode(object, seen);
    }
    for (const key of this.#probings.keys()) if (!seen.has(key)) this.#probings.delete(key);
    return lookMs;
  }

  #probeNode(object: StoredObject, seen: Set<string>): void {
    const name = object.metadata.name ?? "";
    const statuses: Fields[] = [];
    for (const entry of objectsAt(object, "spec", "podProbes")) {
      const probeStates = objectsAt(entry, "probes").flatMap((probe) => {
        const key = [textAt(entry, "uid"), textAt(probe, "containerName"), textAt(probe, "name")].join("/");
        seen.add(key);
        const state = this.#probe(key, name, entry, probe);
        return state === undefined ? [] : [state];
      });
      const { name: pod, namespace, uid } = entry;
      if (probeStates.length > 0) statuses.push({ name: pod, namespace, uid, probeStates });
    }
    if (jsonEqual(listAt(object, "status", "podProbeStatuses"), statuses)) return;
    this.#options.cluster.update(resource, { name }, (draft) => {
      setAt(draft, ["status", "podProbeStatuses"], statuses);
    });
  }

  /** What is reported of one probe, after running it if it is due. */
  #probe(key: string, node: string, entry: Fields, probe: Fields): Fields | undefined {
    const { clock, cluster, events } = this.#options;
    const now = clock.now();
    const probing = this.#probings.get(key) ?? { nextAt: now, run: { state: "", count: 0 } };
    this.#probings.set(key, probing);
    if (probing.nextAt > now) return probing.entry;
    const settings = fieldsAt(probe, "probe");
    probing.nextAt = now + Math.max(1, numberAt(settings, "periodSeconds") ?? 1) * 1_000;
    const pod = cluster.get("pods", { namespace: textAt(entry, "namespace"), name: textAt(entry, "name") });
    if (!isPod(pod) || pod.metadata.uid !== entry["uid"]) return probing.entry;
    const outcome = this.#run(pod, textAt(probe, "containerName"), settings);
    if (outcome === undefined) return probing.entry;
    const { run } = probing;
    probing.run = { state: outcome.state, count: run.state === outcome.state ? run.count + 1 : 1 };
    const threshold = outcome.state === "Failed" ? "failureThreshold" : "successThreshold";
    if (probing.run.count < Math.max(1, numberAt(settings, threshold) ?? 1)) return probing.entry;
    if (probing.state === outcome.state && probing.message === outcome.message) return probing.entry;
    if (probing.state !== outcome.state) {
      const reason = outcome.state === "Succeeded" ? "KruiseProbeSucceeded" : "KruiseProbeFailed";
      events.write(pod, "Normal", reason, outcome.message, "kruise-daemon-podprobe", node);
    }
    const since = probing.state === outcome.state ? probing.entry?.["lastTransitionTime"] : timeText(now);
    Object.assign(probing, outcome);
    probing.entry = {
      name: textAt(probe, "name"),
      state: outcome.state,
      lastProbeTime: timeText(now),
      lastTransitionTime: since,
      ...(outcome.message === "" ? {} : { message: outcome.message }),
    };
    return probing.entry;
  }

  /** Undefined when there is nothing to say: the container has not been made yet. */
  #run(pod: PodObject, container: string, probe: Fields): Outcome | undefined {
    const status = pod.status?.containerStatuses?.find(({ name }) => name === container);
    if (!status?.containerID) return undefined;
    if (!status.state.running) return { state: "Failed", message: `Container(${container}) is Non-running` };
    const { namespace = "", name = "" } = pod.metadata;
    const command = listAt(probe, "exec", "command").map(String);
    if (command.length > 0) {
      const result = this.#options.exec(namespace, name, container, command);
      if (result === undefined) return undefined;
      return result.code === 0
        ? { state: "Succeeded", message: result.stdout.slice(0, 1024) }
        : { state: "Failed", message: result.stderr.slice(0, 1024) };
    }
    const port = numberAt(probe, "httpGet", "port") ?? numberAt(probe, "tcpSocket", "port");
    if (port === undefined) return undefined;
    if (listens(pod, container, port)) return { state: "Succeeded", message: "" };
    return { state: "Failed", message: `dial tcp ${pod.status?.podIP}:${port}: connect: connection refused` };
  }
}

function listens(pod: PodObject, container: string, port: number): boolean {
  const told = pod.metadata.annotations?.[listensAnnotation];
  if (told !== undefined) return told.split(",").some((one) => Number(one) === port);
  const spec = pod.spec.containers.find(({ name }) => name === container);
  return objectsAt({ ...spec }, "ports").some((declared) => declared["containerPort"] === port);
}
