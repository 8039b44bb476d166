/**
 * Writes the ledgers of WorkloadSpreads: one write at a time for each object, on the version that it was decided on. What
 * arrives shortly after another one or during a write goes into the next one together, so that many pods at once cost few
 * writes. Spec: workloadspread 4.1 rules 6 and 9, 4.2.
 */
import type { WorkloadSpread, WorkloadSpreadStatus } from "../../../crds/index.ts";
import { diffPositional, type ObjectRef } from "../../../kube/core/index.ts";
import {
  type Cache,
  ignoreNotFound,
  isKubeError,
  KubeError,
  podResource,
  type ReadingClient,
} from "../../../kube/index.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import type { PodGuardDeps } from "../../runtime/admission/pod_admission.ts";
import { type LedgerEntry, needsSize, type Recorded, record } from "./ledger.ts";

const ATTEMPTS = 4;
/** Before the second attempt; five times as long before each further one. Milliseconds. */
const FIRST_WAIT_MS = 10;
const WAIT_FACTOR = 5;
/** A write waits until no further pod has come for so long: whoever makes pods makes several at a time. Milliseconds. */
const GATHERING_MS = 5;
const LONGEST_GATHERING_MS = 25;

export interface LedgerDeps extends Pick<PodGuardDeps, "writesFor" | "clock" | "random"> {
  readonly client: Pick<ReadingClient, "get">;
  readonly spreads: Pick<Cache<WorkloadSpread>, "get" | "writeBack">;
  /** How many pods the workload of the object wants; -1 for unknown. */
  sizeOf(spread: WorkloadSpread): Promise<number>;
}

interface Waiting {
  readonly entry: LedgerEntry;
  readonly done: (subset: string | undefined) => void;
  readonly failed: (error: unknown) => void;
}

function conflictOf(key: string, cause: KubeError): KubeError {
  const what = `WorkloadSpread ${key} was changed by others during each of ${ATTEMPTS} attempts to record a pod in it`;
  return new KubeError("Conflict", `${what}; try again (${cause.message})`, { cause });
}

function answer(batch: readonly Waiting[], subsets: readonly (string | undefined)[]): void {
  for (const [index, { done }] of batch.entries()) done(subsets[index]);
}

export class Ledgers {
  readonly #deps: LedgerDeps;
  /** What waits for the next write, by the object's key; an object without a write in flight or being gathered has no entry. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** The subset of the entry's pod once that is stored; undefined for none. Throws KubeError, `Conflict` after four attempts. */
  record({ metadata }: WorkloadSpread, entry: LedgerEntry): Promise<string | undefined> {
    const { namespace = "", name = "" } = metadata;
    const key = `${namespace}/${name}`;
    return new Promise((done, failed) => {
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push({ entry, done, failed });
        return;
      }
      this.#waiting.set(key, [{ entry, done, failed }]);
      void this.#writeAll(key, { namespace, name });
    });
  }

  async #writeAll(key: string, ref: ObjectRef): Promise<void> {
    for (;;) {
      await this.#gathered(key);
      const batch = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, []);
      try {
        await this.#write(key, ref, batch);
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
      if (this.#waiting.get(key)?.length === 0) break;
    }
    this.#waiting.delete(key);
  }

  async #gathered(key: string): Promise<void> {
    const count = () => this.#waiting.get(key)?.length ?? 0;
    for (let waited = 0; waited < LONGEST_GATHERING_MS; waited += GATHERING_MS) {
      const before = count();
      await this.#deps.clock.sleep(GATHERING_MS);
      if (count() === before) return;
    }
  }

  /** Tells where each pod of the batch goes; nowhere when the object is gone. */
  async #write(key: string, ref: ObjectRef, batch: readonly Waiting[]): Promise<void> {
    const { spreads, clock, random } = this.#deps;
    const held = spreads.get(key);
    let spread = held ?? (await this.#newest(ref));
    let isNewest = held === undefined;
    let left = batch;
    for (let attempt = 1; spread !== undefined && left.length > 0; ) {
      const { subsets, status } = await this.#decide(spread, left);
      if (status !== undefined) {
        try {
          return answer(left, (await this.#store(spread, status)) ? subsets : []);
        } catch (error) {
          // Servers answer a test that fails with Invalid.
          if (!isKubeError(error, "Conflict", "Invalid")) throw error;
          if (attempt === ATTEMPTS) throw conflictOf(key, error);
        }
        await clock.sleep(FIRST_WAIT_MS * WAIT_FACTOR ** (attempt - 1) * (1 + random()));
        attempt++;
      } else if (isNewest) return answer(left, subsets);
      // A write is refused where the version is not the newest. A decision without one needs the newest from the start.
      const seen = spreads.get(key);
      // What was faster is in the cache by now, more often than not.
      const isSeen =
        status !== undefined && seen?.metadata.resourceVersion !== spread.metadata.resourceVersion;
      spread = isSeen ? seen : await this.#newest(ref);
      isNewest = !isSeen;
      // Looked at after that version was read: what is counted as gone from then on makes another one.
      if (attempt > 1) left = await this.#stillThere(ref, left);
    }
    answer(left, []);
  }

  /**
   * Without deletions of pods that are gone. The write that was refused, whose answer was lost maybe, or another request about the same pod
   * was recorded, and the pod has been counted as gone: its place would be given away twice.
   */
  async #stillThere({ namespace }: ObjectRef, batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    const { client } = this.#deps;
    const areThere = await Promise.all(
      batch.map(async ({ entry }) => {
        if (entry.type === "creation") return true;
        const ref = { namespace, name: entry.pod };
        const pod = await client.get(podResource, ref, { priority: "high" }).catch(ignoreNotFound);
        return pod?.uid === entry.uid;
      }),
    );
    answer(
      batch.filter((_, index) => !areThere[index]),
      [],
    );
    return batch.filter((_, index) => areThere[index]);
  }

  async #decide(spread: WorkloadSpread, batch: readonly Waiting[]): Promise<Recorded> {
    const { clock, sizeOf } = this.#deps;
    const entries = batch.map(({ entry }) => entry);
    const isSizeNeeded = entries.some((entry) => needsSize(spread, entry));
    return record(spread, entries, isSizeNeeded ? await sizeOf(spread) : -1, clock.now());
  }

  /** False when there is no such object any more. */
  async #store({ metadata, status }: WorkloadSpread, next: WorkloadSpreadStatus): Promise<boolean> {
    const { writesFor, spreads } = this.#deps;
    // A merge would replace the lists of subsets as a whole, with all pods that are on their way.
    const body = [
      { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion } as const,
      ...diffPositional({ status }, { status: next }),
    ];
    // Pods wait for it.
    const options = { subresource: "status", priority: "high" } as const;
    const { namespace = "", name = "" } = metadata;
    const ref = { namespace, name };
    const written = await writesFor({ namespace })
      .patch(workloadSpreadResource, ref, { type: "json", body }, options)
      .catch(ignoreNotFound);
    if (written !== undefined) spreads.writeBack(written);
    return written !== undefined;
  }

  async #newest(ref: ObjectRef): Promise<WorkloadSpread | undefined> {
    const { client, spreads } = this.#deps;
    const spread = await client.get(workloadSpreadResource, ref, { priority: "high" }).catch(ignoreNotFound);
    if (spread === undefined || spread.metadata.deletionTimestamp !== undefined) return undefined;
    spreads.writeBack(spread);
    return spread;
  }
}
