/** The pods of one workload as they change, in order of their names. */
import { type Client, type Clock, isKubeError } from "../../kube/index.ts";
import type { AnyObject } from "../fields.ts";
import { builtinType } from "../install/apply.ts";
import { objectResource } from "../resource_types.ts";
import { type PodView, podView } from "./pod_view.ts";

const resource = objectResource(builtinType({ apiVersion: "v1", kind: "Pod" }));

export interface PodTrackerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly signal: AbortSignal;
}

export class PodTracker {
  readonly #options: PodTrackerOptions;
  readonly #pods = new Map<string, PodView>();
  #listener: () => void = () => undefined;

  constructor(options: PodTrackerOptions) {
    this.#options = options;
  }

  get pods(): PodView[] {
    return [...this.#pods.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Follows the pods until the signal aborts; a broken watch is opened again. Throws what is not of the network. */
  async run(): Promise<void> {
    const { signal, clock } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#follow(await this.#list());
      } catch (error) {
        if (signal.aborted) return;
        if (!isKubeError(error, "Gone", "Network", "Timeout", "Unavailable", "ServerError")) throw error;
      }
      await clock.sleep(200, signal).catch(() => undefined);
    }
  }

  /** Resolves when `isDone` holds for the pods; `onChange` sees every state on the way. */
  until(
    isDone: (pods: readonly PodView[]) => boolean,
    onChange: (pods: readonly PodView[]) => void,
  ): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const { pods } = this;
        onChange(pods);
        if (!isDone(pods)) return;
        this.#listener = () => undefined;
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) return stop();
      signal.addEventListener("abort", stop, { once: true });
      this.#listener = look;
      look();
    });
  }

  async #list(): Promise<string> {
    const { client, namespace, labelSelector } = this.#options;
    const page = await client.list(resource, { namespace, labelSelector });
    this.#pods.clear();
    for (const pod of page.items) this.#put(pod);
    this.#listener();
    return page.resourceVersion;
  }

  async #follow(resourceVersion: string): Promise<void> {
    const { client, namespace, labelSelector, signal } = this.#options;
    const stream = await client.watch(resource, {
      namespace,
      labelSelector,
      resourceVersion,
      signal,
    });
    for await (const batch of stream) {
      for (const event of batch) {
        if (event.type === "ERROR") return;
        if (event.type === "DELETED") this.#pods.delete(event.object.metadata.name ?? "");
        if (event.type === "ADDED" || event.type === "MODIFIED") this.#put(event.object);
      }
      this.#listener();
    }
  }

  #put(pod: AnyObject): void {
    this.#pods.set(pod.metadata.name ?? "", podView(pod));
  }
}
