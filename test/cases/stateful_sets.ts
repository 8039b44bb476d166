/** Advanced StatefulSets for the suites: manifests, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item, PatchType } from "../cluster/api.ts";
import { container, imagePatch } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import type { Moment } from "./trail.ts";
import type { WaitOptions, World } from "./world.ts";

export interface StatefulSetShape {
  name: string;
  replicas: number;
  /** Labels of the selector and of the template; default `case: <name>`. */
  labels?: Record<string, string>;
  serviceName?: string;
  /** Default Parallel; null leaves the default of the API. */
  policy?: "Parallel" | "OrderedReady" | null;
  rollingUpdate?: object;
  updateStrategy?: object;
  containers?: object[];
  podSpec?: object;
  metadata?: object;
  /** Further fields of `spec`. */
  more?: object;
}

export function statefulSet(version: ApiVersion, shape: StatefulSetShape): object {
  const labels = shape.labels ?? { case: shape.name };
  const policy = shape.policy === undefined ? "Parallel" : shape.policy;
  const strategy =
    shape.updateStrategy ??
    (shape.rollingUpdate && { type: "RollingUpdate", rollingUpdate: shape.rollingUpdate });
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "StatefulSet",
    metadata: { name: shape.name, ...shape.metadata },
    spec: {
      serviceName: shape.serviceName ?? shape.name,
      ...(policy === null ? {} : { podManagementPolicy: policy }),
      replicas: shape.replicas,
      ...(strategy === undefined ? {} : { updateStrategy: strategy }),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: shape.containers ?? [container("nginx", "nginx:1.20")], ...shape.podSpec },
      },
      ...shape.more,
    },
  };
}

/** The set of the cases 20 to 22, whose revision names are known. */
export function webSet(version: ApiVersion, rollingUpdate: object, podSpec: object = {}): object {
  return statefulSet(version, {
    name: "web",
    replicas: 5,
    labels: { app: "nginx" },
    serviceName: "nginx-headless",
    rollingUpdate,
    containers: [container("nginx", "nginx:1.20", { ports: [{ name: "web", containerPort: 80 }] })],
    podSpec,
  });
}

/** One set of a world: its reads and writes in the world's version. */
export class Sets {
  readonly world: World;
  readonly resource: string;

  constructor(world: World, resource = `statefulsets.${world.version}.apps.kruise.io`) {
    this.world = world;
    this.resource = resource;
  }

  get(name: string): Promise<Item> {
    return this.world.api.get(this.resource, name, this.world.namespace);
  }

  patch(name: string, type: PatchType, body: unknown): Promise<Item> {
    return this.world.patch(name, type, body, this.resource);
  }

  toImage(name: string, image: string): Promise<Item> {
    return this.patch(name, "json", imagePatch(image));
  }

  roll(name: string, rollingUpdate: object): Promise<Item> {
    return this.patch(name, "merge", { spec: { updateStrategy: { rollingUpdate } } });
  }

  scale(name: string, replicas: number): Promise<Item> {
    const { api, namespace } = this.world;
    return api.patch(this.resource, name, namespace, "merge", { spec: { replicas } }, "scale");
  }

  row(name: string): Promise<string> {
    return this.world.row(name, { resource: this.resource });
  }

  /** Owned pods, also terminating ones, by ordinal. */
  async pods(name: string): Promise<Item[]> {
    const pods = await this.world.list("pods");
    const owned = pods.filter((pod) =>
      pod.metadata.ownerReferences?.some(
        (owner) => owner.controller && owner.kind === "StatefulSet" && owner.name === name,
      ),
    );
    return owned.sort((a, b) => ordinalOf(a) - ordinalOf(b));
  }

  async ordinals(name: string): Promise<number[]> {
    return (await this.pods(name)).map(ordinalOf);
  }

  async uids(name: string): Promise<Map<string, string>> {
    return new Map((await this.pods(name)).map((pod) => [pod.metadata.name, pod.metadata.uid]));
  }

  async images(name: string): Promise<Record<string, string | undefined>> {
    const pods = await this.pods(name);
    return Object.fromEntries(
      pods.map((pod) => [pod.metadata.name, pod.spec?.containers?.[0]?.image?.split(":")[1]]),
    );
  }

  /** `name DESIRED CURRENT UPDATED READY`, and no pod on its way. */
  untilRow(expected: string, options: WaitOptions = {}): Promise<void> {
    const [name = ""] = expected.split(" ");
    return this.world.until(
      expected,
      async () => {
        assert.equal(await this.world.observedRow(name, this.resource), expected);
        const going = (await this.pods(name)).filter((pod) => pod.metadata.deletionTimestamp !== undefined);
        assert.equal(going.length, 0);
      },
      { timeoutMs: 120_000, ...options },
    );
  }

  untilOrdinals(name: string, expected: readonly number[]): Promise<void> {
    return this.world.until(`pods ${expected.join()}`, async () => {
      assert.deepEqual(await this.ordinals(name), expected);
      const ready = (await this.get(name)).status?.readyReplicas ?? 0;
      assert.equal(ready, expected.length);
    });
  }

  untilGone(name: string): Promise<void> {
    return this.world.until(`${name} is gone`, async () => {
      assert.equal(await this.world.api.find(this.resource, name, this.world.namespace), undefined);
      assert.deepEqual(await this.pods(name), []);
    });
  }

  events(name: string, reason?: string) {
    return this.world.events("StatefulSet", name, reason);
  }

  refused(manifest: object): Promise<string> {
    return this.world.refused(() => this.world.apply(manifest), 422);
  }

  refusedPatch(name: string, body: unknown, type: PatchType = "merge"): Promise<string> {
    return this.world.refused(() => this.patch(name, type, body), 422);
  }
}

export function ordinalOf(pod: Item): number {
  return Number(pod.metadata.name.slice(pod.metadata.name.lastIndexOf("-") + 1));
}

/** Names of pods in the order in which they first appear with a UID that was not there at the beginning. */
export function orderOfNewPods(moments: readonly Moment[]): string[] {
  const known = new Set(
    moments.filter(({ type }) => type === "PRESENT").map(({ object }) => object.metadata.uid),
  );
  const order: string[] = [];
  for (const { object } of moments) {
    if (known.has(object.metadata.uid)) continue;
    known.add(object.metadata.uid);
    order.push(object.metadata.name);
  }
  return order;
}

/** Most pods that were missing or not Ready at the same time, once all `replicas` had been Ready. */
export function mostUnavailable(moments: readonly Moment[], replicas: number): number {
  const present = new Map<string, Item>();
  let most = 0;
  let started = false;
  for (const { type, object } of moments) {
    const held = present.get(object.metadata.name);
    if (type !== "DELETED") present.set(object.metadata.name, object);
    else if (held?.metadata.uid === object.metadata.uid) present.delete(object.metadata.name);
    const available = [...present.values()].filter(isAvailable).length;
    started ||= available === replicas;
    if (started) most = Math.max(most, replicas - available);
  }
  return most;
}

export function isAvailable(pod: Item): boolean {
  if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase !== "Running") return false;
  return pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

/** Whether pod `later` was first touched only after one of `earlier` was available again. */
export function waitedForOneOf(
  moments: readonly Moment[],
  later: string,
  earlier: readonly string[],
  touched: (pod: Item) => boolean,
): boolean {
  const start = moments.findIndex(({ object }) => object.metadata.name === later && touched(object));
  const down = new Map<string, boolean>();
  for (const { type, object } of moments.slice(0, start)) {
    const { name } = object.metadata;
    if (!earlier.includes(name)) continue;
    const available = type !== "DELETED" && isAvailable(object);
    if (!available) down.set(name, true);
    else if (down.get(name)) return true;
  }
  return false;
}
