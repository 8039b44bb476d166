/** UnitedDeployments for the suites: manifests, and what a suite asks of one. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { isGoing, phaseOf, records } from "./items.ts";
import { container } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import { Workload } from "./workload.ts";
import type { World } from "./world.ts";

const imagePath = "/spec/template/spec/containers/0/image";

export const SUBSET = "apps.kruise.io/subset-name";
export const REVISION = "apps.kruise.io/controller-revision-hash";

export type TemplateName =
  | "statefulSetTemplate"
  | "advancedStatefulSetTemplate"
  | "cloneSetTemplate"
  | "deploymentTemplate";

/** Resources of the subsets' workloads. */
export const workloads: Readonly<Record<TemplateName, string>> = {
  statefulSetTemplate: "statefulsets.v1.apps",
  advancedStatefulSetTemplate: "statefulsets.v1beta1.apps.kruise.io",
  cloneSetTemplate: "clonesets.v1beta1.apps.kruise.io",
  deploymentTemplate: "deployments.v1.apps",
};

export interface UnitedShape {
  readonly name: string;
  readonly replicas: number;
  readonly subsets: readonly object[];
  readonly template?: TemplateName;
  readonly image?: string;
  readonly partitions?: Readonly<Record<string, number>>;
  readonly scheduleStrategy?: object;
  /** Further fields of `spec`. */
  readonly more?: object;
}

export function unitedTemplate(name: string, kind: TemplateName, image: string): object {
  const labels = { case: name };
  const isSet = kind === "statefulSetTemplate" || kind === "advancedStatefulSetTemplate";
  return {
    [kind]: {
      metadata: { labels },
      spec: {
        selector: { matchLabels: labels },
        ...(isSet ? { podManagementPolicy: "Parallel" } : {}),
        template: {
          metadata: { labels },
          spec: { terminationGracePeriodSeconds: 1, containers: [container("nginx", image)] },
        },
      },
    },
  };
}

export function unitedDeployment(version: ApiVersion, shape: UnitedShape): object {
  const { name, replicas, subsets, template = "statefulSetTemplate", image = "nginx:1.20" } = shape;
  const { partitions, scheduleStrategy } = shape;
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "UnitedDeployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { case: name } },
      template: unitedTemplate(name, template, image),
      topology: { subsets, ...(scheduleStrategy === undefined ? {} : { scheduleStrategy }) },
      ...(partitions === undefined ? {} : { updateStrategy: { manualUpdate: { partitions } } }),
      ...shape.more,
    },
  };
}

/** The nodes of a subset: those of this host name. */
export function onHost(node: string): object {
  return { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] };
}

export class United extends Workload {
  protected override readonly rowLimitMs = 120_000;

  constructor(world: World, name: string) {
    super(world, "UnitedDeployment", name);
  }

  create(shape: Omit<UnitedShape, "name">): Promise<Item> {
    return this.world.apply(unitedDeployment(this.world.version, { ...shape, name: this.name }));
  }

  /** Another image in the template of this name. */
  override toImage(image: string, template: TemplateName = "statefulSetTemplate"): Promise<Item> {
    return this.patch("json", [
      { op: "replace", path: `/spec/template/${template}${imagePath}`, value: image },
    ]);
  }

  /** The subsets' workloads by the name of their subset. */
  async children(template: TemplateName = "statefulSetTemplate"): Promise<Record<string, Item>> {
    const found = await this.world.list(workloads[template], `case=${this.name}`);
    const owned = found.filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ controller, name }) => controller && name === this.name),
    );
    return Object.fromEntries(owned.map((each) => [each.metadata.labels?.[SUBSET] ?? "", each]));
  }

  async sizes(template: TemplateName = "statefulSetTemplate"): Promise<Record<string, number | undefined>> {
    const children = await this.children(template);
    return Object.fromEntries(Object.entries(children).map(([name, { spec }]) => [name, spec?.replicas]));
  }

  untilSizes(expected: Readonly<Record<string, number>>, template?: TemplateName): Promise<void> {
    return this.world.until(`sizes ${JSON.stringify(expected)}`, async () =>
      assert.deepEqual(await this.sizes(template), expected),
    );
  }

  override async pods(subset?: string): Promise<Item[]> {
    const labels = subset === undefined ? `case=${this.name}` : `case=${this.name},${SUBSET}=${subset}`;
    // A kubelet that hears of its node's new label after the scheduler refuses the pod, which has failed then.
    return (await this.world.list("pods", labels)).filter(
      (pod) => !isGoing(pod) && phaseOf(pod) !== "Failed",
    );
  }

  async revisions(): Promise<Item[]> {
    const all = await this.world.revisions();
    return all
      .filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ name, kind }) => name === this.name && kind === this.kind),
      )
      .sort((a, b) => (a.revision ?? 0) - (b.revision ?? 0));
  }

  /** `.status` of one subset. */
  async subset(name: string): Promise<Record<string, unknown>> {
    const all = records((await this.status())["subsetStatuses"]);
    const found = all.find((each) => each["name"] === name);
    assert.ok(found, `no status of subset ${name}`);
    return found;
  }
}
