/** For tests of what selects pods: a server in memory with watches limited by selectors. */
import { applyStrategicPatch, type JsonObject, type Labels, parseSelector } from "../../kube/core/index.ts";
import {
  type Client,
  KubeError,
  type Pod,
  podResource,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from "../../kube/index.ts";

interface PodManifest extends JsonObject {
  metadata: { name: string; namespace: string; uid: string; labels: Labels; resourceVersion?: string };
}

export interface PodPatch {
  readonly name: string;
  readonly subresource: string;
  readonly body: object;
}

/**
 * A server that has only pods; watches see what their selection matches, as a real one's do. Strategic patches are
 * carried out unless `refuse` answers one with an error.
 */
export function podServer(refuse: (patch: PodPatch) => KubeError | undefined = () => undefined) {
  const pods = new Map<string, PodManifest>();
  const watches = new Set<{
    options: WatchOptions;
    send(type: "ADDED" | "MODIFIED" | "DELETED", pod: PodManifest): void;
  }>();
  const opened: string[] = [];
  const patches: PodPatch[] = [];
  let version = 0;
  const matches = (options: WatchOptions, pod: PodManifest | undefined): pod is PodManifest =>
    pod !== undefined &&
    (options.namespace ?? pod.metadata.namespace) === pod.metadata.namespace &&
    parseSelector(options.labelSelector ?? "").matches(pod.metadata.labels);
  const store = (pod: PodManifest): PodManifest => {
    const before = pods.get(pod.metadata.name);
    const stored = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(++version) } };
    pods.set(pod.metadata.name, stored);
    for (const { options, send } of watches) {
      const was = matches(options, before);
      if (matches(options, stored)) send(was ? "MODIFIED" : "ADDED", stored);
      else if (was) send("DELETED", stored);
    }
    return stored;
  };
  const none = () =>
    Promise.reject(new KubeError("MethodNotAllowed", "only watches and patches are served here"));
  const client: Client = {
    get: none,
    list: none,
    create: none,
    replace: none,
    async patch(resource, { name }, { type, body }, { subresource = "" } = {}) {
      const patch = { name, subresource, body };
      const before = pods.get(name);
      if (before === undefined || type !== "strategic") throw new KubeError("NotFound", `no pod ${name}`);
      const refusal = refuse(patch);
      if (refusal !== undefined) throw refusal;
      patches.push(patch);
      const after = applyStrategicPatch(before, body, "Pod");
      return decoded(resource, store({ ...after, metadata: { ...before.metadata, ...metadataOf(after) } }));
    },
    delete: none,
    request: none,
    close: () => Promise.resolve(),
    async watch<T>(resource: Resource<T>, options: WatchOptions) {
      const waiting: WatchEvent<T>[] = [];
      let wake = (): void => undefined;
      const entry = {
        options,
        send(type: "ADDED" | "MODIFIED" | "DELETED", pod: PodManifest) {
          waiting.push({ type, object: decoded(resource, pod) });
          wake();
        },
      };
      watches.add(entry);
      const { namespace = "*", labelSelector = "", fieldSelector = "" } = options;
      opened.push([namespace, labelSelector, fieldSelector].join("|"));
      for (const pod of pods.values()) if (matches(options, pod)) entry.send("ADDED", pod);
      waiting.push({ type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd: true });
      options.signal.addEventListener("abort", () => {
        watches.delete(entry);
        wake();
      });
      async function* stream(): AsyncGenerator<readonly WatchEvent<T>[]> {
        while (!options.signal.aborted) {
          if (waiting.length > 0) yield waiting.splice(0);
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      }
      return stream();
    },
  };
  return {
    client,
    opened,
    watches,
    patches,
    put: (pod: PodManifest): Pod => decoded(podResource, store(pod)),
  };
}

function decoded<T>(resource: Resource<T>, pod: PodManifest): T {
  const body = JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod });
  return resource.codec.decode(Buffer.from(body), "application/json");
}

function metadataOf(object: JsonObject): object {
  return Object(object["metadata"]);
}

export const pod = (name: string, labels: Labels, more: JsonObject = {}): PodManifest => ({
  metadata: { name, namespace: "ns", uid: `uid-${name}`, labels },
  ...more,
});
