/**
 * Keeps certificates served and trusted: a pass at the start, after each change that matters, and a minute after the
 * last one. Runs in every replica. Spec: platform 4.1 rule 3, 4.2.
 */
import { type Clock, type Log, messageOf, type Timer } from "../../../../kube/index.ts";
import type { ClusterTrust } from "../cluster_trust.ts";
import type { CertificateSource, ServingCertificate } from "../server.ts";
import type { CertificateSet } from "./certificate_set.ts";
import { writeCertificateDirectory } from "./directory.ts";
import type { CertificateStore } from "./store.ts";

interface CertificateKeeperOptions {
  store: CertificateStore;
  trust: ClusterTrust;
  /** Whether this replica may change pointers that are complete; see ClusterTrust. Asked in each pass. */
  leads(): boolean;
  /** True with gate EnableExternalCerts: the cluster's pointers are compared, not written. */
  external: boolean;
  /** Where the files are written; undefined: nowhere. */
  directory?: string;
  /** Calls `changed` whenever something was changed that a pass looks at; ends with the signal. */
  watch?(changed: () => void, signal: AbortSignal): void;
  clock: Clock;
  log: Log;
}

const passEveryMs = 60_000;
const firstRetryMs = 500;
const longestRetryMs = 30_000;
const longestEndMs = 1000;
/** API servers see changes of what they trust by watches of their own: one that is busy may be so late. */
const trustSeenMs = 1_000;
/** How long a former CA stays trusted: all replicas serve what the present one signed by then. */
const formerTrustMs = 10_000;

export class CertificateKeeper implements CertificateSource {
  readonly #options: CertificateKeeperOptions;
  readonly #subscribers = new Set<(certificate: ServingCertificate) => void>();
  readonly #waiting = new Set<() => void>();
  readonly #stopped = new AbortController();
  /** What is served. */
  #set: CertificateSet | undefined;
  /** Until when (monotonic) a CA stays trusted that was replaced, by its PEM. */
  readonly #former = new Map<string, number>();
  #complete = false;
  #problem = "";
  #timer: Timer | undefined;
  #running = false;
  #passing: Promise<void> | undefined;
  #again = false;
  #retryMs = firstRetryMs;

  constructor(options: CertificateKeeperOptions) {
    this.#options = options;
  }

  /** PEM of the CA whose certificate is served, once a pass was complete. */
  get caCert(): string | undefined {
    return this.#complete ? this.#set?.caCert : undefined;
  }

  subscribe(use: (certificate: ServingCertificate) => void): () => void {
    this.#subscribers.add(use);
    if (this.#set !== undefined) use(this.#set);
    return () => this.#subscribers.delete(use);
  }

  start(): void {
    this.#options.watch?.(() => this.renew(), this.#stopped.signal);
    this.renew();
  }

  /** Resolves when no pass runs any more, or after a second: one may wait for an API server that is gone. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#timer?.cancel();
    await new Promise<void>((resolve) => {
      const late = this.#options.clock.after(longestEndMs, resolve);
      void Promise.resolve(this.#passing).finally(() => {
        late.cancel();
        resolve();
      });
    });
  }

  /** A pass as soon as none runs. Passes do not overlap; a change during one leads to another. */
  renew(): void {
    if (this.#stopped.signal.aborted) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    this.#timer?.cancel();
    this.#passing = this.pass()
      .then(() => {
        this.#retryMs = firstRetryMs;
        this.#next(this.#former.size > 0 ? formerTrustMs : passEveryMs);
      })
      .catch((error: unknown) => {
        this.#problem = messageOf(error);
        this.#options.log.warn("certificates: pass failed, it will be repeated", {
          error,
          afterMs: this.#retryMs,
        });
        this.#next(this.#retryMs);
        this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
      });
  }

  #next(ms: number): void {
    this.#running = false;
    if (this.#stopped.signal.aborted) return;
    const delay = this.#again ? Math.min(ms, firstRetryMs) : ms;
    this.#again = false;
    this.#timer = this.#options.clock.after(delay, () => this.renew());
  }

  /** One pass now; throws what went wrong. */
  async pass(): Promise<void> {
    const { store, trust, external, clock } = this.#options;
    const set = await store.ensure(clock.now());
    await this.#writeFiles(set);
    if (external) {
      // Whoever keeps the pointers does not wait for us: once they are changed, the new certificate has to be there.
      this.#serve(set);
      await trust.check(set.caCert);
    } else {
      await this.#serveTrusted(set);
    }
    this.#complete = true;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /**
   * The API server is made to trust a new CA before any replica serves what it signed, and goes on trusting the former one
   * until all do: no call fails, whichever replica it reaches.
   */
  async #serveTrusted(set: CertificateSet): Promise<void> {
    const { trust, leads, clock, log } = this.#options;
    const served = this.#set;
    const isTrusted = served === undefined || served.caCert === set.caCert;
    if (isTrusted) this.#serve(set);
    else this.#former.set(served.caCert, clock.monotonic() + formerTrustMs);
    await trust.apply(this.#caCerts(set), { leads: leads() });
    if (isTrusted) return;
    if (!(await trust.trusts(set.caCert))) {
      // The leader's write is a change that leads to another pass.
      log.info("certificates: served once the API server trusts their CA");
      return;
    }
    await clock.sleep(trustSeenMs, this.#stopped.signal).catch(() => undefined);
    this.#serve(set);
  }

  /** The CA of the set, and former ones while their time lasts. */
  #caCerts({ caCert }: CertificateSet): string {
    const now = this.#options.clock.monotonic();
    for (const [former, until] of this.#former)
      if (until <= now || former === caCert) this.#former.delete(former);
    if (this.#former.size === 0) return caCert;
    return [caCert, ...this.#former.keys()].map((text) => `${text.trim()}\n`).join("");
  }

  #serve(set: CertificateSet): void {
    const changed = this.#set?.cert !== set.cert || this.#set.key !== set.key;
    this.#set = set;
    if (!changed) return;
    this.#options.log.info("certificates: in use", { changed: true });
    for (const use of this.#subscribers) use(set);
  }

  /** The files are for others to look at; the server needs none, so a read-only file system is no reason to stop. */
  async #writeFiles(set: CertificateSet): Promise<void> {
    const { directory, clock, log } = this.#options;
    if (directory === undefined) return;
    try {
      await writeCertificateDirectory(directory, set, String(clock.now()));
    } catch (error) {
      log.warn("certificates: files could not be written", { directory, error });
    }
  }

  /** Resolves after the first complete pass; rejects after `timeoutMs`. */
  initialized(timeoutMs = 60_000): Promise<void> {
    if (this.#complete) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = () => {
        timer.cancel();
        resolve();
      };
      const timer = this.#options.clock.after(timeoutMs, () => {
        this.#waiting.delete(done);
        const seconds = (timeoutMs / 1000).toFixed(6);
        const reason = this.#problem === "" ? "" : `: ${this.#problem}`;
        reject(new Error(`failed to start webhook controller for waiting more than ${seconds}s${reason}`));
      });
      this.#waiting.add(done);
    });
  }
}
