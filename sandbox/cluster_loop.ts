/** Base of the simulated controllers: work by key on one agenda, in answer to changes of the cluster. */
import type { Clock } from "../kube/core/index.ts";
import { type Agenda, createAgenda, type Next } from "./agenda.ts";
import type { Cluster, ClusterChange } from "./cluster.ts";

export interface LoopOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly onError: (error: unknown, key: string) => void;
}

export abstract class ClusterLoop<Options extends LoopOptions = LoopOptions> {
  protected readonly options: Options;
  protected readonly agenda: Agenda;
  readonly #unsubscribe: (() => void)[] = [];

  /** `batch` as the agenda's. */
  constructor(options: Options, batch?: number) {
    this.options = options;
    const { clock, onError } = options;
    const run = (key: string) => this.work(key);
    this.agenda = createAgenda({ clock, onError, run, ...(batch === undefined ? {} : { batch }) });
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.agenda.stop();
  }

  protected abstract work(key: string): Next | Promise<Next>;

  /** Calls `changed` for each change of a resource. */
  protected watch(resource: string, changed: (change: ClusterChange) => void): void {
    this.unsubscribeWith(this.options.cluster.subscribe(resource, changed));
  }

  protected follow(resource: string, changed: (change: ClusterChange) => void): void {
    this.unsubscribeWith(follow(this.options.cluster, resource, changed));
  }

  /** Calls `unsubscribe` when the loop stops. */
  protected unsubscribeWith(unsubscribe: () => void): void {
    this.#unsubscribe.push(unsubscribe);
  }
}

/** Calls `changed` for the objects that are there, as added, and then for each change; returns the unsubscriber. */
export function follow(
  cluster: Cluster,
  resource: string,
  changed: (change: ClusterChange) => void,
): () => void {
  const unsubscribe = cluster.subscribe(resource, changed);
  for (const object of cluster.list(resource)) changed({ type: "ADDED", object });
  return unsubscribe;
}
