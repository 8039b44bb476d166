/** Whoever was refused waits before asking again. */

const withinMs = 5_000;
/** Waits double from milliseconds on, and each try is one of five of the client. */
const most = 30;

export class Insistence {
  readonly #refused = new Map<string, number[]>();

  /** A sentence where the same write has been refused too often lately. Creations share their path. */
  refused(userAgent: string, method: string, path: string, now: number): string | undefined {
    if (method === "GET" || method === "POST" || /\/(leases|events)\//.test(path)) return undefined;
    const key = `${userAgent} ${method} ${path}`;
    const times = (this.#refused.get(key) ?? []).filter((time) => time > now - withinMs);
    times.push(now);
    this.#refused.set(key, times);
    // Two controllers may write the same pod, and admission writes the ledgers of spreads and budgets beside their controllers.
    const writers = /\/(pods|workloadspreads|podunavailablebudgets)\//.test(path) ? 2 : 1;
    return times.length > writers * most
      ? `${key} was refused ${times.length} times within 5 s, and is sent again`
      : undefined;
  }
}
