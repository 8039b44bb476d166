/** How long this process has known what admission has let pass: dates are of the clock of whichever replica answered. */
import type { PodUnavailableBudgetStatus } from "../../../crds/index.ts";
import type { Clock } from "../../../kube/index.ts";
import type { BudgetEntry } from "./plan.ts";

export class KnownEntries {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By key of the budget: since when (monotonic) each entry of its status. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** What gives the age of each entry of the status, in milliseconds. Those that are not in it are forgotten. */
  ages(key: string, status: PodUnavailableBudgetStatus | undefined): (entry: BudgetEntry) => number {
    const now = this.#clock.monotonic();
    const before = this.#since.get(key);
    const entries = [status?.disruptedPods, status?.unavailablePods].flatMap((entries = {}) =>
      Object.entries(entries).map(([name, date]) => idOf({ name, date })),
    );
    const since = new Map(entries.map((id) => [id, before?.get(id) ?? now]));
    if (since.size === 0) this.#since.delete(key);
    else this.#since.set(key, since);
    return (entry) => now - (since.get(idOf(entry)) ?? now);
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}

function idOf({ name, date }: BudgetEntry): string {
  return `${name} ${date}`;
}
