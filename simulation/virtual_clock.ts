/** Time that passes only when all that was due has been done: an hour takes as long as its work. */
import { type Clock, Heap, sleepOn, type Timer } from "../kube/index.ts";

interface Due {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #due = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  #elapsed = 0;
  #order = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): Timer {
    const due: Due = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, run };
    this.#due.push(due);
    return {
      cancel: () => {
        due.run = undefined;
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Lets `ms` pass, doing what is due in order of time, and after each of it all that follows at once. Ends early where `done`. */
  async pass(ms: number, done: () => boolean = () => false): Promise<void> {
    const end = this.#elapsed + ms;
    await settled();
    for (let next = this.#due.top; next && next.at <= end && !done(); next = this.#due.top) {
      this.#due.pop();
      const { run } = next;
      if (run === undefined) continue;
      next.run = undefined;
      this.#elapsed = next.at;
      run();
      await settled();
    }
    if (!done()) this.#elapsed = end;
  }
}

/** All promises that can go on have gone on: nothing here waits for anything but promises and this clock. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The time of one process: when it dies nothing of it happens any more. Its time of day may be wrong. */
export class ProcessClock implements Clock {
  readonly #clock: VirtualClock;
  #dead = false;
  #skewMs = 0;
  #setAt = Number.NEGATIVE_INFINITY;
  /** While it is stopped: what has come meanwhile, and which timers are due. */
  #held: { readonly messages: (() => void)[]; readonly timers: (() => void)[] } | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    let isCancelled = false;
    const timer = this.#clock.after(ms, () => {
      if (this.#dead) return;
      if (this.#held === undefined) run();
      else
        this.#held.timers.push(() => {
          if (!isCancelled) run();
        });
    });
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  /** A message from outside arrives after `ms`. */
  receive(ms: number, run: () => void): void {
    this.#clock.after(ms, () => {
      if (this.#dead) return;
      if (this.#held === undefined) run();
      else this.#held.messages.push(run);
    });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  get isStopped(): boolean {
    return this.#held !== undefined;
  }

  /** Resolves once it is not stopped. */
  async running(): Promise<void> {
    while (this.isStopped) await new Promise<void>((goOn) => this.receive(0, goOn));
  }

  /** As by SIGSTOP: connections stay, nothing is read, no timer goes off. */
  stop(): void {
    this.#held ??= { messages: [], timers: [] };
  }

  /** As by SIGCONT. An event loop that slept reads its connections before it looks at its timers. */
  goOn(): void {
    const { messages, timers } = this.#held ?? { messages: [], timers: [] };
    this.#held = undefined;
    for (const run of [...messages, ...timers]) this.after(0, run);
  }

  skew(ms: number): void {
    this.#skewMs = ms;
    this.#setAt = this.#clock.now();
  }

  /** When it was last set, by the clock of all: milliseconds since the epoch. */
  get setAt(): number {
    return this.#setAt;
  }

  die(): void {
    this.#dead = true;
  }
}
