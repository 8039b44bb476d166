/**
 * One listener on a signal for all who wait for its abort. A signal looks through all of its listeners whenever one is added or removed:
 * where thousands wait with the same one, that is most of what they cost.
 */
export class AbortListeners {
  readonly #bySignal = new Map<AbortSignal, Group>();

  /** Calls once when the signal is aborted, in the order of these calls. Returns how to give that up. */
  add(signal: AbortSignal, onAbort: () => void): () => void {
    const group = this.#bySignal.get(signal) ?? this.#listen(signal);
    group.waiting.add(onAbort);
    return () => {
      group.waiting.delete(onAbort);
      if (group.waiting.size === 0) group.leave();
    };
  }

  #listen(signal: AbortSignal): Group {
    const waiting = new Set<() => void>();
    const leave = (): void => {
      signal.removeEventListener("abort", aborted);
      if (this.#bySignal.get(signal) === group) this.#bySignal.delete(signal);
    };
    const aborted = (): void => {
      leave();
      for (const onAbort of waiting) onAbort();
    };
    const group = { waiting, leave };
    this.#bySignal.set(signal, group);
    signal.addEventListener("abort", aborted);
    return group;
  }
}

interface Group {
  readonly waiting: Set<() => void>;
  readonly leave: () => void;
}
