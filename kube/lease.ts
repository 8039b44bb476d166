/**
 * Leader election over a coordination.k8s.io Lease. Clocks of candidates are never compared: a lease counts as
 * expired when this process has watched it unchanged for its whole duration.
 */
import type { Client, Resource } from "./client_types.ts";
import type { Clock, Random } from "./clock.ts";
import { jsonResource } from "./codecs/json.ts";
import type { KubeObject, ObjectMeta } from "./core/types.ts";
import { ignoreNotFound, isKubeError } from "./errors.ts";
import type { Fence } from "./fence.ts";
import type { Log } from "./log.ts";

export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    /** RFC 3339 with microseconds. */
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export const leaseResource: Resource<Lease> = jsonResource<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
});

/** Annotation of a lease: who would like to have it. */
export const WANTED_BY = "refit.dev/wanted-by";

export interface ElectionOptions {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  namespace: string;
  name: string;
  /** Different for each candidate, `<host>_<uuid>`. */
  identity: string;
  /** Others take over when the lease was not renewed for so long. Default 15 s (spec platform 2.1). */
  leaseDurationMs?: number;
  /** The leader gives up when it could not renew for so long. Default 10 s. */
  renewDeadlineMs?: number;
  /** Default 2 s. */
  retryPeriodMs?: number;
  /** Default true: the next leader need not wait. */
  releaseOnStop?: boolean;
  /**
   * Whether to take a lease that nobody holds, seen free for so long (milliseconds); undefined when it is still to be
   * created. Default: always. Leases that expired are taken in any case.
   */
  wants?(freeForMs: number, lease: Lease | undefined): boolean;
  /** Asked with what each renewal returned: true gives the lease back. Default: never. */
  yields?(lease: Lease): boolean;
  /** The signal aborts when the leadership ends. Not awaited. */
  onStarted(leading: AbortSignal): void;
  /**
   * After leadership was lost or given back. Called once for each onStarted. A lease is given back, and a lost one acquired
   * again, when what it returns has resolved. `leftMs`: until another may have the lease; 0 where that may be so already.
   */
  onLost(leftMs: number): unknown;
  /** Of the client that what is led writes with: nothing is sent any more once it could not be renewed in time. */
  fence?: Fence;
}

export interface Election {
  readonly isLeader: boolean;
  /** Holder as last seen; empty when there is none. */
  readonly holder: string;
  /** The lease as last seen. */
  readonly lease: Lease | undefined;
  /** Asks the holder for the lease; whether it yields is its decision. */
  ask(): Promise<void>;
  /** Stops to stand for election; gives the lease back if it is held. */
  stop(): Promise<void>;
}

export function startElection(options: ElectionOptions): Election {
  const candidate = new Candidate(options);
  candidate.start();
  return candidate;
}

class Candidate implements Election {
  readonly #options: ElectionOptions;
  readonly #durationMs: number;
  readonly #deadlineMs: number;
  readonly #periodMs: number;
  readonly #stop = new AbortController();
  readonly #log: Log;
  /** The lease as last seen, and since when (monotonic) it has been like this. */
  #seen: { lease: Lease; record: string; since: number } | undefined;
  #leading: AbortController | undefined;
  #renewedAt = 0;
  /** Since when (monotonic) nobody holds the lease. */
  #freeSince: number | undefined;
  /** Resolves when whatever was led last has ended. */
  #ended: Promise<unknown> = Promise.resolve();
  /** Resolves when it stands for election no more. */
  #running: Promise<void> = Promise.resolve();

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#durationMs = options.leaseDurationMs ?? 15_000;
    this.#deadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#periodMs = options.retryPeriodMs ?? 2_000;
    if (!(this.#durationMs > this.#deadlineMs && this.#deadlineMs > this.#periodMs * 1.2)) {
      throw new RangeError(
        `lease duration (${this.#durationMs} ms) > renew deadline (${this.#deadlineMs} ms) > 1.2 x retry period (${this.#periodMs} ms) must hold`,
      );
    }
    this.#log = options.log.with({
      lease: `${options.namespace}/${options.name}`,
      identity: options.identity,
    });
  }

  get isLeader(): boolean {
    return this.#leading !== undefined;
  }

  get holder(): string {
    return this.#seen?.lease.spec?.holderIdentity ?? "";
  }

  get lease(): Lease | undefined {
    return this.#seen?.lease;
  }

  start(): void {
    this.#running = this.#run();
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return this.#running;
  }

  async ask(): Promise<void> {
    const { client, identity } = this.#options;
    const body = { metadata: { annotations: { [WANTED_BY]: identity } } };
    this.#observe(await client.patch(leaseResource, this.#ref(), { type: "merge", body }, this.#requests()));
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = this.#stop;
    const deadline = this.#watchDeadline();
    const leaveFence = this.#options.fence?.add(() => this.#checkDeadline());
    while (!signal.aborted) {
      await this.#turn();
      // Candidates that wait in step would collide for ever.
      const pause = this.isLeader ? this.#periodMs : this.#periodMs * (1 + 0.2 * random());
      await clock.sleep(pause, signal).catch(() => undefined);
    }
    deadline.end();
    leaveFence?.();
    if (this.isLeader) {
      await this.#lose("stopped");
      if (this.#options.releaseOnStop !== false) await this.#release();
    }
  }

  /** One attempt to get or renew the lease. */
  async #turn(): Promise<void> {
    const before = this.#options.clock.monotonic();
    try {
      if (this.isLeader) await this.#renew();
      else await this.#tryAcquire();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#seen = isKubeError(error, "Conflict", "NotFound") ? undefined : this.#seen;
      this.#log.warn(this.isLeader ? "lease could not be renewed" : "lease could not be acquired", { error });
      return;
    }
    if (this.isLeader) this.#renewedAt = before;
  }

  async #tryAcquire(): Promise<void> {
    const { client, identity } = this.#options;
    // A lease that was lost to a slow server may be ours still: what was led must not overlap with itself.
    await this.#ended;
    const lease = await client.get(leaseResource, this.#ref(), this.#requests()).catch(ignoreNotFound);
    if (!lease) {
      if (!this.#wantsFree(undefined)) return;
      const { namespace } = this.#options;
      this.#lead(await client.create(leaseResource, namespace, this.#body(undefined), this.#requests()));
      return;
    }
    this.#observe(lease);
    const holder = lease.spec?.holderIdentity ?? "";
    if (holder !== "") this.#freeSince = undefined;
    if (holder === "" ? !this.#wantsFree(lease) : holder !== identity && !this.#expired()) return;
    this.#lead(await client.replace(leaseResource, this.#ref(), this.#body(lease), this.#requests()));
  }

  #wantsFree(lease: Lease | undefined): boolean {
    const now = this.#options.clock.monotonic();
    this.#freeSince ??= now;
    return this.#options.wants?.(now - this.#freeSince, lease) ?? true;
  }

  /** The leader knows its lease: no read is needed, a conflict says that somebody else wrote it. */
  async #renew(): Promise<void> {
    const { client, identity } = this.#options;
    if (!this.#seen) {
      this.#observe(await client.get(leaseResource, this.#ref(), this.#requests()));
      if (this.holder !== identity) {
        void this.#lose(`taken over by ${this.holder || "nobody"}`, 0);
        return;
      }
    }
    const body = this.#body(this.#seen?.lease);
    const renewed = await client.replace(leaseResource, this.#ref(), body, this.#requests());
    this.#observe(renewed);
    if (this.#options.yields?.(renewed)) await this.#yield();
  }

  /** Others start at once when the lease is free: whatever was led has to have ended by then. */
  async #yield(): Promise<void> {
    this.#renewedAt = this.#options.clock.monotonic();
    await this.#lose("given to another");
    await this.#release();
    this.#seen = undefined;
  }

  #observe(lease: Lease): void {
    const { holderIdentity = "", renewTime = "", leaseTransitions = 0 } = lease.spec ?? {};
    const record = `${holderIdentity} ${renewTime} ${leaseTransitions}`;
    const since = this.#seen?.record === record ? this.#seen.since : this.#options.clock.monotonic();
    this.#seen = { lease, record, since };
  }

  #expired(): boolean {
    if (!this.#seen) return false;
    const seconds = this.#seen.lease.spec?.leaseDurationSeconds;
    const duration = seconds === undefined ? this.#durationMs : seconds * 1000;
    return this.#options.clock.monotonic() - this.#seen.since >= duration;
  }

  #lead(lease: Lease): void {
    this.#observe(lease);
    if (this.#stop.signal.aborted) return;
    this.#leading = new AbortController();
    this.#freeSince = undefined;
    this.#renewedAt = this.#options.clock.monotonic();
    this.#log.info("leading");
    this.#options.onStarted(this.#leading.signal);
  }

  /** Resolves when whatever was led has ended. */
  async #lose(reason: string, leftMs = this.#leftMs()): Promise<void> {
    const leading = this.#leading;
    if (!leading) return;
    this.#leading = undefined;
    this.#log.warn("leadership ended", { reason });
    leading.abort(new Error(`leadership ended: ${reason}`));
    this.#ended = Promise.resolve(this.#options.onLost(leftMs));
    await this.#ended;
  }

  /** Until another may have the lease. */
  #leftMs(): number {
    return Math.max(0, this.#renewedAt + this.#durationMs - this.#options.clock.monotonic());
  }

  /** Gives up in time even when a renewal hangs: others may take over after the lease's duration. */
  #watchDeadline(): { end(): void } {
    const { clock } = this.#options;
    const check = (): void => {
      this.#checkDeadline();
      const left = this.isLeader ? this.#renewedAt + this.#deadlineMs - clock.monotonic() : this.#periodMs;
      timer = clock.after(Math.max(10, Math.min(left, this.#periodMs)), check);
    };
    let timer = clock.after(this.#periodMs, check);
    return { end: () => timer.cancel() };
  }

  #checkDeadline(): void {
    const overdue = this.isLeader && this.#options.clock.monotonic() - this.#renewedAt >= this.#deadlineMs;
    if (overdue) void this.#lose("could not renew in time");
  }

  async #release(): Promise<void> {
    const { client, identity } = this.#options;
    // Our own stop signal is aborted by now; the time-out bounds these last requests.
    const last = { priority: "leadership", timeoutMs: this.#periodMs } as const;
    try {
      // A renewal may have been cut off by the stop: what is held now has to be asked.
      const lease = await client.get(leaseResource, this.#ref(), last);
      if (lease.spec?.holderIdentity !== identity) return;
      const spec = { ...this.#body(lease).spec, holderIdentity: "", leaseDurationSeconds: 1 };
      await client.replace(leaseResource, this.#ref(), { ...lease, spec }, last);
    } catch (error) {
      this.#log.warn("lease could not be given back; others wait until it expires", { error });
    }
  }

  #body(held: Lease | undefined): Lease {
    const { identity, namespace, name, clock } = this.#options;
    const now = microTime(clock.now());
    const ours = held?.spec?.holderIdentity === identity;
    const transitions = held?.spec?.leaseTransitions ?? 0;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: held ? (ours ? held.metadata : answered(held.metadata)) : { namespace, name },
      spec: {
        ...held?.spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
        acquireTime: ours ? (held?.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: held && !ours ? transitions + 1 : transitions,
      },
    };
  }

  #ref(): { namespace: string; name: string } {
    const { namespace, name } = this.#options;
    return { namespace, name };
  }

  /** Beside everything else: requests that a slow server keeps for long must not cost the leadership. */
  #requests(): { priority: "leadership"; flow: string; signal: AbortSignal; timeoutMs: number } {
    return {
      priority: "leadership",
      flow: "lease",
      signal: this.#stop.signal,
      timeoutMs: Math.max(1000, this.#deadlineMs / 2),
    };
  }
}

/** The lease has changed hands: what was asked for has happened. */
function answered(metadata: ObjectMeta): ObjectMeta {
  const { [WANTED_BY]: _wantedBy, ...annotations } = metadata.annotations ?? {};
  return { ...metadata, annotations };
}

/** meta/v1 MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
