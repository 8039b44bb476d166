import type { Client, RequestOptions } from "../kube/index.ts";

/** No answer is waited for longer than this; watches go on. 0 means no limit. */
export function withTimeout(client: Client, ms: number): Client {
  const timeoutMs = ms === 0 ? 2 ** 31 - 1 : ms;
  const limited = <T extends RequestOptions>(options: T | undefined) => ({ timeoutMs, ...options });
  return {
    get: (resource, ref, options) => client.get(resource, ref, limited(options)),
    list: (resource, options) => client.list(resource, limited(options)),
    create: (resource, namespace, body, options) =>
      client.create(resource, namespace, body, limited(options)),
    replace: (resource, ref, body, options) => client.replace(resource, ref, body, limited(options)),
    patch: (resource, ref, patch, options) => client.patch(resource, ref, patch, limited(options)),
    delete: (resource, ref, options) => client.delete(resource, ref, limited(options)),
    watch: (resource, options) => client.watch(resource, options),
    request: (method, path, body, options) => client.request(method, path, body, limited(options)),
    stream: (path, signal) => client.stream(path, signal),
    close: () => client.close(),
  };
}
