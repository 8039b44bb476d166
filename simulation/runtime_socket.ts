/**
 * The socket of a node's container runtime. It outlives the agents that ask it, and what it tells them is broken off, held back or
 * garbage while the runtime is in trouble: what they asked for may be done all the same. Its containers run on.
 */
import { status } from "@grpc/grpc-js";
import { type CarriedCall, type CriTransport, criClientOver, type Sockets } from "../agent/index.ts";
import type { Random } from "../kube/index.ts";
import type { NodeRuntime } from "../sandbox/index.ts";
import { Chance } from "./chance.ts";
import { garbageFor } from "./garbage.ts";
import { answerOf, pulledBy, Refusal } from "./runtime.ts";
import type { ProcessClock, VirtualClock } from "./virtual_clock.ts";

/** `dies`: calls are broken off, then nobody listens. `hangs`: nothing is answered. `garbage`: what is answered makes no sense. */
export const runtimeTroubles = ["dies", "hangs", "garbage"] as const;
export type RuntimeTrouble = (typeof runtimeTroubles)[number];

interface Trouble {
  readonly how: RuntimeTrouble;
  /** Called when it is over. */
  readonly ended: (() => void)[];
}

/** An agent that asks. */
interface Caller {
  readonly clock: ProcessClock;
  readonly random: Random;
  readonly stops: () => void;
  readonly pulls: (type: "pulling" | "pulled", reference: string) => void;
}

const slowestMs = 4;
export const socketPath = "/run/sandbox.sock";

/** They take no time: an agent that finds its runtime well draws no chance for it. */
const promptCalls = new Set(["Version", "ImageFsInfo"]);
/** Those that change something. */
const changingCalls = new Set(["StopContainer", "PullImage"]);

export class RuntimeSocket {
  readonly #runtime: NodeRuntime;
  readonly #clock: VirtualClock;
  /** Of its own, and only drawn from while it is in trouble. */
  readonly #chance: () => Random;
  #random: Random | undefined;
  #trouble: Trouble | undefined;
  #troubledAt = Number.NEGATIVE_INFINITY;
  #holdsPulls = false;
  #strike: { calls: number; readonly begin: () => void } | undefined;
  /** Breaks calls off that are under way. */
  readonly #open = new Set<() => void>();
  /** Called when somebody listens again. */
  readonly #back = new Set<() => void>();

  constructor(runtime: NodeRuntime, clock: VirtualClock, chance: () => Random) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#chance = chance;
  }

  /** As one life of an agent finds it. */
  sockets(caller: Caller): Sockets {
    return {
      lookAt: async () => undefined,
      connect: (path, options) => criClientOver(this.#transport(caller), path, options),
      folders: (_paths, _roots, wake) => {
        const heard = (): void => caller.clock.receive(0, wake);
        this.#back.add(heard);
        return { watch: () => undefined, close: () => void this.#back.delete(heard) };
      },
    };
  }

  /** When it last was in trouble or held pulls back: milliseconds of the clock. */
  get troubledAt(): number {
    return this.#trouble !== undefined || this.#holdsPulls ? this.#clock.monotonic() : this.#troubledAt;
  }

  /** In place of what it is in. Returns how it ends. */
  fail(how: RuntimeTrouble): () => void {
    const trouble: Trouble = { how, ended: [] };
    this.#end();
    this.#trouble = trouble;
    if (how === "dies") for (const breakOff of this.#open) breakOff();
    return () => {
      if (this.#trouble === trouble) this.#end();
    };
  }

  /** Calls once, in the midst of the call with that number, from now, of those that change something. Returns how to give that up. */
  afterCalls(calls: number, begin: () => void): () => void {
    const strike = { calls, begin };
    this.#strike = strike;
    return () => {
      if (this.#strike === strike) this.#strike = undefined;
    };
  }

  /** Pulls that would end now never do. Returns how that ends, for later ones. */
  holdPulls(): () => void {
    this.#holdsPulls = true;
    return () => {
      this.#troubledAt = this.troubledAt;
      this.#holdsPulls = false;
    };
  }

  #end(): void {
    this.#troubledAt = this.troubledAt;
    const ended = this.#trouble;
    this.#trouble = undefined;
    for (const goOn of ended?.ended ?? []) goOn();
    if (ended?.how === "dies") for (const heard of this.#back) heard();
  }

  #transport(caller: Caller): CriTransport {
    return { unary: (carried, answered) => this.#unary(carried, caller, answered), close: () => undefined };
  }

  #unary(
    carried: CarriedCall,
    caller: Caller,
    answered: (failure: Refusal | null, answer?: Uint8Array) => void,
  ): { cancel(): void } {
    const { clock } = caller;
    const over = new AbortController();
    const end = (failure: Refusal | null, answer?: Uint8Array): void => {
      if (over.signal.aborted) return;
      this.#open.delete(breakOff);
      deadline.cancel();
      over.abort(new Error("the call is over"));
      answered(failure, answer);
    };
    const breakOff = (): void => clock.receive(0, () => end(new Refusal(status.UNAVAILABLE, broken)));
    const late = new Refusal(status.DEADLINE_EXCEEDED, `Deadline exceeded after ${carried.deadlineMs} ms`);
    const deadline = clock.after(carried.deadlineMs, () => end(late));
    this.#open.add(breakOff);
    this.#answer(carried, caller, over.signal).then(
      (answer) => end(null, answer),
      (error: unknown) => {
        if (error instanceof Refusal) end(error);
        else if (!over.signal.aborted) throw error;
      },
    );
    return {
      cancel: () =>
        void Promise.resolve().then(() => end(new Refusal(status.CANCELLED, "Cancelled on client"))),
    };
  }

  async #answer({ name, body }: CarriedCall, caller: Caller, signal: AbortSignal): Promise<Uint8Array> {
    if (!promptCalls.has(name)) await caller.clock.sleep(caller.random() * slowestMs, signal);
    const strike = this.#struckBy(name);
    const isStruckFirst = strike !== undefined && this.#is(0.5);
    if (isStruckFirst) strike();
    const how = this.#trouble?.how;
    if (how === "dies") throw new Refusal(status.UNAVAILABLE, refused);
    const isDone = how === undefined || this.#is(0.5);
    if (how === "garbage" && !isDone) return this.#garbage(name, new Uint8Array());
    // It is read when the runtime goes on, also where nobody waits for the answer.
    if (how === "hangs" && !isDone) await this.#untilOver(caller);
    const answering = answerOf({ ...caller, ...this.#asked(name, body, caller), signal });
    if (strike !== undefined && !isStruckFirst) {
      if (name === "PullImage") await answering;
      strike();
    }
    const answer = await answering;
    if (this.#trouble?.how === "dies") throw new Refusal(status.UNAVAILABLE, broken);
    if (this.#trouble?.how === "garbage") return this.#garbage(name, answer);
    if (this.#trouble?.how === "hangs") await this.#untilOver(caller);
    else if (name === "PullImage" && !signal.aborted) caller.pulls("pulled", pulledBy(body));
    return answer;
  }

  #asked(method: string, request: Uint8Array, { pulls }: Caller) {
    return {
      method,
      request,
      runtime: this.#runtime,
      pulls: (reference: string) => pulls("pulling", reference),
      pullMayEnd: () => (this.#holdsPulls ? never() : Promise.resolve()),
    };
  }

  /** What begins in the midst of this call. */
  #struckBy(method: string): (() => void) | undefined {
    const strike = this.#strike;
    if (strike === undefined || !changingCalls.has(method)) return undefined;
    strike.calls -= 1;
    if (strike.calls > 0) return undefined;
    this.#strike = undefined;
    return strike.begin;
  }

  /** Or never: what hung may have been forgotten. */
  #untilOver({ clock }: Caller): Promise<void> {
    const { ended = [] } = this.#trouble ?? {};
    return this.#is(0.3) ? never() : new Promise((goOn) => ended.push(() => clock.receive(0, goOn)));
  }

  #garbage(method: string, answer: Uint8Array): Uint8Array {
    return garbageFor(new Chance(this.#draw), method, answer);
  }

  #is(probability: number): boolean {
    return this.#draw() < probability;
  }

  readonly #draw: Random = () => {
    this.#random ??= this.#chance();
    return this.#random();
  };
}

const refused = `No connection established. Last error: Error: connect ECONNREFUSED ${socketPath}. Resolution note: `;
const broken = "Connection dropped";

/** Another one each time: who waits for it is held by it. */
function never(): Promise<void> {
  return new Promise(() => undefined);
}
