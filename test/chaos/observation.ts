/** The simulation's observer before a real cluster: what it is told, when, and what it says. */
import { setTimeout as sleep } from "node:timers/promises";
import type { StoredObject, StoredWrite } from "../../sandbox/index.ts";
import { Observer } from "../../simulation/index.ts";
import { type Api, isRecord } from "../cluster/api.ts";
import { Patience } from "../cluster/patience.ts";
import { AddedLines, AuditTrail, type Request, requestOf } from "./audit.ts";
import { type Heard, type Reading, RecordedCluster } from "./record.ts";
import { Recorder } from "./recorder.ts";
import { credentialOf } from "./replicas.ts";

/** Of one change watches and audit logs tell within this time. */
const apartMs = 3_000;
/** So late controllers may hear of what is stored where nothing is wrong: on a machine that is busy. */
const promptMs = 5_000;
/** Watches that failed are tried again after a while. */
const reconnectMs = 45_000;
/** Nobody writes for so long. */
const restMs = 20_000;
const longestUntilSettledMs = 240_000;
/** Who has written nothing for so long will not, though something is missing: beyond the longest back-off of a few failures. */
const stuckMs = 120_000;

const methods: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
};
const leases = "leases.coordination.k8s.io";

/** From one time to another (milliseconds after the beginning), by so many milliseconds. */
interface Stale {
  readonly from: number;
  to: number;
  readonly ms: number;
}

export class Observation {
  readonly observer: Observer;
  readonly record: RecordedCluster;
  readonly #recorder: Recorder;
  readonly #trail = new AuditTrail();
  readonly #logs: readonly AddedLines[];
  readonly #names = new Map<string, string>();
  /** Who signs leases how. */
  readonly #identities = new Map<string, string>();
  readonly #stale: Stale[] = [];
  #refusals: Request[] = [];

  /** `logs`: files that API servers write what they were asked into. */
  constructor(api: Api, logs: readonly string[]) {
    this.record = new RecordedCluster(Date.now(), (heard) => this.#read(heard));
    this.observer = new Observer(this.record, (now) => this.#staleMsAt(now));
    this.#recorder = new Recorder(api, this.record);
    this.#logs = logs.map((log) => new AddedLines(log));
  }

  start(): Promise<void> {
    return this.#recorder.start();
  }

  stop(): Promise<void> {
    return this.#recorder.stop();
  }

  /** What writes with this token is known by this name from now on. */
  name(userAgent: string, token: string): void {
    this.#names.set(credentialOf(token), userAgent);
  }

  /** Controllers may be late by so many milliseconds from now on, until some time after the result was called. */
  allow(ms: number): () => void {
    const stale = { from: this.#nowMs, to: Number.POSITIVE_INFINITY, ms };
    this.#stale.push(stale);
    return () => {
      stale.to = this.#nowMs + reconnectMs;
    };
  }

  /** Shows the observer all that was stored up to a moment ago. */
  look(): void {
    for (const line of this.#logs.flatMap((log) => log.read())) this.#add(requestOf(line));
    const untilMs = Date.now() - apartMs;
    this.record.play(untilMs);
    this.#refusals = this.#refusals.filter((refusal) => refusal.toMs > untilMs || !this.#refused(refusal));
  }

  /** Resolves when controllers have made so many writes more. */
  async untilWrites(wanted: number): Promise<void> {
    const from = this.observer.writes;
    const patience = new Patience(60_000);
    while (this.observer.writes < from + wanted) {
      if (patience.isOver)
        throw new Error(
          `controllers have written ${this.observer.writes - from} times within ${patience}, not ${wanted}`,
        );
      await this.#wait();
    }
  }

  /** Resolves when what is asked for is there and nobody writes any more; what is missing then is a violation. */
  async untilSettled(): Promise<void> {
    const patience = new Patience(longestUntilSettledMs);
    await this.#wait();
    const { clock } = this.record;
    let since = clock.monotonic();
    let missing = this.observer.missing();
    while (missing.length > 0 || clock.monotonic() - this.observer.lastWriteAt < restMs) {
      since = Math.max(since, this.observer.lastWriteAt);
      const isStuck = clock.monotonic() - since > stuckMs;
      if (isStuck || patience.isOver) {
        const what = missing.length > 0 ? missing.slice(0, 5).join("; ") : "controllers go on writing";
        const when = isStuck
          ? `nobody has written for ${stuckMs / 1_000} s`
          : `${patience} after all was well`;
        this.observer.violation("settled", `not settled, ${when}: ${what}`);
        return;
      }
      await this.#wait();
      missing = this.observer.missing();
    }
  }

  async #wait(): Promise<void> {
    await sleep(500);
    this.look();
  }

  get #nowMs(): number {
    return Date.now() - this.record.clock.now() + this.record.clock.monotonic();
  }

  #staleMsAt(now: number): number {
    return Math.max(
      promptMs,
      ...this.#stale.filter(({ from, to }) => from <= now && now <= to).map(({ ms }) => ms),
    );
  }

  #add(asked: Request | undefined): void {
    if (asked === undefined) return;
    this.#trail.add(asked);
    if (asked.status >= 400 && this.#names.has(asked.credential)) this.#refusals.push(asked);
  }

  #refused({ credential, verb, path }: Request): true {
    this.observer.refused(this.#names.get(credential) ?? "", methods[verb] ?? verb, path);
    return true;
  }

  #read(heard: Heard): Reading {
    const write = heard.isListed ? undefined : this.#writeOf(heard);
    const object = heard.resource === leases ? this.#signed(heard.object, write) : heard.object;
    return { write, object };
  }

  /** Replicas sign leases with identities of their own making: the observer knows them by their names. */
  #signed(lease: StoredObject, write: StoredWrite | undefined): StoredObject {
    const spec = isRecord(lease["spec"]) ? lease["spec"] : {};
    const holder = String(spec["holderIdentity"] ?? "");
    if (write !== undefined && holder !== "" && !this.#identities.has(holder))
      this.#identities.set(holder, write.userAgent);
    return { ...lease, spec: { ...spec, holderIdentity: this.#identities.get(holder) ?? holder } };
  }

  /** Of replicas and of people; what nodes and the control plane write is not asked about. */
  #writeOf(heard: Heard): StoredWrite | undefined {
    const asked = this.#trail.requestOf(heard);
    if (asked === undefined) return undefined;
    const { verb, resource, namespace, name } = asked;
    const userAgent = this.#names.get(asked.credential) ?? asked.userAgent;
    return /^(replica-|person)/.test(userAgent) ? { userAgent, verb, resource, namespace, name } : undefined;
  }
}
