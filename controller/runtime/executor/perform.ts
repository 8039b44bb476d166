/**
 * The lanes of rollouts: when each write is begun, which exclude each other, and how plans see the pods until the answers are
 * there. The executor carries them out in the background. No policy lives here. docs/architecture.md: "How a change flows".
 */
import { messageOf, severityOf } from "../../../kube/index.ts";
import type { WriteOutcome } from "../../plan/effects.ts";
import { type OwnerKey, ownerKeyOf } from "../../plan/owners.ts";
import { Departures } from "../../rollout/order/departures.ts";
import type { OwnedPods } from "../../rollout/pods/owned_pods.ts";
import { otherId } from "../../rollout/writes/action_parts.ts";
import type {
  Action,
  FailingPart,
  OtherAction,
  PodAction,
  PodCreation,
  PodDeletion,
  PodPatchAction,
  RolloutEffect,
} from "../../rollout/writes/actions.ts";
import { creationRoom } from "../../rollout/writes/creation_room.ts";
import { PendingPods } from "../../rollout/writes/pending_pods.ts";
import { CREATION } from "../../rollout/writes/pod_actions.ts";
import type { KindDeps } from "../kind.ts";
import type { StatusObject } from "../reconciler.ts";
import { Backoff } from "./backoff.ts";
import type { Writables } from "./executor.ts";
import { failureIn } from "./failure.ts";
import { KindExecutor, type WriteTerms } from "./kind_executor.ts";
import type { Written } from "./own_object.ts";

/** The workload whose plan is carried out. */
export interface Owner {
  readonly key: string;
  /** Of what is made for it. */
  readonly namespace: string;
  readonly uid: string;
}

interface PerformerSettings {
  /** What effects may write beside the workload. */
  readonly writes: Writables;
  readonly pods: Pick<OwnedPods, "subscribe">;
  /** A write ended, or may be tried again after `afterMs`: plan again then. */
  requeue(owner: Owner, afterMs: number): void;
  /** What the rest of the plan waited for is there: plan again at once. */
  unblocked(owner: Owner): void;
}

/** What keeps a workload from being scaled or updated, in the words of its conditions. */
export type Failures = { [Part in FailingPart]?: string };

/**
 * How a write ended. `wait`: somebody's budget has to be asked again. `withdrawn`: it was not sent, since the workload has changed.
 * A failure has been reported.
 */
type Ended = "done" | "wait" | "withdrawn" | { readonly error: unknown };

/** Pod writes of one workload that are handed to the client at once: as many as its window may ever hold. */
const OUTSTANDING = 64;
/** Creations that must succeed before the rest may run at once: a quota is met by one refusal, not by thousands. */
const PROBING_LIMIT = 32;
/** How soon a budget that refused is asked again (spec protection, rule 22). */
const BUDGET_MS = 1000;

interface InFlight<T> {
  readonly owner: Owner;
  /** As it was when the latest actions were decided. */
  object: T;
  readonly pods: PendingPods;
  /** Of `pods`: writes that were handed to the client. */
  readonly begun: Map<string, Begun>;
  /** What brings pods back does not wait for what takes them out. */
  readonly finishing: Line;
  readonly beginning: Line;
  readonly departures: Departures;
  /** Creations wait in lines of their own: the first pods become ready while the last ones are still to be created. */
  readonly creations: Set<CreationLine>;
  /** Ids of writes of something else that are in flight. */
  readonly others: Set<string>;
  readonly failures: Failures;
  /** Of writes. */
  readonly backoff: Backoff;
}

/** Actions that wait, from `turn` on, and how many are under way. */
interface Line {
  queued: QueuedAction[];
  turn: number;
  underWay: number;
}

interface QueuedAction {
  readonly action: PodPatchAction | PodDeletion;
  /** Monotonic milliseconds. */
  readonly queuedAt: number;
}

interface CreationLine {
  withdrawn: boolean;
}

interface Begun {
  isWanted: boolean;
}

export class Performer<T extends StatusObject = StatusObject> {
  readonly #deps: KindDeps<T>;
  readonly #settings: PerformerSettings;
  readonly #executor: KindExecutor<T>;
  readonly #owners = new Map<OwnerKey, InFlight<T>>();
  readonly #running = new Set<Promise<unknown>>();
  /** Creations of all owners that have not ended. */
  #creating = 0;

  constructor(deps: KindDeps<T>, settings: PerformerSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#executor = new KindExecutor(deps, settings);
    settings.pods.subscribe((owner, before, after) => {
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

  creationRoom(owner: OwnerKey): number {
    const lines = this.#owners.get(owner)?.creations.size ?? 0;
    return creationRoom(this.#creating, lines > 0);
  }

  isClaimWritten(owner: OwnerKey, name: string): boolean {
    return this.#owners.get(owner)?.others.has(otherId("claims", name)) === true;
  }

  inFlight(owner: OwnerKey): number {
    const flight = this.#owners.get(owner);
    return flight === undefined ? 0 : flight.pods.size + flight.others.size;
  }

  /**
   * To be called before each plan. What was decided for another generation and not sent yet is withdrawn: a pause, a
   * smaller scale or another template holds from now on, however long the line was, and however slow the server is.
   */
  observe(owner: OwnerKey, object: T): void {
    const flight = this.#owners.get(owner);
    if (flight === undefined) return;
    const { generation } = flight.object.metadata;
    flight.object = object;
    if (generation === object.metadata.generation) return;
    flight.departures.restart();
    this.#withdraw(flight);
  }

  #withdraw(flight: InFlight<T>): void {
    for (const pod of flight.pods.keys()) if (!flight.begun.has(pod)) flight.pods.delete(pod);
    for (const line of [flight.finishing, flight.beginning]) emptied(line);
    for (const line of flight.creations) line.withdrawn = true;
    for (const begun of flight.begun.values()) begun.isWanted = false;
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
  perform(owner: Owner, object: T, actions: readonly Action[]): void {
    // Of thousands of workloads most are at rest, and nothing is held of them.
    if (actions.length === 0 && !this.#owners.has(ownerKeyOf(owner))) return;
    const flight = this.#flight(owner, object);
    this.#advance(flight, flight.beginning);
    const creations: PodCreation[] = [];
    for (const action of actions) {
      if (action.type === "event") {
        this.#run(owner, () => this.#execute(flight, action));
        continue;
      }
      if (flight.others.has(action.id) || this.#held(flight, action.id)) continue;
      if (action.lane === "at once") this.#start(flight, action);
      else if (action.lane === "create") creations.push(action);
      else this.#queue(flight, action);
    }
    if (creations.length === 0) return;
    for (const { after } of creations) flight.pods.set(after.uid, after);
    this.#run(owner, async () => this.#finish(flight, CREATION, await this.#create(flight, creations)));
  }

  #start(flight: InFlight<T>, action: OtherAction): void {
    const { owner, others } = flight;
    const { id, blocks } = action;
    others.add(id);
    this.#run(owner, async () => {
      const ended = await this.#writeOther(flight, action).finally(() => others.delete(id));
      this.#finish(flight, id, ended, blocks);
    });
  }

  /** Whose data goes with whom is not written any more once that may be another one. */
  #writeOther(flight: InFlight<T>, action: OtherAction): Promise<Ended> {
    const isOfData = action.type === "patch claim" || action.type === "delete claim";
    return isOfData ? this.#writeBegun(flight, action.id, action) : this.#write(flight, action);
  }

  #queue(flight: InFlight<T>, action: PodPatchAction | PodDeletion): void {
    flight.pods.set(action.after.uid, action.after);
    const line = action.lane === "begin" ? flight.beginning : flight.finishing;
    line.queued.push({ action, queuedAt: this.#deps.clock.monotonic() });
    this.#advance(flight, line);
  }

  #advance(flight: InFlight<T>, line: Line): void {
    const { owner, departures } = flight;
    while (line.underWay < OUTSTANDING) {
      const next = line.queued[line.turn];
      if (next === undefined) {
        emptied(line);
        return;
      }
      const { action } = next;
      const leaves = action.type === "patch pod" && action.leaves;
      if (leaves && !departures.mayBegin()) {
        const { untilLateMs } = departures;
        if (untilLateMs !== undefined) this.#settings.requeue(owner, untilLateMs);
        return;
      }
      line.turn++;
      line.underWay++;
      if (leaves) departures.begin(action.after);
      this.#run(owner, async () => {
        try {
          await this.#writeQueued(flight, next);
        } finally {
          line.underWay--;
          departures.ended(action.after.uid);
          this.#advance(flight, line);
        }
      });
    }
  }

  async #writeQueued(flight: InFlight<T>, { action, queuedAt }: QueuedAction): Promise<void> {
    this.#finish(flight, action.id, await this.#begun(flight, action));
    if (action.lane === "finish")
      flight.departures.written(action.after.uid, this.#deps.clock.monotonic() - queuedAt);
  }

  /** From here on the write may arrive at the server. */
  async #begun(flight: InFlight<T>, action: PodAction): Promise<Ended> {
    const { uid } = action.after;
    try {
      return await this.#writeBegun(flight, uid, action);
    } finally {
      flight.pods.delete(uid);
    }
  }

  async #writeBegun(flight: InFlight<T>, key: string, action: PodAction | OtherAction): Promise<Ended> {
    const begun: Begun = { isWanted: true };
    flight.begun.set(key, begun);
    try {
      // What has begun to bring a pod back is ended.
      return await this.#write(flight, action, action.lane === "finish" ? undefined : () => begun.isWanted);
    } finally {
      flight.begun.delete(key);
    }
  }

  async #write(
    flight: InFlight<T>,
    action: PodAction | OtherAction,
    isWanted?: () => boolean,
  ): Promise<Ended> {
    let terms: WriteTerms = { share: action.flow, isWanted };
    for (const effect of action.effects) {
      try {
        const { rest } = await this.#execute(flight, effect, terms);
        // What follows the write of a pod belongs to it; claims that are made for one wait for it.
        if ("resource" in effect && effect.resource === "pods") terms = { share: action.flow };
        // The workload is gone.
        if (rest !== undefined) return { error: undefined };
      } catch (error) {
        const failure = failureIn(effect, error);
        if (failure === "wait") return "wait";
        if (failure === "aborted" && terms.isWanted?.() === false) return "withdrawn";
        if (failure === "refused") this.#refused(flight, action, effect, error);
        return { error };
      }
    }
    if (action.lane !== "at once" && action.concern !== "refresh") delete flight.failures[action.concern];
    return "done";
  }

  #execute(
    { owner, object }: InFlight<T>,
    effect: RolloutEffect,
    terms: WriteTerms = {},
  ): Promise<Written<T>> {
    return this.#executor.executeFor(owner.key, object, effect, unobserved, terms);
  }

  #refused(
    { owner, failures }: InFlight<T>,
    action: PodAction | OtherAction,
    { condition }: RolloutEffect,
    error: unknown,
  ): void {
    if (condition !== undefined)
      failures[condition.part] = condition.message.replace("{error}", () => messageOf(error));
    const { log } = this.#deps;
    const fields = { error, object: owner.key };
    if (action.type === "patch pod")
      log.warn("a pod could not be patched", { ...fields, pod: action.pod.name });
    // For what else is done to pods and for new claims the event is enough.
    else if (action.lane === "at once" && action.type !== "create claim")
      log[severityOf(error)](`${action.type} failed`, fields);
  }

  #held({ owner, backoff }: InFlight<T>, id: string): boolean {
    const left = backoff.leftMs(id);
    if (left <= 0) return false;
    this.#settings.requeue(owner, left);
    return true;
  }

  #finish({ owner, backoff }: InFlight<T>, id: string, ended: Ended, blocks = false): void {
    if (ended === "wait") {
      backoff.wait(id, BUDGET_MS);
      this.#settings.requeue(owner, BUDGET_MS);
      return;
    }
    if (ended === "withdrawn") {
      this.#settings.requeue(owner, 0);
      return;
    }
    if (ended === "done") {
      backoff.forget(id);
      if (blocks) this.#settings.unblocked(owner);
      else this.#settings.requeue(owner, 0);
      return;
    }
    this.#settings.requeue(owner, backoff.failed(id, ended.error));
  }

  #flight(owner: Owner, object: T): InFlight<T> {
    const key = ownerKeyOf(owner);
    let flight = this.#owners.get(key);
    if (flight === undefined) {
      const { clock, options } = this.#deps;
      const { baseDelayMs, maxDelayMs } = options;
      flight = {
        owner,
        object,
        pods: new PendingPods(),
        begun: new Map(),
        finishing: { queued: [], turn: 0, underWay: 0 },
        beginning: { queued: [], turn: 0, underWay: 0 },
        departures: new Departures(clock),
        creations: new Set(),
        others: new Set(),
        failures: {},
        backoff: new Backoff({ clock, baseDelayMs, maxDelayMs }),
      };
      this.#owners.set(key, flight);
    }
    return flight;
  }

  #run(owner: Owner, work: () => Promise<unknown>): void {
    const running = work().catch((error: unknown) => {
      this.#deps.log.error("an action failed in an unforeseen way", { error, object: owner.key });
      this.#settings.requeue(owner, this.#deps.options.baseDelayMs);
    });
    const tracked = running.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Ends as the first creation that is not done. */
  async #create(flight: InFlight<T>, creations: readonly PodCreation[]): Promise<Ended> {
    const line: CreationLine = { withdrawn: false };
    flight.creations.add(line);
    let left = creations.length;
    this.#creating += left;
    let stopped: Ended | undefined;
    const create = async (action: PodCreation) => {
      const created = await this.#begun(flight, action).finally(() => {
        left--;
        this.#creating--;
      });
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
    this.#creating -= left;
    // Withdrawn ones are no longer there, and a later plan may have decided pods of the same names.
    if (!line.withdrawn) for (const { after } of creations.slice(next)) flight.pods.delete(after.uid);
    return stopped ?? "done";
  }
}

const nothing = new PendingPods();
/** No effect of a rollout has an id by which it is asked for. */
const unobserved = new Map<string, WriteOutcome>();

function emptied(line: Line): void {
  line.queued = [];
  line.turn = 0;
}
