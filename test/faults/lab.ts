/**
 * One sandbox in which scenarios run side by side, each in a namespace with controllers of its own. Controllers die
 * as by SIGKILL: from one moment on nothing that they send arrives, and nothing that was answered reaches them.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Controllers,
  controllerOptions,
  parseFeatureGates,
  startControllers,
} from "../../controller/index.ts";
import { type Client, createClient, nullLog, systemClock, undiciTransport } from "../../kube/index.ts";
import type { FaultRule } from "../../sandbox/index.ts";
import type { TestSandbox } from "../cases/sandbox_target.ts";
import { extremesOf, Trail } from "../cases/trail.ts";
import { Patience } from "../cluster/patience.ts";
import type { Place, Scenario } from "./scenarios.ts";

/** What is wrong with the world of the controller that comes after the dead one, or of the dying one. */
export interface Adversity {
  readonly name: string;
  readonly dying?: Omit<FaultRule, "userAgent">;
  readonly next?: Omit<FaultRule, "userAgent">;
}

/** One life of a controller; its user agent tells its requests from all others. */
export class Life {
  readonly agent: string;
  readonly #sandbox: TestSandbox;
  readonly #client: Client;
  readonly #controllers: Controllers;
  #dead = false;

  constructor(
    sandbox: TestSandbox,
    namespace: string,
    number: number,
    { gates = "", everywhere = false }: LabOptions = {},
  ) {
    this.agent = `${namespace}/life-${number}/`;
    this.#sandbox = sandbox;
    this.#client = createClient({
      credentials: sandbox.credentials,
      clock: systemClock,
      random: Math.random,
      userAgent: this.agent,
      transport: undiciTransport({ clock: systemClock }),
    });
    this.#controllers = startControllers({
      client: this.#client,
      clock: systemClock,
      random: Math.random,
      log: nullLog,
      options: controllerOptions({
        namespace: everywhere ? "" : namespace,
        systemNamespace: namespace,
        gates: parseFeatureGates(gates),
      }),
    });
    // Who dies before it has synced never says so.
    this.#controllers.synced.catch(() => undefined);
  }

  get synced(): Promise<void> {
    return this.#controllers.synced;
  }

  /** From this moment on it is as good as dead: its requests are cut, its watches end. */
  cut(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#sandbox.faults.add({ userAgent: this.agent, effect: { type: "drop", when: "before" } });
    for (const watch of this.#sandbox.faults.watches({ userAgent: this.agent })) watch.drop();
  }

  async end(): Promise<void> {
    this.cut();
    await this.#controllers.stop(0);
    await this.#client.close();
  }
}

/** Long against every wait between two writes of a scenario that goes on. */
const stallMs = 1_500;
/** Without any change. */
const limitMs = 20_000;

export interface RunResult {
  /** Writes of the first controller from the change on. */
  readonly writes: number;
  /** Whether the controller died before the scenario was over. */
  readonly died: boolean;
}

/** How controllers are started. */
export interface LabOptions {
  /** As `--feature-gates` takes them. */
  readonly gates?: string;
  /** They care for all namespaces, not just for that of their scenario: one scenario at a time. */
  readonly everywhere?: boolean;
}

export class Lab {
  readonly #sandbox: TestSandbox;
  readonly #options: LabOptions;
  #count = 0;

  constructor(sandbox: TestSandbox, options: LabOptions = {}) {
    this.#sandbox = sandbox;
    this.#options = options;
  }

  /** Runs the scenario; the controller dies right after its write number `deathAfter` (from 1) is stored. */
  async run(scenario: Scenario, deathAfter: number, adversity: Adversity): Promise<RunResult> {
    const namespace = `broken-${++this.#count}`;
    const { api, faults } = this.#sandbox;
    await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const place: Place = { api, namespace };
    const story = this.#storyOf(namespace);
    const first = new Life(this.#sandbox, namespace, 1, this.#options);
    const lives = [first];
    try {
      await inTime(first.synced, `${namespace}: caches were not filled`);
      if (scenario.before !== undefined) await api.create(scenario.before, namespace);
      await scenario.prepare?.(place);
      await reached(place, async () => scenario.settledBefore?.(place), "its beginning");
      const trail = await new Trail(api, "pods", namespace).start();
      if (adversity.dying !== undefined) faults.add({ ...adversity.dying, userAgent: first.agent });
      const death = this.#deathOf(first, deathAfter);
      await scenario.act(place);
      // A controller that is kept in the dark may stall before that write: then it dies where it stalled.
      if (adversity.dying !== undefined) death.onStall();
      await reached(
        place,
        () => Promise.race([scenario.settled(place), death.happened]),
        "its end or a death",
      );
      const died = death.died();
      death.stop();
      if (died) {
        await first.end();
        const next = new Life(this.#sandbox, namespace, 2, this.#options);
        lives.push(next);
        if (adversity.next !== undefined) faults.add({ ...adversity.next, userAgent: next.agent });
        await reached(place, () => scenario.settled(place), "its end after the death");
      }
      await sleep(150);
      await scenario.settled(place);
      const least = extremesOf(await trail.stop());
      assert.ok(
        least.leastAvailable >= (scenario.leastAvailable ?? 0),
        `available fell to ${least.leastAvailable}: ${least.worst}`,
      );
      return { writes: death.writes(), died };
    } catch (error) {
      throw new Error(`${messageOf(error)}\nwrites: ${story.lines.join("; ")}`, { cause: error });
    } finally {
      story.end();
      for (const life of lives) await life.end();
      await scenario.leave?.(place);
      await api.remove("namespaces", namespace);
    }
  }

  /** Every stored write in the namespace, for the explanation of a failure. */
  #storyOf(namespace: string): { readonly lines: readonly string[]; end(): void } {
    const lines: string[] = [];
    const start = performance.now();
    const end = this.#sandbox.faults.onWrite((write) => {
      if (write.namespace !== namespace || write.resource === "events") return;
      const who = write.userAgent.startsWith(namespace)
        ? write.userAgent.slice(namespace.length + 1, -1)
        : "";
      const when = Math.round(performance.now() - start);
      lines.push(`${when} ms ${who} ${write.verb} ${write.resource} ${write.name}`);
    });
    return { lines, end };
  }

  #deathOf(life: Life, deathAfter: number) {
    let stalled: NodeJS.Timeout | undefined;
    let writes = 0;
    let died = false;
    let tell: () => void = () => undefined;
    const happened = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const now = () => {
      died = true;
      life.cut();
      tell();
    };
    const unsubscribe = this.#sandbox.faults.onWrite((write) => {
      if (write.userAgent !== life.agent || write.resource === "events") return;
      stalled?.refresh();
      if (++writes === deathAfter) now();
    });
    const onStall = () => {
      stalled = setTimeout(now, stallMs);
    };
    const stop = () => {
      clearTimeout(stalled);
      unsubscribe();
    };
    return { writes: () => writes, died: () => died, happened, onStall, stop };
  }
}

export async function inTime<T>(work: Promise<T>, failure: string): Promise<T> {
  const patience = new Patience(limitMs);
  const done = new AbortController();
  const late = async (): Promise<never> => {
    while (!patience.isOver) await sleep(patience.leftMs, undefined, { signal: done.signal });
    throw new Error(`${failure} within ${patience}`);
  };
  try {
    return await Promise.race([work, late()]);
  } finally {
    done.abort();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Probes until it no longer throws; time begins again whenever the probe has something else to complain about. */
export async function reached(
  place: Place,
  probe: () => Promise<void> | undefined,
  what: string,
): Promise<void> {
  let patience = new Patience(limitMs);
  let last = "";
  for (;;) {
    try {
      await probe();
      return;
    } catch (error) {
      const message = messageOf(error);
      if (message !== last) patience = new Patience(limitMs);
      last = message;
      if (patience.isOver) {
        const where = `${place.namespace} did not reach ${what}`;
        throw new Error(`${where}, nothing changed within ${patience}: ${message}`, { cause: error });
      }
    }
    await sleep(25);
  }
}
