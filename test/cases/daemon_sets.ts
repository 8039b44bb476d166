/** Advanced DaemonSets for the suites: manifests limited to chosen nodes, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { nameOf, nodeOf, onlyOf, tagOf, uidOf } from "./items.ts";
import { container } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import { Workload } from "./workload.ts";
import type { World } from "./world.ts";

export interface DaemonSetShape {
  name: string;
  /** Labels of the selector and of the template; default `case: <name>`. */
  labels?: Record<string, string>;
  /** Further ones of the template. */
  templateLabels?: Record<string, string>;
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
        metadata: { labels: { ...labels, ...shape.templateLabels } },
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

type Shape = Omit<DaemonSetShape, "name">;

export class DaemonSet extends Workload {
  protected override readonly rowLimitMs = 120_000;

  constructor(world: World, name: string) {
    super(world, "DaemonSet", name);
  }

  create(shape: Shape): Promise<Item> {
    return this.world.apply(daemonSet(this.world.version, { ...shape, name: this.name }));
  }

  /** Creates it on these nodes and waits until each has its pod. */
  async start(nodes: readonly string[], shape: Shape = {}): Promise<void> {
    await this.create({ nodes, ...shape });
    await this.untilAll(nodes.length);
  }

  untilAll(count: number): Promise<void> {
    return this.untilRow(Array(5).fill(count).join(" "));
  }

  override async assertRow(row: string): Promise<void> {
    await super.assertRow(row);
    await this.assertNoneGoing();
  }

  /** The only pod of a node; throws when there is another number of them. */
  async podOn(node: string): Promise<Item> {
    return onlyOf((await this.pods()).filter((pod) => nodeOf(pod) === node));
  }

  async removePodOn(node: string): Promise<Item> {
    const pod = await this.podOn(node);
    await this.world.remove("pods", nameOf(pod));
    return pod;
  }

  /** Waits until another pod has taken this one's place on its node. */
  untilRenewed(old: Item): Promise<void> {
    return this.world.until(`another pod in the place of ${nameOf(old)}`, async () =>
      assert.notEqual(uidOf(await this.podOn(nodeOf(old) ?? "")), uidOf(old)),
    );
  }

  /** Image tag of the first container by node. */
  override async tags(): Promise<Record<string, string | undefined>> {
    return Object.fromEntries((await this.pods()).map((pod) => [nodeOf(pod), tagOf(pod)]));
  }
}

/** A run on the two lowest nodes that take ordinary pods; skipped where there are fewer. */
export function onTwoNodes(
  run: (world: World, nodes: readonly [string, string]) => Promise<void>,
): (world: World) => Promise<void> {
  return async (world) => {
    const [first, second] = await world.workers();
    if (first === undefined || second === undefined) world.skip("all", "needs two nodes without taints");
    else await run(world, [first, second]);
  };
}
