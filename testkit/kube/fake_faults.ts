/** Faults of a server, put in between a client and its caller, by verb. */
import { type Client, type Clock, KubeError } from "../../kube/index.ts";

export type FaultyVerb =
  | "get"
  | "list"
  | "create"
  | "replace"
  | "patch"
  | "delete"
  | "watch"
  | "request"
  | "stream";

/** What happens around one call. Each part may throw or wait. */
export interface Fault {
  /** Before the server sees the request. */
  before?(): void | Promise<void>;
  /** After the server carried it out, before the caller hears of it. */
  after?(): void | Promise<void>;
}

/** Asked at each call of its verb, with the plural of the resource (or the path) and the object's name; undefined: no fault. */
export type FaultRule = (target: string, name: string) => Fault | undefined;

/** The client with faults put in, for example `withFaults(client, { patch: conflictOnce() })`. */
export function withFaults(client: Client, faults: Partial<Record<FaultyVerb, FaultRule>>): Client {
  const around = async <R>(
    verb: FaultyVerb,
    target: string,
    name: string,
    call: () => Promise<R>,
  ): Promise<R> => {
    const fault = faults[verb]?.(target, name);
    await fault?.before?.();
    const result = await call();
    await fault?.after?.();
    return result;
  };
  return {
    get: (resource, ref, options) =>
      around("get", resource.plural, ref.name, () => client.get(resource, ref, options)),
    list: (resource, options) => around("list", resource.plural, "", () => client.list(resource, options)),
    create: (resource, namespace, body, options) =>
      around("create", resource.plural, "", () => client.create(resource, namespace, body, options)),
    replace: (resource, ref, body, options) =>
      around("replace", resource.plural, ref.name, () => client.replace(resource, ref, body, options)),
    patch: (resource, ref, patch, options) =>
      around("patch", resource.plural, ref.name, () => client.patch(resource, ref, patch, options)),
    delete: (resource, ref, options) =>
      around("delete", resource.plural, ref.name, () => client.delete(resource, ref, options)),
    watch: (resource, options) => around("watch", resource.plural, "", () => client.watch(resource, options)),
    request: (method, path, body, options) =>
      around("request", path, method, () => client.request(method, path, body, options)),
    stream: (path, signal) => around("stream", path, "", () => client.stream(path, signal)),
    close: () => client.close(),
  };
}

function once(fault: Fault): FaultRule {
  let used = false;
  return () => {
    if (used) return undefined;
    used = true;
    return fault;
  };
}

/** The first call is refused with a conflict; the server does not see it. */
export function conflictOnce(): FaultRule {
  return once({
    before: () => {
      throw new KubeError("Conflict", "injected: the object has been modified", { status: 409 });
    },
  });
}

/** The connection of the first call breaks before the server acted. */
export function droppedBeforeOnce(): FaultRule {
  return once({
    before: () => {
      throw new KubeError("Network", "injected: connection refused");
    },
  });
}

/** The connection of the first call breaks after the server acted. */
export function droppedAfterOnce(): FaultRule {
  return once({
    after: () => {
      throw new KubeError("Network", "injected: connection reset", { ambiguous: true });
    },
  });
}

/** Every call takes `ms` longer. */
export function latency(clock: Clock, ms: number): FaultRule {
  return () => ({ before: () => clock.sleep(ms) });
}
