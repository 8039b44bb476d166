import type { Client } from "../../kube/index.ts";

/** The same client for a command that closes its own when it ends: closing this one does nothing. */
export function keptClient(client: Client): Client {
  return {
    get: (resource, ref, options) => client.get(resource, ref, options),
    list: (resource, options) => client.list(resource, options),
    create: (resource, namespace, body, options) => client.create(resource, namespace, body, options),
    replace: (resource, ref, body, options) => client.replace(resource, ref, body, options),
    patch: (resource, ref, patch, options) => client.patch(resource, ref, patch, options),
    delete: (resource, ref, options) => client.delete(resource, ref, options),
    watch: (resource, options) => client.watch(resource, options),
    request: (method, path, body, options) => client.request(method, path, body, options),
    stream: (path, signal) => client.stream(path, signal),
    close: async () => undefined,
  };
}
