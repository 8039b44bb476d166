/**
 * A namespace that is being deleted takes no new objects, for as long as anything in it has a finalizer. The first refusal
 * is reported once; from then on creations there fail here, as the server would have them fail, until a watch of that
 * namespace says that it is gone. Whoever creates need not know: every way of trying again costs no request.
 */
import { Cache } from "./cache.ts";
import type { Client } from "./client_types.ts";
import type { Clock, Random } from "./clock.ts";
import { jsonResource } from "./codecs/json.ts";
import type { KubeObject } from "./core/types.ts";
import { isKubeError, type KubeError } from "./errors.ts";
import type { Log } from "./log.ts";
import { startInformer } from "./watch.ts";

interface TerminatingNamespacesDeps {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
}

const namespaceResource = jsonResource<KubeObject>({
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

interface Terminating {
  readonly refusal: KubeError;
  stop(): Promise<void>;
}

export class TerminatingNamespaces {
  /** As the one that was given, but for creations in such namespaces. Its user may list and watch namespaces. */
  readonly client: Client;
  readonly #deps: TerminatingNamespacesDeps;
  readonly #known = new Map<string, Terminating>();
  #stopped = false;

  constructor(deps: TerminatingNamespacesDeps) {
    this.#deps = deps;
    const { client } = deps;
    this.client = {
      get: (resource, ref, options) => client.get(resource, ref, options),
      list: (resource, options) => client.list(resource, options),
      create: (resource, namespace, body, options) =>
        this.#create(namespace, () => client.create(resource, namespace, body, options)),
      replace: (resource, ref, body, options) => client.replace(resource, ref, body, options),
      patch: (resource, ref, patch, options) => client.patch(resource, ref, patch, options),
      delete: (resource, ref, options) => client.delete(resource, ref, options),
      watch: (resource, options) => client.watch(resource, options),
      request: (method, path, body, options) => client.request(method, path, body, options),
      stream: (path, signal) => client.stream(path, signal),
      close: () => client.close(),
    };
  }

  /** Ends the watches. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const stopped = [...this.#known.values()].map((known) => known.stop());
    this.#known.clear();
    await Promise.all(stopped);
  }

  async #create<T>(namespace: string | undefined, send: () => Promise<T>): Promise<T> {
    const known = this.#known.get(namespace ?? "");
    if (known !== undefined) throw known.refusal;
    try {
      return await send();
    } catch (error) {
      if (namespace !== undefined && isKubeError(error, "NamespaceTerminating")) this.#note(namespace, error);
      throw error;
    }
  }

  #note(namespace: string, refusal: KubeError): void {
    if (this.#stopped || this.#known.has(namespace)) return;
    const { client, clock, random } = this.#deps;
    const log = this.#deps.log.with({ namespace });
    log.info("the namespace is being deleted; nothing is created there until it is gone");
    const cache = new Cache<KubeObject>({
      identify: (object) => namespaceResource.codec.identify(object),
    });
    const informer = startInformer({
      client,
      resource: namespaceResource,
      cache,
      clock,
      random,
      log,
      streamingList: false,
      fieldSelector: `metadata.name=${namespace}`,
    });
    this.#known.set(namespace, { refusal, stop: () => informer.stop() });
    const look = (): void => {
      // One of the same name that stays is another.
      if (cache.get(namespace)?.metadata.deletionTimestamp !== undefined) return;
      this.#known.delete(namespace);
      void informer.stop();
    };
    informer.synced.then(
      () => {
        cache.subscribe(look);
        look();
      },
      () => undefined,
    );
  }
}
