/** A client over a map, for tests of what keeps objects in the cluster: preconditions, merge patches, watches. */
import {
  applyMergePatch,
  cloneJson,
  isJsonObject,
  type JsonObject,
  keyOf,
  type ObjectRef,
} from "../../kube/core/index.ts";
import {
  type Client,
  KubeError,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from "../../kube/index.ts";

interface MemoryClient extends Client {
  /** By plural and key. Writing here is another's write. */
  readonly objects: Map<string, JsonObject>;
  /** Verb and plural of each call that writes. */
  readonly writes: string[];
  /** Wakes the watches, as another's write would. */
  touch(plural: string, ref: ObjectRef): void;
}

function asJson(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Only `metadata.name=…` is known. */
function selected(fieldSelector: string | undefined, object: JsonObject): boolean {
  return (
    fieldSelector === undefined ||
    fieldSelector === `metadata.name=${String(asJson(object["metadata"])["name"])}`
  );
}

export function memoryClient(): MemoryClient {
  const objects = new Map<string, JsonObject>();
  const writes: string[] = [];
  const watchers = new Set<(plural: string, object: JsonObject) => void>();
  let version = 0;
  const id = (plural: string, ref: ObjectRef) => `${plural}/${keyOf(ref)}`;
  const decode = <T>(resource: Resource<T>, object: JsonObject): T =>
    resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
  const metadataOf = (object: JsonObject): JsonObject =>
    isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const store = (plural: string, ref: ObjectRef, object: JsonObject): JsonObject => {
    const stored = cloneJson({
      ...object,
      metadata: { ...metadataOf(object), ...ref, resourceVersion: String(++version) },
    });
    objects.set(id(plural, ref), stored);
    for (const watcher of watchers) watcher(plural, stored);
    return stored;
  };
  const found = (plural: string, ref: ObjectRef): JsonObject => {
    const object = objects.get(id(plural, ref));
    if (object === undefined)
      throw new KubeError("NotFound", `${plural} "${ref.name}" not found`, { status: 404 });
    return object;
  };
  const checkVersion = (present: JsonObject, wanted: unknown): void => {
    if (wanted !== undefined && wanted !== metadataOf(present)["resourceVersion"]) {
      throw new KubeError("Conflict", "the object has been modified", { status: 409 });
    }
  };
  const unused = (name: string) => () =>
    Promise.reject(new KubeError("MethodNotAllowed", `${name} is not kept in memory`));

  return {
    objects,
    writes,
    touch: (plural, ref) => void store(plural, ref, found(plural, ref)),
    async get(resource, ref) {
      return decode(resource, found(resource.plural, ref));
    },
    async create(resource, namespace, body) {
      const object = asJson(body);
      const name = String(metadataOf(object)["name"]);
      const ref = namespace === undefined ? { name } : { namespace, name };
      writes.push(`create ${resource.plural}`);
      if (objects.has(id(resource.plural, ref))) {
        throw new KubeError("AlreadyExists", `${resource.plural} "${name}" already exists`, { status: 409 });
      }
      return decode(resource, store(resource.plural, ref, object));
    },
    async replace(resource, ref, body) {
      const object = asJson(body);
      writes.push(`replace ${resource.plural}`);
      checkVersion(found(resource.plural, ref), metadataOf(object)["resourceVersion"]);
      return decode(resource, store(resource.plural, ref, object));
    },
    async patch(resource, ref, patch) {
      if (patch.type !== "merge")
        throw new KubeError("UnsupportedMediaType", "only merge patches are kept in memory");
      const body = asJson(patch.body);
      const present = found(resource.plural, ref);
      writes.push(`patch ${resource.plural}`);
      checkVersion(present, metadataOf(body)["resourceVersion"]);
      return decode(resource, store(resource.plural, ref, applyMergePatch(present, body)));
    },
    async watch<T>(resource: Resource<T>, { signal, fieldSelector }: WatchOptions) {
      const waiting: WatchEvent<T>[] = [];
      let wake: (() => void) | undefined;
      const watcher = (plural: string, object: JsonObject) => {
        if (plural !== resource.plural || !selected(fieldSelector, object)) return;
        waiting.push({ type: "MODIFIED", object: decode(resource, object) });
        wake?.();
      };
      watchers.add(watcher);
      signal.addEventListener("abort", () => wake?.());
      async function* stream(): AsyncGenerator<readonly WatchEvent<T>[]> {
        while (!signal.aborted) {
          if (waiting.length > 0) yield waiting.splice(0);
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
        watchers.delete(watcher);
      }
      return stream();
    },
    async list(resource) {
      const prefix = `${resource.plural}/`;
      const items = [...objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([, object]) => decode(resource, object));
      return { items, resourceVersion: String(version), continue: "", undecodable: [] };
    },
    delete: unused("delete"),
    request: unused("request"),
    close: async () => undefined,
  };
}
