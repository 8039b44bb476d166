/**
 * Every instance of a pod's containers with the times that the runtime stamped on it: when none ran, and when two did,
 * is then exact, however rarely anybody looked.
 */
import type { CriClient } from "../../agent/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import type { BenchIo } from "../io.ts";

/** Milliseconds since the Unix epoch, with fractions; Infinity for what has not happened. */
export interface Instance {
  readonly name: string;
  readonly attempt: number;
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** Often enough to see each instance before the kubelet removes it, when the one after the next has ended. */
const lookEveryMs = 50;

export class InstanceWatch {
  readonly #cri: CriClient;
  readonly #filter: { label_selector: Record<string, string> };
  readonly #stop = new AbortController();
  readonly #seen = new Map<string, Instance>();
  readonly #ended: Promise<void>;

  constructor(cri: CriClient, podUid: string, io: BenchIo) {
    this.#cri = cri;
    this.#filter = { label_selector: { "io.kubernetes.pod.uid": podUid } };
    this.#ended = this.#run(io);
    // The caller sees the failure when it stops the watch.
    this.#ended.catch(() => undefined);
  }

  /** With a last look. Rejects when the runtime did not answer. */
  async stop(): Promise<readonly Instance[]> {
    this.#stop.abort();
    await this.#ended;
    await this.look();
    return this.instances;
  }

  get instances(): readonly Instance[] {
    return [...this.#seen.values()];
  }

  async look(): Promise<void> {
    const { containers } = await this.#cri.call(methods.ListContainers, { filter: this.#filter });
    for (const { id, state, metadata, created_at } of containers) {
      const known = this.#seen.get(id);
      const running = state === ContainerState.CONTAINER_RUNNING;
      if (known && (known.finishedAt < Infinity || (running && known.startedAt < Infinity))) continue;
      const { status } = await this.#cri
        .call(methods.ContainerStatus, { container_id: id })
        .catch(() => ({ status: undefined }));
      this.#seen.set(id, {
        name: metadata?.name ?? "",
        attempt: metadata?.attempt ?? 0,
        createdAt: created_at / 1e6,
        startedAt: timeOf(status?.started_at),
        finishedAt: timeOf(status?.finished_at),
      });
    }
  }

  async #run(io: BenchIo): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.look();
      await io.clock.sleep(lookEveryMs, this.#stop.signal).catch(() => undefined);
    }
  }
}

function timeOf(nanoseconds: number | undefined): number {
  return nanoseconds === undefined || nanoseconds === 0 ? Number.POSITIVE_INFINITY : nanoseconds / 1e6;
}

/** Instances that ran, of one container, oldest first. */
function ran(instances: readonly Instance[], name: string): Instance[] {
  return instances
    .filter((one) => one.name === name && one.startedAt < Infinity)
    .sort((a, b) => a.startedAt - b.startedAt);
}

export function namesOf(instances: readonly Instance[]): string[] {
  return [...new Set(instances.map((one) => one.name))].sort();
}

/** One change from an instance to its successor. */
export interface Handover {
  readonly name: string;
  /** Milliseconds without a running instance; negative when two ran. */
  readonly gapMs: number;
  /** From the end of the old one until the new one was created, and from there until it ran. */
  readonly createMs: number;
  readonly startMs: number;
}

export function handovers(instances: readonly Instance[]): Handover[] {
  return namesOf(instances).flatMap((name) => {
    const ofName = ran(instances, name);
    return ofName.slice(1).map((next, index) => {
      const before = ofName[index]?.finishedAt ?? Number.NaN;
      return {
        name,
        gapMs: next.startedAt - before,
        createMs: next.createdAt - before,
        startMs: next.startedAt - next.createdAt,
      };
    });
  });
}

/** Two instances of one container that ran at the same time, as `name attempt attempt`. */
export function doubles(instances: readonly Instance[]): string[] {
  return namesOf(instances).flatMap((name) => {
    const ofName = ran(instances, name);
    return ofName.flatMap((one, index) =>
      ofName
        .slice(index + 1)
        .filter((other) => other.startedAt < one.finishedAt && one.startedAt < other.finishedAt)
        .map((other) => `${name} ${one.attempt} ${other.attempt}`),
    );
  });
}

/** The longest time after `since` during which not all containers of the pod ran, up to the last start. */
export function longestIncomplete(instances: readonly Instance[], since: number): number {
  const down = namesOf(instances)
    .flatMap((name) => {
      const ofName = ran(instances, name);
      return ofName.slice(1).map((next, index) => ({
        from: ofName[index]?.finishedAt ?? Number.NaN,
        to: next.startedAt,
      }));
    })
    .filter(({ from, to }) => from >= since && to > from)
    .sort((a, b) => a.from - b.from);
  let longest = 0;
  let from = Number.NEGATIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const one of down) {
    if (one.from > to) from = one.from;
    to = Math.max(to, one.to);
    longest = Math.max(longest, to - from);
  }
  return longest;
}
