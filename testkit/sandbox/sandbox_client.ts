/** For tests: the smallest client of a sandbox's API, and waiting for what its store comes to hold. */
import { Agent, request } from "undici";
import { isJsonObject } from "../../kube/core/index.ts";
import type { StoredObject } from "../../sandbox/cluster.ts";
import type { Sandbox } from "../../sandbox/start.ts";

export interface Api {
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, body: object): Promise<Record<string, unknown>>;
  /** A merge patch, or a JSON patch when the body is a list. */
  patch(path: string, body: object): Promise<Record<string, unknown>>;
  delete(path: string, body?: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export function apiOf(sandbox: Sandbox): Api {
  const dispatcher = new Agent({
    connect: { ca: sandbox.caCert },
    allowH2: false,
    keepAliveMaxTimeout: 30_000,
  });
  const call = async (method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object) => {
    const type = method !== "PATCH" ? "json" : Array.isArray(body) ? "json-patch+json" : "merge-patch+json";
    const response = await request(`${sandbox.url}${path}`, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${sandbox.token}`, "content-type": `application/${type}` },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer: unknown = await response.body.json();
    if (!isJsonObject(answer)) throw new Error(`${method} ${path}: no object in the answer`);
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path}: ${response.statusCode} ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body),
    patch: (path, body) => call("PATCH", path, body),
    delete: (path, body) => call("DELETE", path, body),
    close: () => dispatcher.close(),
  };
}

/** Resolves when the store holds what is asked for; looks again after each change of the resource. */
export function reached(
  { cluster }: Sandbox,
  resource: string,
  condition: (objects: readonly StoredObject[]) => boolean,
  what: string,
): Promise<readonly StoredObject[]> {
  const limitMs = 20_000;
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const objects = [...cluster.list(resource)];
      if (!condition(objects)) return;
      finish();
      resolve(objects);
    };
    const limit = setTimeout(() => {
      finish();
      const state = JSON.stringify(
        [...cluster.list(resource)].map(({ metadata, status }) => [metadata.name, status]),
      );
      reject(new Error(`not reached: ${what}; ${resource}: ${state.slice(0, 2_000)}`));
    }, limitMs);
    // Looked at after the change's other listeners have had their turn.
    const unsubscribe = cluster.subscribe(resource, () => setImmediate(look));
    const finish = (): void => {
      clearTimeout(limit);
      unsubscribe();
    };
    look();
  });
}
