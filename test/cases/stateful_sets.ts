/** Advanced StatefulSets for the suites: manifests, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item, ResourceName } from "../cluster/api.ts";
import { isGoing, reportsReady } from "./items.ts";
import { container } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import type { Moment } from "./trail.ts";
import { Workload } from "./workload.ts";
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

/** Of the set `web` of the cases 20 to 22, whose revision names are known. */
export function webShape(rollingUpdate: object, podSpec: object = {}): Shape {
  return {
    replicas: 5,
    labels: { app: "nginx" },
    serviceName: "nginx-headless",
    rollingUpdate,
    containers: [container("nginx", "nginx:1.20", { ports: [{ name: "web", containerPort: 80 }] })],
    podSpec,
  };
}

export class StatefulSet extends Workload {
  protected override readonly rowLimitMs = 120_000;

  constructor(world: World, name: string, resource?: ResourceName) {
    super(world, "StatefulSet", name, resource);
  }

  manifest(shape: Shape): object {
    return statefulSet(this.world.version, { ...shape, name: this.name });
  }

  create(shape: Shape): Promise<Item> {
    return this.world.apply(this.manifest(shape));
  }

  /** Creates it and waits until all its pods are ready. */
  async start(shape: Shape): Promise<void> {
    await this.create(shape);
    await this.untilAll(shape.replicas);
  }

  /** Owned pods, also terminating ones, by ordinal. */
  override async pods(): Promise<Item[]> {
    return (await super.pods()).sort((a, b) => ordinalOf(a) - ordinalOf(b));
  }

  async ordinals(): Promise<number[]> {
    return (await this.pods()).map(ordinalOf);
  }

  untilAll(count: number, options: WaitOptions = {}): Promise<void> {
    return this.untilRow(Array(4).fill(count).join(" "), options);
  }

  override async assertRow(row: string): Promise<void> {
    await super.assertRow(row);
    await this.assertNoneGoing();
  }

  untilOrdinals(...expected: readonly number[]): Promise<void> {
    return this.world.until(`pods ${expected.join()}`, async () => {
      assert.deepEqual(await this.ordinals(), expected);
      assert.equal((await this.status()).readyReplicas ?? 0, expected.length, "ready");
    });
  }

  /** Waits until a pod was replaced, and which one is there now is another one. */
  untilRenewed(pod: string, uid: string | undefined): Promise<void> {
    return this.world.until(`${pod} is a new pod`, async () => {
      const now = (await this.uids()).get(pod);
      assert.ok(now !== undefined && now !== uid, `${pod} ${now}`);
    });
  }

  refusesShape(shape: Shape, ...words: readonly (string | RegExp)[]): Promise<void> {
    return this.world.refuses(422, () => this.create(shape), ...words);
  }

  refusesSpec(spec: object, ...words: readonly (string | RegExp)[]): Promise<void> {
    return this.world.refuses(422, () => this.mergeSpec(spec), ...words);
  }
}

type Shape = Omit<StatefulSetShape, "name">;

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
  return !isGoing(pod) && pod.status?.phase === "Running" && reportsReady(pod);
}

/** Whether pod `later` was first touched only after one of `earlier` was available again. */
function waitedForOneOf(
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

/** The first pods go together, and the next one waits for one of them. */
export function assertWaits(
  moments: readonly Moment[],
  together: readonly string[],
  next: string,
  touched: (pod: Item) => boolean,
): void {
  for (const name of together) assert.equal(waitedForOneOf(moments, name, together, touched), false, name);
  assert.ok(waitedForOneOf(moments, next, together, touched), `${next} did not wait`);
}

/** Whether it is one of the pods with these UIDs, on its way out. */
export function isOldGoing(before: ReadonlyMap<string, string>): (pod: Item) => boolean {
  return (pod) => pod.metadata.uid === before.get(pod.metadata.name) && isGoing(pod);
}
