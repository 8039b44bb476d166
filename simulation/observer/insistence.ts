/** Whoever was refused waits before asking again, and what is collected as soon as it is made is not made without end. */
import { isByController } from "./disruptions.ts";
import { controllerOf } from "./fields.ts";
import type { Rule } from "./rule.ts";

const withinMs = 5_000;
/** Waits double from milliseconds on, and each try is one of five of the client. */
const most = 30;

export class Insistence {
  readonly #refused = new Map<string, number[]>();
  readonly #made = new Map<string, number[]>();

  /** What is made for one owner; of pods and claims there may be many. */
  readonly rule: Rule = (write) => {
    const { cluster, verb, resource, namespace, name, now } = write;
    if (!isByController(write) || verb !== "create" || /^(pods|persistentvolumeclaims)$/.test(resource))
      return [];
    const made = cluster.server.cluster.get(resource, { namespace, name });
    const owner = made && controllerOf(made);
    if (owner === undefined) return [];
    const times = this.#lately(this.#made, `${resource} ${owner.uid}`, now);
    return times.length === most + 1
      ? [`${owner.kind} ${namespace}/${owner.name}: ${times.length} were made within 5 s`]
      : [];
  };

  /** A sentence where the same write has been refused too often lately. Creations share their path. */
  refused(userAgent: string, method: string, path: string, now: number): string | undefined {
    if (method === "GET" || method === "POST" || /\/(leases|events)\//.test(path)) return undefined;
    const key = `${userAgent} ${method} ${path}`;
    const times = this.#lately(this.#refused, key, now);
    // Two controllers may write the same pod, and admission writes the ledgers of spreads and budgets beside their controllers.
    const writers = /\/(pods|workloadspreads|podunavailablebudgets)\//.test(path) ? 2 : 1;
    return times.length > writers * most
      ? `${key} was refused ${times.length} times within 5 s, and is sent again`
      : undefined;
  }

  /** This time and those before it that are not long ago. */
  #lately(all: Map<string, number[]>, key: string, now: number): readonly number[] {
    const times = (all.get(key) ?? []).filter((time) => time > now - withinMs);
    times.push(now);
    all.set(key, times);
    return times;
  }
}
