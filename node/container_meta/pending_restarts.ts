/** Containers that are to be stopped for a new environment, once no kubelet can start them with the old one any more. */

/**
 * For how long a pod has asked for its new environment before a container is stopped for it. A pod worker of the kubelet
 * takes the pod as it is, then waits for a look at the runtime that is newer than its last sync, and starts what that look
 * shows as ended: with the pod that it took before the wait. Looks are a second apart, and each takes time; the kubelet
 * itself counts on 2 s (podWorkerLoop in pod_workers.go, genericPlegRelistPeriod). A worker that took the pod without the
 * new metadata has done with it by then, and nothing reports when: a generation counts changes of the spec alone.
 */
export const staleSyncMs = 2_000;

interface PendingRestart {
  readonly podKey: string;
  readonly name: string;
  /** Hash of the environment that the container is to have. */
  readonly wanted: number;
  /** When the pod was first seen to ask for that one, by the monotonic clock. */
  readonly since: number;
}

export class PendingRestarts {
  readonly #byContainer = new Map<string, PendingRestart>();

  get(containerId: string): PendingRestart | undefined {
    return this.#byContainer.get(containerId);
  }

  delete(containerId: string): void {
    this.#byContainer.delete(containerId);
  }

  /** Milliseconds until the container may be stopped. They begin again when the pod asks for yet another environment. */
  ask(containerId: string, asked: Omit<PendingRestart, "since">, monotonicMs: number): number {
    const before = this.#byContainer.get(containerId);
    const since = before?.wanted === asked.wanted ? before.since : monotonicMs;
    this.#byContainer.set(containerId, { ...asked, since });
    return Math.max(0, since + staleSyncMs - monotonicMs);
  }
}
