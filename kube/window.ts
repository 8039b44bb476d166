/**
 * The window of requests in flight: bounded, with priorities, fair between flows, paused when the server asks for it.
 * Its size is found by window_size.ts; while pods are brought back into service, it has another one, which is to be good for
 * latency. Watches do not pass through it, and what keeps the leadership does not wait for it.
 */
import type { Priority } from "./client_types.ts";
import type { Clock, Timer } from "./clock.ts";
import { AbortListeners } from "./core/abort_listeners.ts";
import { KubeError } from "./errors.ts";
import type { Metrics } from "./metrics_types.ts";
import {
  type Aim,
  aims,
  limitOf,
  mostInFlight,
  type Sample,
  stepWindowSize,
  type WindowSize,
  windowSizeAt,
} from "./window_size.ts";

export interface WindowOptions {
  clock: Clock;
  metrics?: Metrics;
  /** Default 8. */
  start?: number;
  /** Bounds of the size, within 4..64. */
  max?: number;
  min?: number;
}

/** How the request went, as far as the window's size is concerned. */
export type SlotOutcome = "answered" | "refused" | "uncounted";

export interface Window {
  /** Waits for a slot. Rejects with the signal's reason when it aborts first. */
  acquire(priority: Priority, flow: string, signal?: AbortSignal): Promise<WindowSlot>;
  /** Gives no slot for `ms` (Retry-After). */
  pause(ms: number): void;
  readonly limit: number;
  readonly inFlight: number;
  readonly waiting: number;
  close(): void;
}

export interface WindowSlot {
  release(outcome: SlotOutcome): void;
}

type WaitingPriority = Exclude<Priority, "leadership">;

interface Waiter {
  readonly priority: WaitingPriority;
  readonly grant: (slot: WindowSlot) => void;
  readonly fail: (reason: unknown) => void;
  readonly stopListening: () => void;
}

const order: readonly WaitingPriority[] = ["urgent", "prompt", "high", "normal", "low"];
/**
 * After so many entries of a higher priority in a row a waiting lower one is let in: a status or an event, never what takes
 * a pod out of service while others wait to be brought back. There are no more of those than were let in before.
 */
const turnsBeforeYield = 16;

/** Weight of the newest slot in the share of urgent ones. */
const newest = 1 / 16;
/** Of all slots: pods are being taken out of service and brought back. New pods have none. */
const urgentShareOfRollouts = 0.1;

/** Takes nobody's place. */
const beside: WindowSlot = { release: () => undefined };

export function createWindow(options: WindowOptions): Window {
  return new InFlightWindow(options);
}

class InFlightWindow implements Window {
  readonly #clock: Clock;
  readonly #metrics: Metrics | undefined;
  readonly #min: number;
  readonly #max: number;
  readonly #lines: Record<WaitingPriority, FlowLine> = {
    urgent: new FlowLine(),
    prompt: new FlowLine(),
    high: new FlowLine(),
    normal: new FlowLine(),
    low: new FlowLine(),
  };
  readonly #sizes: Record<Aim, WindowSize>;
  readonly #aborts = new AbortListeners();
  #urgentShare = 0;
  #inFlight = 0;
  #turns = 0;
  /** Ended by its timer alone: compared with the clock, a timer that fires a little early would end nothing. */
  #pause: { readonly until: number; readonly timer: Timer } | undefined;
  #closed = false;

  constructor(options: WindowOptions) {
    this.#clock = options.clock;
    this.#metrics = options.metrics;
    this.#min = options.min ?? 4;
    this.#max = options.max ?? mostInFlight;
    this.#sizes = {
      throughput: windowSizeAt("throughput", options.start ?? 8),
      latency: windowSizeAt("latency", options.start ?? 6),
    };
  }

  get limit(): number {
    return Math.min(this.#max, Math.max(this.#min, limitOf(this.#sizes[this.#aim])));
  }

  /** What is in flight beyond what the server works on waits there, and an urgent write behind it: no priority helps it. */
  get #aim(): Aim {
    return this.#urgentShare > urgentShareOfRollouts ? "latency" : "throughput";
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return order.reduce((sum, priority) => sum + this.#lines[priority].size, 0);
  }

  acquire(priority: Priority, flow: string, signal?: AbortSignal): Promise<WindowSlot> {
    if (this.#closed) return Promise.reject(new KubeError("Aborted", "the client is closed"));
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (priority === "leadership") return Promise.resolve(beside);
    if (this.#inFlight < this.limit && this.waiting === 0 && this.#pause === undefined)
      return Promise.resolve(this.#slot(priority));
    return new Promise((resolve, reject) => {
      const line = this.#lines[priority];
      const onAbort = (): void => {
        line.remove(flow, waiter);
        reject(signal?.reason);
      };
      const stopListening = signal === undefined ? () => undefined : this.#aborts.add(signal, onAbort);
      const waiter: Waiter = { priority, grant: resolve, fail: reject, stopListening };
      line.push(flow, waiter);
      this.#report();
    });
  }

  pause(ms: number): void {
    const until = this.#clock.monotonic() + ms;
    if (this.#pause !== undefined && until <= this.#pause.until) return;
    this.#pause?.timer.cancel();
    const timer = this.#clock.after(ms, () => {
      this.#pause = undefined;
      this.#fill();
    });
    this.#pause = { until, timer };
  }

  close(): void {
    this.#closed = true;
    this.#pause?.timer.cancel();
    for (const priority of order) {
      for (let waiter = this.#lines[priority].shift(); waiter; waiter = this.#lines[priority].shift()) {
        waiter.stopListening();
        waiter.fail(new KubeError("Aborted", "the client is closed"));
      }
    }
  }

  #slot(priority: WaitingPriority): WindowSlot {
    this.#inFlight++;
    this.#urgentShare += ((priority === "urgent" ? 1 : 0) - this.#urgentShare) * newest;
    const since = this.#clock.monotonic();
    let released = false;
    return {
      release: (outcome) => {
        if (released) return;
        released = true;
        const full = this.#inFlight >= this.limit;
        this.#inFlight--;
        if (outcome === "refused") for (const aim of aims) this.#step(aim, { type: "refused" });
        if (outcome === "answered") {
          const latencyMs = this.#clock.monotonic() - since;
          this.#step(this.#aim, { type: "answer", latencyMs, full });
        }
        this.#fill();
        this.#report();
      },
    };
  }

  #step(aim: Aim, sample: Sample): void {
    this.#sizes[aim] = stepWindowSize(this.#sizes[aim], sample);
  }

  #fill(): void {
    while (this.#inFlight < this.limit && this.#pause === undefined) {
      const waiter = this.#next();
      if (!waiter) return;
      waiter.stopListening();
      waiter.grant(this.#slot(waiter.priority));
    }
  }

  #next(): Waiter | undefined {
    const waiting = order.filter((priority) => this.#lines[priority].size > 0);
    const first = waiting[0];
    if (first === undefined) return undefined;
    if (waiting.length === 1) {
      this.#turns = 0;
      return this.#lines[first].shift();
    }
    this.#turns++;
    const yields = this.#turns % turnsBeforeYield === 0;
    const yieldedTo = waiting.filter((priority) => priority !== first && priority !== "high");
    const lower = yieldedTo[(this.#turns / turnsBeforeYield) % yieldedTo.length];
    return this.#lines[yields && lower ? lower : first].shift();
  }

  #report(): void {
    this.#metrics?.window(this.limit, this.#inFlight, this.waiting);
  }
}

/** Waiters of one priority, round robin over flows. */
class FlowLine {
  readonly #flows = new Map<string, Set<Waiter>>();
  size = 0;

  push(flow: string, waiter: Waiter): void {
    const line = this.#flows.get(flow);
    if (line) line.add(waiter);
    else this.#flows.set(flow, new Set([waiter]));
    this.size++;
  }

  shift(): Waiter | undefined {
    for (const [flow, line] of this.#flows) {
      this.#flows.delete(flow);
      for (const waiter of line) {
        line.delete(waiter);
        if (line.size > 0) this.#flows.set(flow, line);
        this.size--;
        return waiter;
      }
    }
    return undefined;
  }

  remove(flow: string, waiter: Waiter): void {
    const line = this.#flows.get(flow);
    if (!line?.delete(waiter)) return;
    this.size--;
    if (line.size === 0) this.#flows.delete(flow);
  }
}
