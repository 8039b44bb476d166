/**
 * The driver of simulated nodes: holds the runs of all their pods, asks the stages what comes next, and hands
 * reports to a sink. It knows neither the in-process cluster nor HTTP, so that it can stand before either.
 */
import { type Clock, jsonEqual, type Random } from "../../kube/core/index.ts";
import { metaAnnotation } from "../../node/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import { Reckoner } from "../amounts.ts";
import type { Container, PodObject, PodStatus } from "../objects/index.ts";
import type { Timing } from "../stages/profile.ts";
import { applyChange, type Effect } from "./apply_change.ts";
import type { Kubelet } from "./facts.ts";
import { Registry } from "./images.ts";
import { type NextStage, nextStage } from "./next_stage.ts";
import { containersRecord } from "./node_agent.ts";
import type { NodeProfile } from "./node_object.ts";
import { missingConfig, missingVolume, type NodeSources, refersTo } from "./pod_inputs.ts";
import { type ContainerRun, newRun, type PodRun, takeUpEphemeral } from "./pod_run.ts";
import { podStatus } from "./pod_status.ts";
import { SimulatedNode } from "./simulated_node.ts";

/** Where nodes write. Each method may be carried out at once or answer a promise; a pod that is gone is no error. */
export interface NodeSink {
  /** Stores the status computed from the newest pod; answers the pod as stored, when it is known. */
  reportStatus(
    pod: PodObject,
    compute: (current: PodObject) => PodStatus,
  ): undefined | Promise<PodObject | undefined>;
  /** Removes a pod whose containers have stopped: a delete without grace, of this UID. */
  removePod(pod: PodObject): undefined | Promise<void>;
  annotate(pod: PodObject, key: string, value: string): undefined | Promise<void>;
  event(
    pod: PodObject,
    node: string,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): undefined | Promise<void>;
}

export interface HollowNodesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Timing;
  readonly sink: NodeSink;
  readonly sources: NodeSources;
  /** Simulates the node agent that records containers and renews environment from metadata. */
  readonly agent?: boolean;
  /** Pulls that fail now, besides those that the registry refuses; asked again after each back-off. */
  readonly pullFails?: (pod: PodObject, image: string) => boolean;
  readonly onError: (error: unknown, key: string) => void;
}

interface Entry {
  pod: PodObject;
  readonly node: SimulatedNode;
  readonly run: PodRun;
  /** The strongest report asked for since the last write. */
  report: NextStage["report"];
  /** True while this driver writes the pod: the change that comes back is its own. */
  writing: boolean;
  /** It changed during a write that takes its time: perhaps by another hand. */
  changedMeanwhile: boolean;
  waitsForInputs: boolean;
}

const idLength = 64;

export class HollowNodes {
  readonly registry = new Registry();
  readonly #options: HollowNodesOptions;
  readonly #agenda: Agenda;
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #pods = new Map<string, Entry>();
  readonly #waitingForInputs = new Set<string>();
  readonly #reckoner = new Reckoner();
  #nextIndex = 0;

  constructor(options: HollowNodesOptions) {
    this.#options = options;
    const { clock, onError } = options;
    this.#agenda = createAgenda({ clock, run: (uid) => this.#work(uid), onError });
  }

  /** Takes up a node; its pods must be handed in afterwards. */
  addNode(name: string, profile: NodeProfile, allocatable: Readonly<Record<string, string>>): SimulatedNode {
    const present = this.#nodes.get(name);
    if (present) {
      present.allocatable = allocatable;
      return present;
    }
    const timing = { ...this.#options.timing, ...profile.timing };
    const node = new SimulatedNode(name, this.#nextIndex++, profile, timing, allocatable);
    this.#nodes.set(name, node);
    return node;
  }

  /** The machine is gone: its pods stay as objects, nobody reports them any more. */
  removeNode(name: string): void {
    const node = this.#nodes.get(name);
    if (!node) return;
    this.#nodes.delete(name);
    for (const uid of node.pods) this.#forget(uid);
  }

  node(name: string): SimulatedNode | undefined {
    return this.#nodes.get(name);
  }

  nodes(): Iterable<SimulatedNode> {
    return this.#nodes.values();
  }

  stop(): void {
    this.#agenda.stop();
  }

  podChanged(pod: PodObject): void {
    const uid = pod.metadata.uid ?? "";
    const entry = this.#pods.get(uid) ?? this.#take(uid, pod);
    if (!entry || isOlder(pod, entry.pod)) return;
    entry.pod = pod;
    takeUpEphemeral(pod, entry.run);
    if (entry.writing) entry.changedMeanwhile = true;
    else this.#agenda.add(uid);
  }

  podGone(uid: string): void {
    const node = this.#pods.get(uid)?.node;
    this.#forget(uid);
    if (!node) return;
    for (const other of node.pods) if (this.#pods.get(other)?.run.refusal) this.#agenda.add(other);
  }

  /** A ConfigMap, Secret or claim appeared or changed: pods that wait for it look again. */
  inputChanged(resource: string, namespace: string, name: string): void {
    for (const uid of this.#waitingForInputs) {
      const pod = this.#pods.get(uid)?.pod;
      if (pod?.metadata.namespace === namespace && refersTo(pod, resource, name)) this.#agenda.add(uid);
    }
  }

  /** Goes silent: nothing is reported, started or stopped until `revive`. */
  kill(name: string): void {
    const node = this.#nodes.get(name);
    if (node) node.alive = false;
  }

  revive(name: string): void {
    const node = this.#nodes.get(name);
    if (!node) return;
    node.alive = true;
    for (const uid of node.pods) this.#agenda.add(uid);
  }

  /** What the node knows of a pod; not to be changed. */
  runOf(uid: string): PodRun | undefined {
    return this.#pods.get(uid)?.run;
  }

  /** Hands a container's run to a test's or fault's change, then looks at the pod again. False: no such container. */
  withContainer(uid: string, container: string, change: (run: ContainerRun, now: number) => void): boolean {
    const entry = this.#pods.get(uid);
    const run = entry?.run.containers.find((candidate) => candidate.name === container);
    if (!run) return false;
    change(run, this.#options.clock.now());
    this.#agenda.add(uid);
    return true;
  }

  /** Looks at all pods again, after what nodes can pull has changed. */
  lookAgain(): void {
    for (const uid of this.#pods.keys()) this.#agenda.add(uid);
  }

  #take(uid: string, pod: PodObject): Entry | undefined {
    const node = this.#nodes.get(pod.spec.nodeName ?? "");
    if (!node) return undefined;
    const run = newRun(pod);
    if (run.ip) node.addresses.keep(run.ip);
    const entry: Entry = {
      pod,
      node,
      run,
      report: "not",
      writing: false,
      changedMeanwhile: false,
      waitsForInputs: false,
    };
    this.#pods.set(uid, entry);
    node.pods.add(uid);
    return entry;
  }

  #forget(uid: string): void {
    const entry = this.#pods.get(uid);
    if (!entry) return;
    this.#pods.delete(uid);
    this.#waitingForInputs.delete(uid);
    this.#agenda.drop(uid);
    entry.node.pods.delete(uid);
    if (entry.run.ip !== entry.node.addresses.hostIp) entry.node.addresses.free(entry.run.ip);
  }

  #work(uid: string): Next | Promise<Next> {
    const entry = this.#pods.get(uid);
    if (!entry?.node.alive) return undefined;
    const kubelet = this.#kubeletOf(entry);
    const { clock, random } = this.#options;
    const now = clock.now();
    const writes: Promise<unknown>[] = [];
    entry.waitsForInputs = false;
    let next: NextStage | undefined;
    for (;;) {
      next = nextStage({ pod: entry.pod, run: entry.run, kubelet }, entry.node.timing, now, random);
      entry.run.due = next?.due ?? [];
      if (!next || next.afterMs > 0) break;
      const happened = next.key;
      entry.run.due = next.due.filter((stage) => stage.key !== happened);
      entry.report = stronger(entry.report, next.report);
      const effects = applyChange({ pod: entry.pod, run: entry.run, kubelet }, next.change, next.container, {
        timing: entry.node.timing,
        now,
        newContainerId: () => this.#newContainerId(),
        newAddress: (pod) =>
          pod.spec.hostNetwork ? entry.node.addresses.hostIp : entry.node.addresses.take(),
      });
      if (!this.#execute(entry, effects, writes)) return settled(writes, undefined);
    }
    if (entry.waitsForInputs) this.#waitingForInputs.add(uid);
    else this.#waitingForInputs.delete(uid);
    this.#report(entry, next, now, writes);
    return settled(writes, next?.afterMs);
  }

  /** False when the pod is no longer this node's. */
  #execute(entry: Entry, effects: readonly Effect[], writes: Promise<unknown>[]): boolean {
    const { sink } = this.#options;
    for (const effect of effects) {
      switch (effect.do) {
        case "keep image":
          entry.node.images.add(effect.image);
          break;
        case "record": {
          const record = containersRecord(entry.pod, entry.run);
          if (record !== undefined) note(writes, sink.annotate(entry.pod, metaAnnotation, record));
          break;
        }
        case "event": {
          const wanted = entry.node.timing.events;
          if (wanted === "none" || (wanted === "warnings" && effect.type === "Normal")) break;
          note(writes, sink.event(entry.pod, entry.node.name, effect.type, effect.reason, effect.message));
          break;
        }
        case "remove pod":
          note(writes, sink.removePod(entry.pod));
          // Finalizers keep the object: then its end is reported as any other state.
          if ((entry.pod.metadata.finalizers ?? []).length === 0) return false;
      }
    }
    return true;
  }

  /** Writes the status when it differs, unless a further change is so near that one write can carry both. */
  #report(entry: Entry, next: NextStage | undefined, now: number, writes: Promise<unknown>[]): void {
    const { timing } = entry.node;
    const near = next !== undefined && next.afterMs <= timing.settleMs;
    if (near && (entry.report !== "now" || !timing.showStops)) return;
    const compute = (current: PodObject): PodStatus =>
      podStatus({
        pod: current,
        run: entry.run,
        hostIp: entry.node.addresses.hostIp,
        now,
        imageId: (image) => this.registry.imageId(image),
      });
    entry.report = "not";
    if (jsonEqual(compute(entry.pod), entry.pod.status ?? {})) return;
    entry.writing = true;
    entry.changedMeanwhile = false;
    const written = this.#options.sink.reportStatus(entry.pod, compute);
    if (!(written instanceof Promise)) {
      entry.writing = false;
      return;
    }
    writes.push(
      written
        .then((stored) => {
          if (stored && !isOlder(stored, entry.pod)) entry.pod = stored;
        })
        .finally(() => {
          entry.writing = false;
          if (entry.changedMeanwhile) this.#agenda.add(entry.pod.metadata.uid ?? "");
        }),
    );
  }

  #kubeletOf(entry: Entry): Kubelet {
    const { node } = entry;
    const wait = (message: string | undefined): string | undefined => {
      if (message !== undefined) entry.waitsForInputs = true;
      return message;
    };
    return {
      hasImage: (image) => node.images.has(image),
      pullFails: (image) =>
        this.registry.fails(image) || this.#options.pullFails?.(entry.pod, image) === true,
      pullMs: (image) => this.registry.pullMs(image),
      missingConfig: (pod: PodObject, container: Container) =>
        wait(missingConfig(this.#options.sources, pod, container)),
      missingVolume: (pod: PodObject) => wait(missingVolume(this.#options.sources, pod)),
      resizeRefusal: (pod: PodObject) => node.resizeRefusal(pod, this.#podsOn(node), this.#reckoner),
      agent: this.#options.agent ?? false,
    };
  }

  #podsOn(node: SimulatedNode): PodObject[] {
    return [...node.pods].flatMap((uid) => this.#pods.get(uid)?.pod ?? []);
  }

  #newContainerId(): string {
    let digits = "";
    while (digits.length < idLength) {
      digits += Math.floor(this.#options.random() * 2 ** 32)
        .toString(16)
        .padStart(8, "0");
    }
    return `sandbox://${digits}`;
  }
}

function stronger(left: NextStage["report"], right: NextStage["report"]): NextStage["report"] {
  if (left === "now" || right === "now") return "now";
  return left === "soon" || right === "soon" ? "soon" : "not";
}

function isOlder(pod: PodObject, than: PodObject): boolean {
  return Number(pod.metadata.resourceVersion ?? 0) < Number(than.metadata.resourceVersion ?? 0);
}

function note(writes: Promise<unknown>[], write: undefined | Promise<unknown>): void {
  if (write instanceof Promise) writes.push(write);
}

function settled(writes: Promise<unknown>[], next: Next): Next | Promise<Next> {
  return writes.length === 0 ? next : Promise.all(writes).then(() => next);
}
