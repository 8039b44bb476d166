/** Advanced DaemonSets for the suites: manifests limited to chosen nodes, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item, PatchType } from "../cluster/api.ts";
import { container, imagePatch } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import type { WaitOptions, World } from "./world.ts";

export interface DaemonSetShape {
  name: string;
  /** Labels of the selector and of the template; default `case: <name>`. */
  labels?: Record<string, string>;
  /** Nodes that the template allows; undefined: all. */
  nodes?: readonly string[];
  rollingUpdate?: object;
  updateStrategy?: object;
  containers?: object[];
  podSpec?: object;
  metadata?: object;
  /** Further fields of `spec`. */
  more?: object;
}

export function daemonSet(version: ApiVersion, shape: DaemonSetShape): object {
  const labels = shape.labels ?? { case: shape.name };
  const strategy =
    shape.updateStrategy ??
    (shape.rollingUpdate && { type: "RollingUpdate", rollingUpdate: shape.rollingUpdate });
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "DaemonSet",
    metadata: { name: shape.name, ...shape.metadata },
    spec: {
      ...(strategy === undefined ? {} : { updateStrategy: strategy }),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: shape.containers ?? [container("nginx", "nginx:1.20")],
          ...(shape.nodes === undefined ? {} : { affinity: onNodes(shape.nodes) }),
          ...shape.podSpec,
        },
      },
      ...shape.more,
    },
  };
}

export function onNodes(nodes: readonly string[]): object {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: nodes }];
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  };
}

/** The sets of one world: reads and writes in the world's version. */
export class Daemons {
  readonly world: World;
  readonly resource: string;

  constructor(world: World) {
    this.world = world;
    this.resource = `daemonsets.${world.version}.apps.kruise.io`;
  }

  /** Names of nodes without taints, ascending. */
  async nodes(): Promise<string[]> {
    const nodes = await this.world.api.list("nodes");
    return nodes
      .filter((node) => ((node.spec?.["taints"] ?? []) as unknown[]).length === 0)
      .map((node) => node.metadata.name)
      .sort();
  }

  /** The two lowest of them; undefined, reported as a skipped suite, where there are fewer. */
  async pair(): Promise<readonly [string, string] | undefined> {
    const [first, second] = await this.nodes();
    if (first !== undefined && second !== undefined) return [first, second];
    this.world.skip("all", "needs two nodes without taints");
    return undefined;
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

  row(name: string): Promise<string> {
    return this.world.row(name, { resource: this.resource });
  }

  /** Owned pods, also terminating ones, by name. */
  async pods(name: string): Promise<Item[]> {
    const pods = await this.world.list("pods");
    return pods
      .filter((pod) =>
        pod.metadata.ownerReferences?.some(
          (owner) => owner.controller && owner.kind === "DaemonSet" && owner.name === name,
        ),
      )
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** The only pod of a node; throws when there is another number of them. */
  async podOn(name: string, node: string): Promise<Item> {
    const pods = (await this.pods(name)).filter((pod) => pod.spec?.nodeName === node);
    const [pod] = pods;
    assert.equal(pods.length, 1, `${pods.length} pods of ${name} on ${node}`);
    assert.ok(pod);
    return pod;
  }

  /** Image tag of the first container by node. */
  async tags(name: string): Promise<Record<string, string | undefined>> {
    const pods = await this.pods(name);
    return Object.fromEntries(
      pods.map((pod) => [pod.spec?.nodeName, pod.spec?.containers?.[0]?.image?.split(":")[1]]),
    );
  }

  /** `name DESIRED CURRENT READY UP-TO-DATE AVAILABLE`, and no pod on its way. */
  untilRow(expected: string, options: WaitOptions = {}): Promise<void> {
    const [name = ""] = expected.split(" ");
    return this.world.until(
      expected,
      async () => {
        assert.equal(await this.world.observedRow(name, this.resource), expected);
        const going = (await this.pods(name)).filter((pod) => pod.metadata.deletionTimestamp !== undefined);
        assert.equal(going.length, 0, "pods are on their way");
      },
      { timeoutMs: 120_000, ...options },
    );
  }

  staysAt(expected: string): Promise<void> {
    const [name = ""] = expected.split(" ");
    return this.world.stays(async () => assert.equal(await this.row(name), expected));
  }

  untilGone(name: string): Promise<void> {
    return this.world.until(`${name} is gone`, async () => {
      assert.equal(await this.world.api.find(this.resource, name, this.world.namespace), undefined);
      assert.deepEqual(await this.pods(name), []);
    });
  }

  /** Reasons and messages in the order in which they were written. */
  async events(name: string): Promise<{ reason: string; message: string; source: string }[]> {
    const events = await this.world.events("DaemonSet", name);
    return events.map(({ reason, message, source }) => ({ reason, message, source }));
  }
}

export function isReady(pod: Item): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
