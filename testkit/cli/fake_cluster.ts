import { type AnyObject, numberAt, toAnyObject } from "../../cli/fields.ts";
import { applyJsonPatch, applyMergePatch, parseFieldSelector, parseSelector } from "../../kube/core/index.ts";
import {
  type Client,
  type Codec,
  KubeError,
  type Patch,
  type Resource,
  type WatchEvent,
} from "../../kube/index.ts";

interface ServedType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
  readonly namespaced?: boolean;
}

const servedTypes: readonly ServedType[] = [
  { group: "", version: "v1", plural: "pods", kind: "Pod", shortNames: ["po"] },
  { group: "", version: "v1", plural: "services", kind: "Service", shortNames: ["svc"] },
  { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false },
  {
    group: "",
    version: "v1",
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
  },
  { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", shortNames: ["deploy"] },
  { group: "apps", version: "v1", plural: "statefulsets", kind: "StatefulSet", shortNames: ["sts"] },
  { group: "apps", version: "v1", plural: "daemonsets", kind: "DaemonSet", shortNames: ["ds"] },
  { group: "apps", version: "v1", plural: "replicasets", kind: "ReplicaSet", shortNames: ["rs"] },
  { group: "apps", version: "v1", plural: "controllerrevisions", kind: "ControllerRevision" },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "clonesets",
    kind: "CloneSet",
    shortNames: ["clone"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "statefulsets",
    kind: "StatefulSet",
    shortNames: ["asts"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "daemonsets",
    kind: "DaemonSet",
    shortNames: ["ads"],
  },
  {
    group: "apps.kruise.io",
    version: "v1alpha1",
    plural: "clonesets",
    kind: "CloneSet",
    shortNames: ["clone"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "containerrecreaterequests",
    kind: "ContainerRecreateRequest",
    shortNames: ["crr"],
  },
  { group: "batch", version: "v1", plural: "jobs", kind: "Job" },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "broadcastjobs",
    kind: "BroadcastJob",
    shortNames: ["bcj"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "advancedcronjobs",
    kind: "AdvancedCronJob",
    shortNames: ["acj"],
  },
];

/** Objects in memory, one form for all versions: what commands send and how they read is tested, not the server. */
export class FakeCluster {
  readonly #objects = new Map<string, AnyObject>();
  readonly #watchers = new Set<(event: WatchEvent<AnyObject>) => void>();
  #version = 100;
  /** Patches as they came, newest last. */
  readonly patches: { plural: string; name: string; patch: Patch; subresource?: string }[] = [];

  put(plural: string, object: AnyObject): void {
    const key = keyIn(plural, object.metadata.namespace, object.metadata.name);
    const isNew = !this.#objects.has(key);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.#objects.set(key, stored);
    for (const tell of this.#watchers) tell({ type: isNew ? "ADDED" : "MODIFIED", object: stored });
  }

  read(plural: string, name: string, namespace = "default"): AnyObject {
    const found = this.#objects.get(keyIn(plural, namespace, name));
    if (found === undefined) {
      throw new KubeError("NotFound", `${plural} "${name}" not found`, { status: 404, reason: "NotFound" });
    }
    return found;
  }

  remove(plural: string, name: string, namespace = "default"): void {
    const object = this.read(plural, name, namespace);
    this.#objects.delete(keyIn(plural, namespace, name));
    for (const tell of this.#watchers) tell({ type: "DELETED", object });
  }

  client(): Client {
    return {
      get: async (resource, ref, options) => {
        const found = this.read(pluralOf(resource), ref.name, ref.namespace ?? "");
        return decoded(resource.codec, options?.subresource === "scale" ? scaleOf(found) : found);
      },
      list: async (resource, options) => {
        const items = this.#select(pluralOf(resource), options);
        return {
          items: items.map((item) => decoded(resource.codec, item)),
          resourceVersion: "1",
          continue: "",
          undecodable: [],
        };
      },
      create: async (resource, namespace, body) => {
        const metadata = { namespace, ...toAnyObject(body).metadata };
        this.put(pluralOf(resource), { ...toAnyObject(body), metadata });
        return decoded(resource.codec, this.read(pluralOf(resource), metadata.name ?? "", namespace));
      },
      replace: () => Promise.reject(new Error("commands never replace")),
      patch: async (resource, ref, patch, options) => {
        const written = this.#patch(pluralOf(resource), ref.name, ref.namespace ?? "", patch, options);
        return decoded(resource.codec, options?.subresource === "scale" ? scaleOf(written) : written);
      },
      delete: async (resource, ref) => {
        this.remove(pluralOf(resource), ref.name, ref.namespace);
        return undefined;
      },
      watch: async (resource, options) => this.#watch(resource, options.signal),
      request: async (_method, path) => discovery(path),
      close: async () => undefined,
    };
  }

  #select(
    plural: string,
    options?: { namespace?: string; labelSelector?: string; fieldSelector?: string },
  ): AnyObject[] {
    const selector = parseSelector(options?.labelSelector ?? "");
    const fields = parseFieldSelector(options?.fieldSelector ?? "");
    const found: AnyObject[] = [];
    for (const [key, object] of this.#objects) {
      if (!key.startsWith(`${plural}|${options?.namespace ?? ""}`)) continue;
      if (!selector.matches(object.metadata.labels ?? {}) || fields.requirements.length > 0) continue;
      found.push(object);
    }
    return found;
  }

  #patch(
    plural: string,
    name: string,
    namespace: string,
    patch: Patch,
    options?: { subresource?: string; dryRun?: boolean },
  ): AnyObject {
    const before = this.read(plural, name, namespace);
    const subresource = options?.subresource;
    this.patches.push({ plural, name, patch, ...(subresource === undefined ? {} : { subresource }) });
    if (patch.type !== "json" && patch.type !== "merge") throw new Error(`no ${patch.type} patches here`);
    const changed =
      patch.type === "json" ? applyJsonPatch(before, patch.body) : applyMergePatch(before, patch.body);
    const after = toAnyObject(changed);
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion) {
      const message = `the object has been modified; please apply your changes to the latest version and try again`;
      throw new KubeError("Conflict", message, { status: 409, reason: "Conflict" });
    }
    if (options?.dryRun !== true) this.put(plural, after);
    return options?.dryRun === true ? after : this.read(plural, name, namespace);
  }

  async *#watch<T>(resource: Resource<T>, signal: AbortSignal): AsyncGenerator<readonly WatchEvent<T>[]> {
    const waiting: WatchEvent<AnyObject>[] = [];
    let wake: () => void = () => undefined;
    const tell = (event: WatchEvent<AnyObject>): void => {
      waiting.push(event);
      wake();
    };
    this.#watchers.add(tell);
    signal.addEventListener("abort", () => wake(), { once: true });
    try {
      while (!signal.aborted) {
        const event = waiting.shift();
        if (event === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else if ("object" in event) yield [{ ...event, object: decoded(resource.codec, event.object) }];
      }
    } finally {
      this.#watchers.delete(tell);
    }
  }
}

const pluralOf = (resource: { group: string; plural: string }): string =>
  resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;

const keyIn = (plural: string, namespace = "", name = ""): string => `${plural}|${namespace}|${name}`;

/** Through bytes, as over the network: a codec that loses something is found out. */
function decoded<T>(codec: Codec<T>, object: object): T {
  return codec.decode(new TextEncoder().encode(JSON.stringify(object)), "application/json");
}

function scaleOf(object: AnyObject): AnyObject {
  const { name, namespace, resourceVersion } = object.metadata;
  const metadata = { name, namespace, resourceVersion };
  return toAnyObject({
    kind: "Scale",
    metadata,
    spec: { replicas: numberAt(object, "spec", "replicas") ?? 0 },
  });
}

function discovery(path: string): unknown {
  if (path === "/apis") {
    const names = [...new Set(servedTypes.map((type) => type.group))].filter((group) => group !== "");
    return {
      groups: names.map((name) => {
        const versions = [
          ...new Set(servedTypes.filter((type) => type.group === name).map((type) => type.version)),
        ];
        return {
          name,
          versions: versions.map((version) => ({ version })),
          preferredVersion: { version: versions[0] },
        };
      }),
    };
  }
  const [, root = "", ...parts] = path.split("/");
  const [group, version] = root === "api" ? ["", parts[0]] : parts;
  const types = servedTypes.filter((type) => type.group === group && type.version === version);
  if (types.length === 0)
    throw new KubeError("NotFound", "the server could not find the requested resource", { status: 404 });
  return {
    resources: types.map(({ plural, kind, shortNames = [], namespaced = true }) => ({
      name: plural,
      singularName: kind.toLowerCase(),
      kind,
      shortNames,
      namespaced,
    })),
  };
}
