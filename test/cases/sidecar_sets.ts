/** SidecarSets of the suites: of one namespace each, since all share a cluster; gone at the end of their suite. */
import assert from "node:assert/strict";
import type { Container, Item } from "../cluster/api.ts";
import { Handle } from "./handle.ts";
import { member, statusOf } from "./items.ts";
import { type PodShape, podOf } from "./manifests.ts";
import type { World } from "./world.ts";

const customVersionLabel = "apps.kruise.io/sidecarset-custom-version";

/** An image of a registry that never answers. */
export const badImage = "registry.invalid/busybox:1.33";

export interface SetSpec {
  readonly selector: { readonly matchLabels: Record<string, string> };
  readonly [other: string]: unknown;
}

export class Sidecars extends Handle {
  protected override readonly eventNamespace = "default";

  constructor(world: World, name: string) {
    super(world, "SidecarSet", `${name}-${world.namespace}`);
  }

  /** Creates the set for the pods of this namespace, runs once they are injected, and removes it however that ends. */
  async during(spec: SetSpec, work: () => Promise<void>, metadata: object = {}): Promise<void> {
    await this.apply({ ...inNamespace(this.world), ...spec }, metadata);
    try {
      await this.admitted(spec.selector.matchLabels);
      await work();
    } finally {
      if ((await this.find()) !== undefined) await this.remove();
    }
  }

  /** A pod as it would be stored. Webhooks hear of a set by their watch, so that the first pods may lack it. */
  async admitted(labels: Record<string, string>, shape: PodShape = {}): Promise<Item> {
    const { api, namespace } = this.world;
    const send = () => api.create(podOf("tried", { ...shape, labels }), namespace, "?dryRun=All");
    const probe = async () => {
      const list = (await send()).metadata.annotations?.["kruise.io/sidecarset-injected-list"];
      assert.ok(list?.split(",").includes(this.name), `injected: ${list}`);
    };
    await this.world.until(`${this.name} is injected`, probe, { stableMs: 0 });
    return send();
  }

  strategy(fields: object): Promise<Item> {
    return this.mergeSpec({ updateStrategy: fields });
  }

  toImage(image: string, index = 0): Promise<Item> {
    return this.patch("json", [{ op: "replace", path: `/spec/containers/${index}/image`, value: image }]);
  }

  /** One patch: a version is known by its name as soon as its image is there. */
  toNamedVersion(customVersion: string, image: string): Promise<Item> {
    const named =
      this.world.version === "v1alpha1"
        ? { op: "add", path: "/metadata/labels", value: { [customVersionLabel]: customVersion } }
        : { op: "add", path: "/spec/customVersion", value: customVersion };
    return this.patch("json", [{ op: "replace", path: "/spec/containers/0/image", value: image }, named]);
  }

  /** Its revisions, oldest first. */
  async revisions(): Promise<Item[]> {
    const all = await this.world.api.list("controllerrevisions", "kruise-system");
    return all
      .filter(({ metadata }) => metadata.labels?.["kruise.io/sidecarset-name"] === this.name)
      .sort((a, b) => (a.revision ?? 0) - (b.revision ?? 0));
  }

  /** The revision that carries the name of the version. */
  async untilVersion(customVersion: string): Promise<string> {
    const find = async () =>
      (await this.revisions()).find(
        ({ metadata }) => metadata.labels?.[customVersionLabel] === customVersion,
      );
    await this.world.until(`the revision of ${customVersion}`, async () => assert.ok(await find()));
    return (await find())?.metadata.name ?? "";
  }

  /** What the pod says that it has of this set. */
  entryOf({ metadata }: Item): Record<string, unknown> {
    return member(JSON.parse(metadata.annotations?.["kruise.io/sidecarset-hash"] ?? "{}"), this.name) ?? {};
  }
}

function inNamespace({ version, namespace }: World): object {
  return version === "v1alpha1"
    ? { namespace }
    : { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
}

/** By container, `<image> <restarts>`. */
export function runsOf(pod: Item): Record<string, string> {
  return Object.fromEntries(
    (pod.spec?.containers ?? []).map(({ name, image }) => {
      return [name, `${image} ${statusOf(pod, name)?.restartCount ?? "?"}`];
    }),
  );
}

/** Names of its containers, or whether all of them are ready: `2/2`. */
export function readyOf(pod: Item): string {
  const statuses = pod.status?.containerStatuses ?? [];
  return `${statuses.filter(({ ready }) => ready).length}/${pod.spec?.containers?.length ?? 0}`;
}

export function containerOf(pod: Item, name: string): Container {
  const found = pod.spec?.containers?.find((one) => one.name === name);
  assert.ok(found !== undefined, `${pod.metadata.name} has the container ${name}`);
  return found;
}
