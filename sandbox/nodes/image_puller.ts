/**
 * The node agent's puller beside each simulated kubelet: takes the tasks of its NodeImage up, "pulls" into the node's
 * store and reports, with the delays of the node's profile. Spec: images N3, agent 7.
 */

import type { Clock, Random } from "../../kube/core/index.ts";
import { isJsonObject, type JsonObject, jsonEqual, own, put } from "../../kube/core/index.ts";
import { type Agenda, createAgenda, type Next } from "../agenda.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import type { EventWriter } from "../events.ts";
import { timeText } from "../objects/index.ts";
import type { Delay } from "../stages/profile.ts";
import type { Registry } from "./images.ts";
import type { SimulatedNode } from "./simulated_node.ts";

const nodeImages = "nodeimages.apps.kruise.io";
const definitions = "customresourcedefinitions.apiextensions.k8s.io";
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

/** One tag at one version; times are milliseconds since the epoch. */
interface Task {
  readonly image: string;
  readonly tag: string;
  readonly version: number;
  readonly retries: number;
  readonly always: boolean;
  attempts: number;
  phase: "Waiting" | "Pulling" | "Succeeded" | "Failed";
  startedAt: number;
  completedAt: number | undefined;
  imageId: string;
  message: string;
  /** When the next step is due. */
  dueAt: number;
}

export class ImagePullers {
  readonly #options: ImagePullerOptions;
  readonly #agenda: Agenda;
  /** By node, then by image and tag. */
  readonly #tasks = new Map<string, Map<string, Task>>();
  readonly #unsubscribe: (() => void)[] = [];
  #following: (() => void) | undefined;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    const { cluster, clock, onError } = options;
    this.#agenda = createAgenda({ clock, onError, run: (node) => this.#step(node) });
    this.#unsubscribe.push(
      cluster.subscribe(definitions, ({ type, object }) => {
        if (type === "ADDED" && object.metadata.name === nodeImages) this.#follow();
      }),
    );
    for (const { metadata } of cluster.list(definitions)) if (metadata.name === nodeImages) this.#follow();
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#following?.();
    this.#agenda.stop();
  }

  #follow(): void {
    const { cluster } = this.#options;
    this.#following?.();
    this.#following = cluster.subscribe(nodeImages, (change) => this.#changed(change));
    for (const object of cluster.list(nodeImages)) this.#agenda.add(object.metadata.name ?? "");
  }

  #changed({ type, object }: ClusterChange): void {
    const name = object.metadata.name ?? "";
    const node = this.#options.node(name);
    if (type === "DELETED") this.#tasks.delete(name);
    else if (node !== undefined) this.#agenda.add(name, this.#lasts(node.timing.agent));
  }

  /** One look at a NodeImage: what is due happens, what is reported is written once. */
  #step(name: string): Next {
    const { cluster, clock } = this.#options;
    const node = this.#options.node(name);
    const object = cluster.get(nodeImages, { name });
    if (node === undefined || object === undefined) return undefined;
    if (!node.alive) return node.timing.heartbeat.graceMs;
    const now = clock.now();
    const tasks = this.#wanted(name, object, now);
    for (const task of tasks.values())
      if (task.completedAt === undefined && task.dueAt <= now) this.#advance(node, object, task, now);
    const status = statusOf(tasks);
    if (!jsonEqual(object["status"], status)) {
      cluster.update(nodeImages, { name }, (draft) => {
        draft["status"] = status;
      });
    }
    const waiting = [...tasks.values()].filter(({ completedAt }) => completedAt === undefined);
    if (waiting.length === 0) return undefined;
    return Math.max(0, Math.min(...waiting.map(({ dueAt }) => dueAt)) - now);
  }

  #wanted(name: string, object: StoredObject, now: number): ReadonlyMap<string, Task> {
    const before = this.#tasks.get(name) ?? new Map<string, Task>();
    const tasks = new Map<string, Task>();
    for (const wanted of tasksOf(object, now)) {
      const key = JSON.stringify([wanted.image, wanted.tag]);
      const present = before.get(key);
      tasks.set(key, present?.version === wanted.version ? present : wanted);
    }
    this.#tasks.set(name, tasks);
    return tasks;
  }

  #advance(node: SimulatedNode, object: StoredObject, task: Task, now: number): void {
    const { registry } = this.#options;
    const reference = `${task.image}${task.tag.includes(":") ? "@" : ":"}${task.tag}`;
    if (task.phase === "Waiting") {
      task.phase = "Pulling";
      task.startedAt = now;
      const isPresent = !task.always && node.images.has(reference);
      task.dueAt = now + (isPresent ? 0 : (registry.pullMs(reference) ?? this.#lasts(node.timing.pull)));
      return;
    }
    if (registry.fails(reference) && (task.always || !node.images.has(reference))) {
      this.#failed(node, object, task, reference, now);
      return;
    }
    node.images.add(reference);
    task.phase = "Succeeded";
    task.completedAt = now;
    task.imageId = `${task.image}@${registry.imageId(reference).replace(/^.*@/, "")}`;
    const text = `Image ${task.image}:${task.tag}, ecalpsedTime ${now - task.startedAt}ms`;
    this.#options.events.write(object, "Normal", "PullImageSucceed", text, component, node.name);
  }

  #failed(node: SimulatedNode, object: StoredObject, task: Task, reference: string, now: number): void {
    const { firstMs, longestMs } = node.timing.backOff;
    task.message = `Failed to pull image reference "${reference}": failed to resolve reference "${reference}"`;
    task.attempts += 1;
    if (task.attempts <= task.retries) {
      task.dueAt = now + Math.min(longestMs, firstMs * 2 ** (task.attempts - 1));
      return;
    }
    task.phase = "Failed";
    task.completedAt = now;
    const text = `Image ${task.image}:${task.tag} ${task.message}`;
    for (const about of [object, ...this.#owners(object, task)]) {
      this.#options.events.write(about, "Warning", "PullImageFailed", text, component, node.name);
    }
  }

  #owners(object: StoredObject, { image, tag }: Task): StoredObject[] {
    const { cluster } = this.#options;
    const found = entriesOf(object).find((entry) => entry.image === image && entry.tag["tag"] === tag);
    const owners = found?.tag["ownerReferences"];
    return (Array.isArray(owners) ? owners : []).filter(isJsonObject).flatMap((owner) => {
      const ref = { namespace: String(owner["namespace"] ?? ""), name: String(owner["name"] ?? "") };
      return cluster.get("imagepulljobs.apps.kruise.io", ref) ?? [];
    });
  }

  #lasts({ from, to }: Delay): number {
    return from + (to - from) * this.#options.random();
  }
}

function entriesOf(object: StoredObject): { image: string; tag: JsonObject }[] {
  const spec = object["spec"];
  const images = isJsonObject(spec) ? own(spec, "images") : undefined;
  return Object.entries(isJsonObject(images) ? images : {}).flatMap(([image, entry]) => {
    const tags = isJsonObject(entry) ? entry["tags"] : undefined;
    return (Array.isArray(tags) ? tags : []).filter(isJsonObject).map((tag) => ({ image, tag }));
  });
}

function tasksOf(object: StoredObject, now: number): Task[] {
  return entriesOf(object).map(({ image, tag }) => {
    const policy = isJsonObject(tag["pullPolicy"]) ? tag["pullPolicy"] : {};
    return {
      image,
      tag: String(tag["tag"] ?? ""),
      version: numberOf(tag["version"], 0),
      retries: numberOf(policy["backoffLimit"], 3),
      always: tag["imagePullPolicy"] !== "IfNotPresent",
      attempts: 0,
      phase: "Waiting" as const,
      startedAt: now,
      completedAt: undefined,
      imageId: "",
      message: "",
      dueAt: now,
    };
  });
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function statusOf(tasks: ReadonlyMap<string, Task>): JsonObject {
  const count = (phase: Task["phase"]) => [...tasks.values()].filter((task) => task.phase === phase).length;
  const imageStatuses: JsonObject = {};
  for (const task of tasks.values()) {
    const image = own(imageStatuses, task.image);
    const tags: unknown[] = isJsonObject(image) && Array.isArray(image["tags"]) ? image["tags"] : [];
    put(imageStatuses, task.image, { tags: [...tags, tagStatus(task)] });
  }
  return {
    desired: tasks.size,
    succeeded: count("Succeeded"),
    failed: count("Failed"),
    pulling: count("Pulling"),
    waiting: count("Waiting"),
    ...(tasks.size > 0 ? { imageStatuses } : {}),
  };
}

function tagStatus(task: Task): JsonObject {
  return {
    tag: task.tag,
    phase: task.phase,
    ...(task.phase === "Succeeded" ? { progress: 100 } : {}),
    ...(task.phase === "Waiting" ? {} : { startTime: timeText(task.startedAt) }),
    ...(task.completedAt === undefined ? {} : { completionTime: timeText(task.completedAt) }),
    ...(task.version === 0 ? {} : { version: task.version }),
    ...(task.imageId === "" ? {} : { imageID: task.imageId }),
    ...(task.message === "" ? {} : { message: task.message }),
  };
}
