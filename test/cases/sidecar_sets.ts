/** SidecarSets of the suites: of one namespace each, since all share a cluster; gone at the end of their suite. */
import assert from "node:assert/strict";
import { type Container, type Item, isRecord, type PatchType } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import type { ApiVersion } from "./step_result.ts";
import type { EventSeen, WaitOptions, World } from "./world.ts";

const customVersionLabel = "apps.kruise.io/sidecarset-custom-version";

/** An image of a registry that never answers. */
export const badImage = "registry.invalid/busybox:1.33";

export interface SetSpec {
  readonly selector: { readonly matchLabels: Record<string, string> };
  readonly [other: string]: unknown;
}

export class Sidecars {
  readonly world: World;
  /** Of the set. */
  readonly name: string;
  readonly resource: string;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = `${name}-${world.namespace}`;
    this.resource = `sidecarsets.${world.version}.apps.kruise.io`;
  }

  /** Creates the set for the pods of this namespace, runs once they are injected, and removes it however that ends. */
  async during(spec: SetSpec, work: () => Promise<void>, metadata: object = {}): Promise<void> {
    await this.create(spec, metadata);
    try {
      await this.admitted(spec.selector.matchLabels);
      await work();
    } finally {
      await this.remove();
    }
  }

  create(spec: object, metadata: object = {}): Promise<Item> {
    const { version, namespace, api } = this.world;
    return api.create({
      apiVersion: `apps.kruise.io/${version}`,
      kind: "SidecarSet",
      metadata: { name: this.name, ...metadata },
      spec: { ...inNamespace(version, namespace), ...spec },
    });
  }

  /** A pod as it would be stored. Webhooks hear of a set by their watch, so that the first pods may lack it. */
  async admitted(labels: Record<string, string>, shape: PodShape = {}): Promise<Item> {
    const { api, namespace } = this.world;
    const send = () => api.create(podOf("tried", labels, shape), namespace, "?dryRun=All");
    const probe = async () => {
      const list = (await send()).metadata.annotations?.["kruise.io/sidecarset-injected-list"];
      assert.ok(list?.split(",").includes(this.name), `injected: ${list}`);
    };
    await this.world.until(`${this.name} is injected`, probe, { stableMs: 0 });
    return send();
  }

  async remove(): Promise<void> {
    const { api } = this.world;
    if ((await api.find(this.resource, this.name)) !== undefined) await api.remove(this.resource, this.name);
  }

  get(): Promise<Item> {
    return this.world.api.get(this.resource, this.name);
  }

  patch(type: PatchType, body: unknown): Promise<Item> {
    return this.world.api.patch(this.resource, this.name, undefined, type, body);
  }

  strategy(fields: object): Promise<Item> {
    return this.patch("merge", { spec: { updateStrategy: fields } });
  }

  toImage(image: string, index = 0): Promise<Item> {
    return this.patch("json", [{ op: "replace", path: `/spec/containers/${index}/image`, value: image }]);
  }

  /** MATCHED UPDATED READY, as printed. */
  async row(): Promise<string> {
    return (await this.world.row(this.name, { resource: this.resource })).slice(this.name.length + 1);
  }

  untilRow(expected: string, options: WaitOptions = {}): Promise<void> {
    const probe = async () => {
      const { metadata, status } = await this.get();
      assert.equal(status?.["observedGeneration"], metadata.generation, "observed");
      assert.equal(await this.row(), expected);
    };
    return this.world.until(`${this.name} ${expected}`, probe, options);
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
    let name = "";
    await this.world.until(`the revision of ${customVersion}`, async () => {
      const found = (await this.revisions()).find(
        ({ metadata }) => metadata.labels?.[customVersionLabel] === customVersion,
      );
      assert.ok(found !== undefined);
      name = found.metadata.name;
    });
    return name;
  }

  /** What the pod says that it has of this set. */
  entryOf({ metadata }: Item): Record<string, unknown> {
    const entries: unknown = JSON.parse(metadata.annotations?.["kruise.io/sidecarset-hash"] ?? "{}");
    const entry = isRecord(entries) ? entries[this.name] : undefined;
    return isRecord(entry) ? entry : {};
  }

  /** Events of objects without a namespace are in `default`. */
  async events(reason: string): Promise<EventSeen[]> {
    return this.world.events("SidecarSet", this.name, reason, "default");
  }
}

function inNamespace(version: ApiVersion, namespace: string): object {
  return version === "v1alpha1"
    ? { namespace }
    : { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
}

/** By container, `<image> <restarts>`. */
export function runsOf(pod: Item): Record<string, string> {
  return Object.fromEntries(
    (pod.spec?.containers ?? []).map(({ name, image }) => {
      const status = pod.status?.containerStatuses?.find((one) => one.name === name);
      return [name, `${image} ${status?.restartCount ?? "?"}`];
    }),
  );
}

export function isReadyPod(pod: Item): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

/** Names of its containers, or whether all of them are ready: `2/2`. */
export function readyOf(pod: Item): string {
  const statuses = pod.status?.containerStatuses ?? [];
  return `${statuses.filter(({ ready }) => ready).length}/${pod.spec?.containers?.length ?? 0}`;
}

export interface PodShape {
  /** Default: one, which is called `app`. */
  readonly containers?: readonly object[];
  readonly annotations?: Record<string, string>;
  readonly volumes?: readonly object[];
}

/** A pod without an owner. */
export function podOf(name: string, labels: Record<string, string>, shape: PodShape = {}): object {
  const { containers = [container("app", "nginx:1.20")], annotations = {}, volumes = [] } = shape;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, annotations },
    spec: { terminationGracePeriodSeconds: 1, containers, volumes },
  };
}

export function containerOf(pod: Item, name: string): Container {
  const found = pod.spec?.containers?.find((one) => one.name === name);
  assert.ok(found !== undefined, `${pod.metadata.name} has the container ${name}`);
  return found;
}
