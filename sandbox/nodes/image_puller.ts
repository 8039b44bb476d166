/**
 * The agents' pullers beside the simulated kubelets: "pull" into the node's store what `planNodeImage` starts, with the
 * delays of the node's profile. Spec: images N3, agent 7.
 */
import type { NodeImage } from "../../crds/index.ts";
import { type Clock, isJsonObject, jsonEqual, type Random } from "../../kube/core/index.ts";
import {
  checkedSpec,
  endedTask,
  imageReference,
  type OwnerRef,
  type PullOrder,
  type PullResult,
  type PullTask,
  planNodeImage,
  pullEvent,
  pullOrder,
  pullStatus,
} from "../../node/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import type { EventWriter } from "../events.ts";
import type { Delay } from "../stages/profile.ts";
import { followKind } from "./followed_kind.ts";
import type { Registry } from "./images.ts";
import type { SimulatedNode } from "./simulated_node.ts";

const nodeImages = "nodeimages.apps.kruise.io";
const component = "kruise-daemon-imagepuller";

interface ImagePullerOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventWriter;
  readonly registry: Registry;
  readonly node: (name: string) => SimulatedNode | undefined;
  readonly onError: (error: unknown, key: string) => void;
}

/** A pull under way. */
interface Pull {
  readonly order: PullOrder;
  failures: number;
  /** When the present attempt ends, milliseconds since the epoch. */
  dueAt: number;
}

interface NodePulls {
  readonly tasks: Map<string, PullTask>;
  readonly pulls: Map<string, Pull>;
}

export class ImagePullers {
  readonly #options: ImagePullerOptions;
  readonly #agenda: Agenda;
  /** By node; tasks and pulls by `taskKey`. */
  readonly #nodes = new Map<string, NodePulls>();
  readonly #unsubscribe: () => void;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    const { cluster, clock, onError } = options;
    this.#agenda = createAgenda({ clock, onError, run: (node) => this.#step(node) });
    this.#unsubscribe = followKind(cluster, nodeImages, (change) => this.#changed(change));
  }

  stop(): void {
    this.#unsubscribe();
    this.#agenda.stop();
  }

  #changed({ type, object }: ClusterChange): void {
    const name = object.metadata.name ?? "";
    const node = this.#options.node(name);
    if (type === "DELETED") this.#nodes.delete(name);
    else if (node !== undefined) this.#agenda.add(name, this.#lasts(node.timing.agent));
  }

  /** One look at a NodeImage: what is due happens, what is reported is written once. */
  #step(name: string): Next {
    const { cluster, clock } = this.#options;
    const node = this.#options.node(name);
    const object = cluster.get(nodeImages, { name });
    if (node === undefined || !isNodeImage(object)) return undefined;
    if (!node.alive) return node.timing.heartbeat.graceMs;
    const now = clock.now();
    const { tasks, pulls } = this.#planned(node, object, now);
    for (const [key, pull] of pulls) {
      const task = tasks.get(key);
      const result = pull.dueAt > now ? undefined : this.#attempt(node, pull, now);
      if (task === undefined || result === undefined) continue;
      pulls.delete(key);
      tasks.set(key, endedTask(task, result, now));
      this.#tell(node, object, task, pull.order.owners, result);
    }
    const status = pullStatus(tasks);
    if (!jsonEqual(object.status, status)) {
      cluster.update(nodeImages, { name }, (draft) => {
        draft["status"] = status;
      });
    }
    if (pulls.size === 0) return undefined;
    return Math.max(0, Math.min(...[...pulls.values()].map(({ dueAt }) => dueAt)) - now);
  }

  #planned(node: SimulatedNode, object: NodeImage, now: number): NodePulls {
    const { registry } = this.#options;
    const { tasks, pulls } = this.#nodes.get(node.name) ?? {
      tasks: new Map(),
      pulls: new Map<string, Pull>(),
    };
    const { spec } = checkedSpec(object.spec);
    const seen = { spec, status: object.status, tasks, maxPulls: 0, runtimeReady: true, reason: "" };
    const plan = planNodeImage(seen, now);
    const planned = { tasks: new Map(plan.tasks), pulls };
    this.#nodes.set(node.name, planned);
    for (const key of plan.stop) pulls.delete(key);
    for (const key of plan.start) {
      const task = planned.tasks.get(key);
      const order = task && pullOrder(task, spec, now);
      if (order === undefined) continue;
      const reference = imageReference(order.image, order.tag) ?? "";
      const isPresent = order.onlyIfAbsent && node.images.has(reference);
      const lastsMs = isPresent ? 0 : (registry.pullMs(reference) ?? this.#lasts(node.timing.pull));
      pulls.set(key, { order, failures: 0, dueAt: now + lastsMs });
    }
    return planned;
  }

  /** Undefined when there is another attempt. */
  #attempt(node: SimulatedNode, pull: Pull, now: number): PullResult | undefined {
    const { registry } = this.#options;
    const { image, tag, onlyIfAbsent, backoffLimit } = pull.order;
    const reference = imageReference(image, tag);
    if (reference === undefined) {
      return { ok: false, message: `invalid image reference: name "${image}", tag "${tag}"` };
    }
    const isPresent = onlyIfAbsent && node.images.has(reference);
    if (isPresent || !registry.fails(reference)) {
      node.images.add(reference);
      const imageID = `${image}@${registry.imageId(reference).replace(/^.*@/, "")}`;
      return { ok: true, imageID, pulled: !isPresent };
    }
    const { firstMs, longestMs } = node.timing.backOff;
    pull.failures += 1;
    pull.dueAt = now + Math.min(longestMs, firstMs * 2 ** (pull.failures - 1));
    const why = `failed to resolve reference "${reference}"`;
    return pull.failures <= backoffLimit
      ? undefined
      : { ok: false, message: `Failed to pull image reference "${reference}": ${why}` };
  }

  #tell(
    node: SimulatedNode,
    object: StoredObject,
    task: PullTask,
    owners: readonly OwnerRef[],
    result: PullResult,
  ): void {
    const { clock, events } = this.#options;
    const tookMs = clock.now() - (task.startedAt ?? clock.now());
    const { type, reason, message } = pullEvent(task, result, tookMs);
    for (const about of [object, ...(result.ok ? [] : this.#jobs(owners))])
      events.write(about, type, reason, message, component, node.name);
  }

  #jobs(owners: readonly OwnerRef[]): StoredObject[] {
    return owners.flatMap(
      ({ namespace = "", name = "" }) =>
        this.#options.cluster.get("imagepulljobs.apps.kruise.io", { namespace, name }) ?? [],
    );
  }

  #lasts({ from, to }: Delay): number {
    return from + (to - from) * this.#options.random();
  }
}

function isNodeImage(object: StoredObject | undefined): object is StoredObject & NodeImage {
  return isJsonObject(object?.["spec"]);
}
