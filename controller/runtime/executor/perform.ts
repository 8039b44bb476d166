/**
 * Carries out what plans decide. Writes run in the background through the client's window; until one is
 * answered, plans see its object as it will be, and its answer goes into the cache before anything else.
 * No policy lives here. docs/architecture.md: "How a change flows".
 */

import type { Clock, Pod } from "../../../kube/index.ts";
import { type OwnerKey, ownerKeyOf } from "../../plan/owners.ts";
import { Departures } from "../../rollout/order/departures.ts";
import { isReady } from "../../rollout/pods/pod_state.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { CREATING, PendingPods } from "../../rollout/writes/pending_pods.ts";
import { Backoff } from "./backoff.ts";
import { OtherWriter } from "./other_writer.ts";
import {
  begins,
  type CreatePod,
  type DeletePod,
  type Ended,
  type Failures,
  type Owner,
  type PatchPod,
  PodWriter,
  type WriterDeps,
} from "./pod_writer.ts";

interface PerformerDeps extends WriterDeps {
  /** A write ended, or may be tried again after `afterMs`: plan again then. */
  requeue(owner: Owner, afterMs: number): void;
  /** What the rest of the plan waited for is there: plan again at once. */
  unblocked(owner: Owner): void;
  clock: Clock;
  /** Backoff of a write that failed: base · 2^(failures − 1), at most max. Milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
}

/** Pod writes of one workload that are handed to the client at once: as many as its window may ever hold. */
const OUTSTANDING = 64;
/** Creations that must succeed before the rest may run at once: a quota is met by one refusal, not by thousands. */
const PROBING_LIMIT = 32;
/** How soon a budget that refused is asked again (spec protection, rule 22). */
const BUDGET_MS = 1000;

interface InFlight {
  owner: Owner;
  /** Of the workload, as it was when the latest actions were decided. */
  generation: number;
  pods: PendingPods;
  /** Those of `pods` whose write was begun. */
  begun: Set<string>;
  /** Patches and deletions of pods that wait for their turn. What brings pods back does not wait for the others. */
  finishing: Line;
  beginning: Line;
  departures: Departures;
  /** Creations wait in lines of their own: the first pods become ready while the last ones are still to be created. */
  creations: Set<CreationLine>;
  /** Names of claims, revisions and objects with a write in flight; `workload` for the owner itself. */
  others: Set<string>;
  failures: Failures;
  /** Of writes. */
  backoff: Backoff;
}

/** Writes that wait, from `turn` on, and how many are under way. */
interface Line {
  writes: PodWrite[];
  turn: number;
  underWay: number;
}

interface PodWrite {
  readonly pod: Pod;
  /** The pod is in service, and no longer after this: `departures` say when it may go. */
  readonly leaves: boolean;
  write(): Promise<void>;
}

type Work = () => Promise<Ended>;

interface CreationLine {
  withdrawn: boolean;
}

export class Performer {
  readonly #deps: PerformerDeps;
  readonly #pods: PodWriter;
  readonly #others: OtherWriter;
  readonly #owners = new Map<OwnerKey, InFlight>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: PerformerDeps) {
    this.#deps = deps;
    this.#pods = new PodWriter(deps);
    this.#others = new OtherWriter(deps, this.#pods);
    deps.pods.subscribe((owner, before, after) => {
      const uid = (after ?? before)?.uid ?? "";
      const flight = this.#owners.get(owner);
      if (flight?.departures.see(uid, after)) this.#advance(flight, flight.beginning);
    });
  }

  /** Of the owner; not to be changed by others. */
  pending(owner: OwnerKey): PendingPods {
    return this.#owners.get(owner)?.pods ?? nothing;
  }

  failures(owner: OwnerKey): Failures {
    return this.#owners.get(owner)?.failures ?? {};
  }

  inFlight(owner: OwnerKey): number {
    const flight = this.#owners.get(owner);
    return flight === undefined ? 0 : flight.pods.size + flight.others.size;
  }

  /**
   * To be called before each plan. What was decided for another generation and not begun yet is withdrawn: a pause, a
   * smaller scale or another template holds from now on, however long the line was.
   */
  observe(owner: OwnerKey, generation: number): void {
    const flight = this.#owners.get(owner);
    if (flight === undefined || flight.generation === generation) return;
    flight.generation = generation;
    flight.departures.restart();
    this.#withdraw(flight);
  }

  #withdraw(flight: InFlight): void {
    for (const pod of flight.pods.keys()) if (!flight.begun.has(pod)) flight.pods.delete(pod);
    for (const line of [flight.finishing, flight.beginning]) emptied(line);
    for (const line of flight.creations) line.withdrawn = true;
  }

  /** The owner is gone: nothing of it is remembered. Writes that were begun end by themselves, others are not sent. */
  forget(owner: OwnerKey): void {
    const flight = this.#owners.get(owner);
    if (flight !== undefined) this.#withdraw(flight);
    this.#owners.delete(owner);
  }

  /** Resolves when no write is in flight any more. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** Starts every action that is neither in flight nor held by the backoff of an earlier failure; returns at once. */
  perform(owner: Owner, generation: number, actions: readonly Action[]): void {
    // Of thousands of workloads most are at rest, and nothing is held of them.
    if (actions.length === 0 && !this.#owners.has(ownerKeyOf(owner))) return;
    const flight = this.#flight(owner, generation);
    this.#advance(flight, flight.beginning);
    const creations: CreatePod[] = [];
    for (const action of actions) {
      if (action.type === "event") {
        this.#deps.record(owner, action.event);
        continue;
      }
      const id = idOf(action);
      if (flight.others.has(id) || this.#held(owner, flight, id)) continue;
      if (action.type === "create pod") creations.push(action);
      else this.#start(owner, flight, id, action);
    }
    if (creations.length === 0) return;
    for (const action of creations) flight.pods.set(`${CREATING}${action.name}`, action.after);
    this.#run(owner, async () =>
      this.#finish(owner, flight, CREATION, await this.#createPods(owner, flight, creations)),
    );
  }

  #start(owner: Owner, flight: InFlight, id: string, action: Exclude<Started, CreatePod>): void {
    if (action.type === "patch pod") {
      flight.pods.set(action.pod.uid, action.write.after);
      this.#queue(flight, id, action, () => this.#pods.patch(owner, flight.failures, action));
    } else if (action.type === "delete pod") {
      flight.pods.set(action.pod.uid, { ...action.pod, deletionAt: action.pod.deletionAt ?? 0 });
      this.#queue(flight, id, action, () => this.#pods.delete(owner, flight.failures, action));
    } else {
      flight.others.add(id);
      this.#run(owner, async () => {
        const work = this.#others.write(owner, flight.failures, action);
        this.#finish(owner, flight, id, await work.finally(() => flight.others.delete(id)));
      });
    }
  }

  #queue(flight: InFlight, id: string, action: PatchPod | DeletePod, work: Work): void {
    const { owner, departures } = flight;
    const { clock } = this.#deps;
    const { pod } = action;
    const line = begins(action) ? flight.beginning : flight.finishing;
    const queuedAt = clock.monotonic();
    const write = async () => {
      this.#finish(owner, flight, id, await this.#begun(flight, pod.uid, work));
      if (line === flight.finishing) departures.written(pod.uid, clock.monotonic() - queuedAt);
    };
    // A deleted pod does not come back: its budget alone bounds how many go.
    const leaves = line === flight.beginning && action.type === "patch pod" && isReady(pod);
    line.writes.push({ pod, leaves, write });
    this.#advance(flight, line);
  }

  #advance(flight: InFlight, line: Line): void {
    const { owner, departures } = flight;
    while (line.underWay < OUTSTANDING) {
      const next = line.writes[line.turn];
      if (next === undefined) {
        emptied(line);
        return;
      }
      if (next.leaves && !departures.mayBegin()) {
        const { untilLateMs } = departures;
        if (untilLateMs !== undefined) this.#deps.requeue(owner, untilLateMs);
        return;
      }
      line.turn++;
      line.underWay++;
      if (next.leaves) departures.begin(next.pod);
      this.#run(owner, async () => {
        try {
          await next.write();
        } finally {
          line.underWay--;
          departures.ended(next.pod.uid);
          this.#advance(flight, line);
        }
      });
    }
  }

  /** From here on the write may arrive at the server. */
  async #begun<T>(flight: InFlight, pod: string, work: () => Promise<T>): Promise<T> {
    flight.begun.add(pod);
    try {
      return await work();
    } finally {
      flight.begun.delete(pod);
      flight.pods.delete(pod);
    }
  }

  #held(owner: Owner, flight: InFlight, id: string): boolean {
    const left = flight.backoff.leftMs(id);
    if (left <= 0) return false;
    this.#deps.requeue(owner, left);
    return true;
  }

  #finish(owner: Owner, flight: InFlight, id: string, ended: Ended): void {
    if (ended === "wait") {
      flight.backoff.wait(id, BUDGET_MS);
      this.#deps.requeue(owner, BUDGET_MS);
      return;
    }
    if (ended === "done") {
      flight.backoff.forget(id);
      // Nothing is done to pods before their revision exists.
      if (id.startsWith(REVISION)) this.#deps.unblocked(owner);
      else this.#deps.requeue(owner, 0);
      return;
    }
    this.#deps.requeue(owner, flight.backoff.failed(id, ended.error));
  }

  #flight(owner: Owner, generation: number): InFlight {
    const key = ownerKeyOf(owner);
    let flight = this.#owners.get(key);
    if (flight === undefined) {
      flight = {
        owner,
        generation,
        pods: new PendingPods(),
        begun: new Set(),
        finishing: { writes: [], turn: 0, underWay: 0 },
        beginning: { writes: [], turn: 0, underWay: 0 },
        departures: new Departures(this.#deps.clock),
        creations: new Set(),
        others: new Set(),
        failures: {},
        backoff: new Backoff(this.#deps),
      };
      this.#owners.set(key, flight);
    }
    return flight;
  }

  #run(owner: Owner, work: () => Promise<void>): void {
    const running = work().catch((error: unknown) => {
      this.#deps.log.error("an action failed in an unforeseen way", { error, object: owner.key });
      this.#deps.requeue(owner, this.#deps.baseDelayMs);
    });
    const tracked = running.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }
  /** Ends as the first creation that is not done. */
  async #createPods(owner: Owner, flight: InFlight, creations: readonly CreatePod[]): Promise<Ended> {
    const line: CreationLine = { withdrawn: false };
    flight.creations.add(line);
    let stopped: Ended | undefined;
    const create = async (action: CreatePod) => {
      const created = await this.#begun(flight, `${CREATING}${action.name}`, () =>
        this.#pods.create(owner, flight.failures, action),
      );
      if (created !== "done") stopped ??= created;
    };
    let next = 0;
    for (let size = 1; size <= PROBING_LIMIT && stopped === undefined && !line.withdrawn; size *= 2) {
      const batch = creations.slice(next, next + size);
      next += batch.length;
      await Promise.all(batch.map(create));
    }
    const inTurn = async () => {
      while (stopped === undefined && !line.withdrawn) {
        const action = creations[next++];
        if (action === undefined) return;
        await create(action);
      }
    };
    await Promise.all(Array.from({ length: OUTSTANDING }, inTurn));
    flight.creations.delete(line);
    // Withdrawn ones are no longer there, and may have been decided anew under the same name.
    if (!line.withdrawn)
      for (const { name } of creations.slice(next)) flight.pods.delete(`${CREATING}${name}`);
    return stopped ?? "done";
  }
}

type Started = Exclude<Action, { type: "event" }>;

const REVISION = "revision/";
/** Creations share one backoff: what refuses one pod refuses the next. */
const CREATION = "create pods";
const nothing = new PendingPods();

function emptied(line: Line): void {
  line.writes = [];
  line.turn = 0;
}

function idOf(action: Started): string {
  switch (action.type) {
    case "create pod":
      return CREATION;
    case "patch pod":
    case "delete pod":
      return `pod/${action.pod.uid}`;
    case "create claim":
      return `claim/${action.name}`;
    case "patch claim":
    case "delete claim":
      return `claim/${action.claim.name}`;
    case "create revision":
      return `${REVISION}${action.name}`;
    case "patch revision":
    case "delete revision":
      return `${REVISION}${action.revision.name}`;
    case "patch workload":
    case "delete workload":
      return "workload";
    case "create object":
    case "delete object":
      return `${action.resource}/${action.name}`;
  }
}
