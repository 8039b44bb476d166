/**
 * Every state that a small world can come into, by breadth first. A world is a value with moves; two states are one when
 * their keys are equal.
 */
import { createHash } from "node:crypto";

type Taken<State> = State | undefined;

export interface Move<State> {
  /** What happens, for people. */
  readonly name: string;
  /** Nobody's duty: a crash, a refusal, somebody's deletion. A world comes to rest without it. */
  readonly isMishap?: true;
  /** Undefined: nothing happens. Throws where something happens that must not. A promise: code that awaits has a part in it. */
  take(): Taken<State> | Promise<Taken<State>>;
}

export interface SmallWorld<State> {
  readonly start: State;
  /** Equal for states that differ in nothing that anybody sees: names drawn by chance, versions. */
  keyOf(state: State): string;
  movesOf(state: State): readonly Move<State>[];
  /** What is wrong with a state in which nothing is left to be done; undefined: it is what was asked for. */
  unsettled(state: State): string | undefined;
}

export interface Explored {
  readonly states: number;
  readonly moves: number;
  /** There are no others. */
  readonly isWhole: boolean;
  /** States in which nothing is left to be done. */
  readonly ends: number;
}

/** The message tells what went wrong, and then each move on the shortest way to it. */
export class WentWrong extends Error {}

interface Place<State> {
  readonly id: number;
  readonly state: State;
}

/**
 * Throws {@link WentWrong} where a move does what must not be, where nothing is left to be done and the state is not what was
 * asked for, and where moves that are no mishaps lead in a circle: a world without mishaps comes to rest on every way.
 * `most`: states after which it ends, those nearest to the start first.
 */
export function explore<State>(world: SmallWorld<State>, most?: number): Explored {
  const { done, value } = exploration(world, most).next();
  if (done !== true) throw new Error("a move of this world is awaited");
  return value;
}

/** As {@link explore}, of any world. */
export async function exploreAwaiting<State>(world: SmallWorld<State>, most?: number): Promise<Explored> {
  const exploring = exploration(world, most);
  let step = exploring.next();
  while (step.done !== true) {
    const taken: Promise<Taken<State>> = step.value;
    step = await taken.then(
      (state) => exploring.next(state),
      (error: unknown) => exploring.throw(error),
    );
  }
  return step.value;
}

/** What is awaited, for what it comes to. */
type Awaiting<State, Result> = Generator<Promise<Taken<State>>, Result, Taken<State>>;

function* exploration<State>(
  world: SmallWorld<State>,
  most = Number.POSITIVE_INFINITY,
): Awaiting<State, Explored> {
  const found = new Found<State>(world);
  let ends = 0;
  let moves = 0;
  let places = found.fresh();
  for (; places.length > 0 && found.successors.length < most; places = found.fresh()) {
    for (const { id, state } of places) {
      let isEnd = true;
      for (const move of world.movesOf(state)) {
        const to = yield* found.take(id, move);
        if (to === id) continue;
        moves++;
        if (move.isMishap !== true) isEnd = false;
      }
      if (!isEnd) continue;
      ends++;
      const wrong = world.unsettled(state);
      if (wrong !== undefined) throw found.wentWrong(`it ends with ${wrong}`, id);
    }
  }
  const circle = circleIn(found.successors);
  if (circle !== undefined) throw yield* found.goesOnForEver(circle);
  return { states: found.successors.length, moves, isWhole: places.length === 0, ends };
}

class Found<State> {
  /** Where moves that are no mishaps lead, by state. */
  readonly successors: number[][] = [];
  readonly #world: SmallWorld<State>;
  readonly #ids = new Map<string, number>();
  readonly #from: { readonly id: number; readonly by: string }[] = [];
  #fresh: Place<State>[] = [];

  constructor(world: SmallWorld<State>) {
    this.#world = world;
    this.#idOf(world.start, 0, "");
  }

  /** States found since the last call. */
  fresh(): Place<State>[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  /** The state that the move leads to: the same one where nothing happens. */
  *take(from: number, { name, isMishap, take }: Move<State>): Awaiting<State, number> {
    let state: Taken<State>;
    try {
      const taken = take();
      state = taken instanceof Promise ? yield taken : taken;
    } catch (error) {
      throw this.wentWrong(error instanceof Error ? error.message : String(error), from, name);
    }
    if (state === undefined) return from;
    const to = this.#idOf(state, from, name);
    if (isMishap !== true && to !== from) this.successors[from]?.push(to);
    return to;
  }

  /** Takes the way to the circle and once around it, to learn the names of its moves. */
  *goesOnForEver([first = 0, ...rest]: readonly number[]): Awaiting<State, WentWrong> {
    const names: string[] = [];
    const world = this.#world;
    let { start: state } = world;
    function* go(isIt: (name: string, next: State) => boolean): Awaiting<State, void> {
      for (const { name, take } of world.movesOf(state)) {
        const taken = take();
        const next = taken instanceof Promise ? yield taken : taken;
        if (next === undefined || !isIt(name, next)) continue;
        names.push(name);
        state = next;
        return;
      }
    }
    for (const by of this.#wayTo(first)) yield* go((name) => name === by);
    names.push("and round and round:");
    for (const id of [...rest, first]) yield* go((_, next) => this.#ids.get(this.#hash(next)) === id);
    return new WentWrong(["it may go on for ever", ...names].join("\n  "));
  }

  wentWrong(what: string, id: number, ...last: string[]): WentWrong {
    return new WentWrong([what, ...this.#wayTo(id), ...last].join("\n  "));
  }

  #wayTo(id: number): string[] {
    const way: string[] = [];
    for (let at = id; at > 0; ) {
      const { id: before, by } = this.#from[at] ?? { id: 0, by: "" };
      way.unshift(by);
      at = before;
    }
    return way;
  }

  #hash(state: State): string {
    return createHash("sha1").update(this.#world.keyOf(state)).digest("latin1");
  }

  #idOf(state: State, from: number, by: string): number {
    const key = this.#hash(state);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    this.#ids.set(key, id);
    this.#from.push({ id: from, by });
    this.successors.push([]);
    this.#fresh.push({ id, state });
    return id;
  }
}

/** States of a circle in their order; undefined: each way ends. */
function circleIn(successors: readonly (readonly number[])[]): number[] | undefined {
  const done = new Uint8Array(successors.length);
  /** States on the way from the first one, and how many of their successors were looked at. */
  const way: { readonly id: number; looked: number }[] = [];
  const isOnWay = new Uint8Array(successors.length);
  const enter = (id: number): void => {
    way.push({ id, looked: 0 });
    isOnWay[id] = 1;
  };
  for (let first = 0; first < successors.length; first++) {
    if (done[first] === 1) continue;
    enter(first);
    for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
      const to = successors[top.id]?.[top.looked++];
      if (to === undefined) {
        done[top.id] = 1;
        isOnWay[top.id] = 0;
        way.pop();
      } else if (isOnWay[to] === 1)
        return way.map(({ id }) => id).slice(way.findIndex(({ id }) => id === to));
      else if (done[to] !== 1) enter(to);
    }
  }
  return undefined;
}
