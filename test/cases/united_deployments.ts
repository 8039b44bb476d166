/** UnitedDeployments for the suites: manifests, and what a suite asks of one. */
import assert from "node:assert/strict";
import { type Item, isRecord, type PatchType } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import type { WaitOptions, World } from "./world.ts";

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

/** One object of a world: its reads and writes in the world's version. */
export class United {
  readonly world: World;
  readonly name: string;
  readonly resource: string;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.resource = `uniteddeployments.${world.version}.apps.kruise.io`;
  }

  get(version: ApiVersion = this.world.version): Promise<Item> {
    return this.world.api.get(`uniteddeployments.${version}.apps.kruise.io`, this.name, this.world.namespace);
  }

  patch(type: PatchType, body: unknown): Promise<Item> {
    return this.world.patch(this.name, type, body, this.resource);
  }

  async scale(replicas: number): Promise<void> {
    const { api, namespace } = this.world;
    await api.patch(this.resource, this.name, namespace, "merge", { spec: { replicas } }, "scale");
  }

  /** `name DESIRED CURRENT UPDATED READY`. */
  untilRow(numbers: string, options: WaitOptions = {}): Promise<void> {
    const expected = `${this.name} ${numbers}`;
    const { world, resource } = this;
    return world.until(
      expected,
      async () => assert.equal(await world.observedRow(this.name, resource), expected),
      {
        timeoutMs: 120_000,
        ...options,
      },
    );
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

  async pods(subset?: string): Promise<Item[]> {
    const labels = subset === undefined ? `case=${this.name}` : `case=${this.name},${SUBSET}=${subset}`;
    const pods = await this.world.list("pods", labels);
    // A kubelet that hears of its node's new label after the scheduler refuses the pod, which has failed then.
    return pods.filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== "Failed",
    );
  }

  async images(): Promise<Record<string, string | undefined>> {
    const pods = await this.pods();
    return Object.fromEntries(
      pods.map((pod) => [pod.metadata.name, pod.spec?.containers?.[0]?.image?.split(":")[1]]),
    );
  }

  async revisions(): Promise<Item[]> {
    const all = await this.world.list("controllerrevisions.v1.apps");
    return all
      .filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ name, kind }) => name === this.name && kind === "UnitedDeployment"),
      )
      .sort((a, b) => (a.revision ?? 0) - (b.revision ?? 0));
  }

  events(reason?: string) {
    return this.world.events("UnitedDeployment", this.name, reason);
  }

  /** `.status` of one subset. */
  async subset(name: string): Promise<Record<string, unknown>> {
    const all = (await this.get()).status?.["subsetStatuses"];
    const found = (Array.isArray(all) ? all : []).filter(isRecord).find((each) => each["name"] === name);
    assert.ok(found, `no status of subset ${name}`);
    return found;
  }
}
