/**
 * What happens in one run, as data drawn from its seed: what people do, what goes wrong. A story can be written to a file, shortened
 * and told again.
 */
import { type Random, seededRandom } from "../kube/index.ts";
import type { FaultRule } from "../sandbox/index.ts";
import type { Act } from "./act.ts";
import { type Applied, hasClaims } from "./applied.ts";
import { Chance } from "./chance.ts";
import { companionOf, makers, rivalOf } from "./manifests.ts";
import { meddling } from "./meddling.ts";
import { runtimeTroubles } from "./runtime_socket.ts";
import { sceneOf } from "./scenes.ts";

export interface Step {
  /** Milliseconds after the beginning. */
  readonly at: number;
  readonly do: Act;
}

export interface Story {
  readonly seed: number;
  readonly replicas: number;
  readonly shards: number;
  readonly nodes: number;
  /** Events of each resource that the server remembers for watches. */
  readonly history?: number;
  readonly namespaces: readonly string[];
  readonly steps: readonly Step[];
  /** Agents of nodes run by their own code, with files that may be damaged. Default: the sandbox does their work. */
  readonly agents?: boolean;
  /** Who is asked by a lifecycle hook answers after so long. Default: 1,000. */
  readonly hooksHeldMs?: number;
  /** When controllers hear late of what is stored, or their writes arrive late. */
  readonly stale: readonly Stale[];
}

/** From one time to another (milliseconds after the beginning), by so many milliseconds. */
export interface Stale {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

const namespaces = ["blue", "green"] as const;
/** Replicas have started, and nodes have their NodeImages. */
const beginMs = 5_000;
/** Of a network and a server that are well. */
export const promptMs = 1_500;

/** Of workloads and jobs in a story, those that were deleted among them. */
const mostNames = 7;

/** Watches that failed are tried again after a while. */
const reconnectMs = 45_000;

/** A request is sent again for so long while the server has no time for it: four times, each after a second and a bit. */
const busyMs = 4_400;
/** While it fails for another reason: after 100, 200, 400 and 800 ms, and up to half of that more. */
const failingMs = 2_250;

/** So much may have passed by then since a controller heard of what is stored, or sent a write that arrives. */
export function staleMsAt(stale: readonly Stale[], at: number): number {
  return Math.max(promptMs, ...stale.filter(({ from, to }) => from <= at && at <= to).map(({ ms }) => ms));
}

export function storyOf(seed: number): Story {
  return new Teller(seed, seededRandom(seed)).tell();
}

class Teller {
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #steps: Step[] = [];
  /** That are there. */
  #applied: Applied[] = [];
  #names = 0;
  readonly #replicas: number;
  readonly #nodes: number;
  readonly #stale: Stale[] = [];
  #now = beginMs;

  constructor(seed: number, random: Random) {
    this.#seed = seed;
    this.#chance = new Chance(random);
    this.#replicas = this.#chance.whole(1, 3);
    this.#nodes = this.#chance.whole(2, 5);
  }

  tell(): Story {
    const chance = this.#chance;
    for (let left = chance.whole(1, 4); left > 0; left--) this.#apply();
    for (let left = chance.whole(5, 25); left > 0; left--) {
      this.#now += chance.between(20, 60_000);
      if (this.#names < mostNames && (this.#applied.length === 0 || chance.is(0.05))) this.#apply();
      else if (chance.is(0.06)) this.#maintain();
      else if (chance.is(0.1)) this.#play();
      else this.#add(chance.is(0.55) ? this.#people() : this.#trouble());
    }
    return {
      seed: this.#seed,
      replicas: this.#replicas,
      shards: chance.is(0.25) ? 2 : 1,
      history: chance.oneOf([10, 2_000]),
      agents: true,
      hooksHeldMs: chance.between(50, 30_000),
      nodes: this.#nodes,
      namespaces,
      steps: this.#steps.sort((a, b) => a.at - b.at),
      stale: this.#stale,
    };
  }

  #add(act: Act): void {
    this.#steps.push({ at: this.#now, do: act });
  }

  #apply(): void {
    const chance = this.#chance;
    this.#names += 1;
    const name = `w${this.#names}`;
    const applied = chance.oneOf(makers)(chance, chance.oneOf(namespaces), name);
    const rival = rivalOf(chance, applied);
    if (rival !== undefined) this.#create(rival);
    this.#create(applied);
    const companion = chance.is(0.6) ? companionOf(chance, applied) : undefined;
    if (companion !== undefined) this.#create(companion);
  }

  #create(applied: Applied): void {
    this.#applied.push(applied);
    this.#add({ act: "create", path: applied.path, manifest: applied.manifest });
  }

  /** Nodes are drained one soon after another, which only budgets slow down. */
  #maintain(): void {
    const chance = this.#chance;
    const begin = this.#now;
    for (let node = 1; node <= this.#nodes; node++) {
      this.#add({ act: "drain node", name: `node${node}`, forMs: chance.between(5_000, 60_000) });
      this.#now += chance.between(20, 3_000);
    }
    this.#now = begin;
  }

  #play(): void {
    const [first, ...others] = this.#applied;
    if (first === undefined || this.#stale.some(({ to }) => to > this.#now)) return;
    const { steps, forMs, lateMs } = sceneOf(this.#chance, [first, ...others], this.#nodes);
    for (const { afterMs, do: act } of steps) this.#steps.push({ at: this.#now + afterMs, do: act });
    if (lateMs > 0) this.#hearLate(forMs, lateMs);
    this.#now += forMs;
  }

  #people(): Act {
    const chance = this.#chance;
    const [first, ...others] = this.#applied;
    if (first === undefined) return this.#podGoes();
    const applied = chance.oneOf([first, ...others]);
    const { path, change } = applied;
    switch (chance.whole(0, 9)) {
      case 0:
        return chance.is(0.4) ? this.#delete(applied) : this.#podGoes();
      case 1:
        return this.#applied.some((each) => hasClaims(each.manifest)) && chance.is(0.5)
          ? { act: chance.oneOf(["delete claim", "replace claim"]), share: chance.share() }
          : this.#podGoes();
      case 2:
        return chance.is(0.5)
          ? { act: "recreate containers", share: chance.share(), force: chance.is(0.3) }
          : {
              act: "drain node",
              name: `node${chance.whole(1, this.#nodes)}`,
              forMs: chance.between(200, 90_000),
            };
      default:
        return { act: "change", path, patch: change(chance) };
    }
  }

  /** As often as not somebody makes it again by the same name: before all of it is gone, or later. */
  #delete(deleted: Applied): Act {
    const chance = this.#chance;
    const { path, manifest } = deleted;
    if (chance.is(0.5))
      this.#steps.push({ at: this.#now + chance.between(20, 60_000), do: { act: "create", path, manifest } });
    else this.#applied = this.#applied.filter((each) => each !== deleted);
    return { act: "delete", path };
  }

  #podGoes(): Act {
    return { act: this.#chance.oneOf(["delete pod", "evict pod"]), share: this.#chance.share() };
  }

  #trouble(): Act {
    const chance = this.#chance;
    const number = chance.whole(0, this.#replicas - 1);
    const name = `node${chance.whole(1, this.#nodes)}`;
    const forMs = chance.between(200, 90_000);
    switch (chance.whole(0, 24)) {
      case 9:
      case 10:
        return { act: "fail probe", share: chance.share(), forMs };
      case 11: {
        const away = chance.between(200, 20_000);
        this.#hearLate(away, away + reconnectMs);
        // What happens meanwhile is what controllers may never hear of.
        const before = this.#now;
        for (let left = chance.whole(0, 4); left > 0; left--) {
          this.#now = before + chance.between(1, away);
          this.#add(this.#people());
        }
        this.#now = before;
        return { act: "restart server", forMs: away };
      }
      case 0:
      case 1:
      case 2: {
        const afterWrites = chance.is(0.7) ? chance.whole(1, 12) : 0;
        return { act: "kill replica", number, afterWrites, downMs: chance.between(10, 40_000) };
      }
      case 3:
        return { act: "crash container", share: chance.share() };
      case 4:
        return { act: chance.oneOf(["kill node", "cordon node", "drain node"]), name, forMs };
      case 5:
        return { act: "fail pull", image: `${chance.oneOf(["web", "side"])}:${chance.whole(1, 4)}`, forMs };
      case 6:
        return {
          act: "break watches",
          how: chance.oneOf(["end", "drop", "truncate"]),
          share: chance.share(),
        };
      case 7:
        this.#hearLate(forMs, forMs);
        return { act: "silence watches", share: chance.share(), forMs };
      case 14: {
        const ms = chance.between(200, 20_000);
        this.#hearLate(forMs, ms + reconnectMs);
        return { act: "move to server behind", number, ms, forMs };
      }
      case 15: {
        const afterWrites = chance.is(0.7) ? chance.whole(1, 12) : 0;
        return { act: "stop replica", number, afterWrites, forMs: chance.between(200, 40_000) };
      }
      case 16:
        return chance.is(0.5)
          ? { act: "tear state file", name, share: chance.share(), how: chance.oneOf(["half", "garbage"]) }
          : { act: "lose state file", name, share: chance.share() };
      case 17:
        return { act: "fill disk", name, forMs };
      case 18: {
        const afterSteps = chance.is(0.7) ? chance.whole(1, 12) : 0;
        return { act: "restart agent", name, afterSteps, downMs: chance.between(10, 40_000) };
      }
      case 19:
      case 20:
        return { act: "fault", rule: this.#disorder(forMs), forMs };
      case 21:
        return { act: "fault", rule: askedTwice(chance), forMs };
      case 22:
        return meddling(chance, this.#applied, forMs);
      case 23: {
        const how = chance.oneOf(runtimeTroubles);
        return { act: "fail runtime", name, how, afterCalls: chance.whole(0, 3), forMs };
      }
      case 24:
        return { act: "hang pulls", name, forMs };
      case 8:
        return { act: "skew clock", number, ms: chance.whole(-600_000, 600_000) };
      default:
        return { act: "fault", rule: this.#rule(forMs), forMs };
    }
  }

  /** Until so long after the trouble that all of it has arrived. */
  #hearLate(forMs: number, ms: number): void {
    const late = ms + promptMs;
    this.#stale.push({ from: this.#now, to: this.#now + forMs + late, ms: late });
  }

  /** Watches tell things twice, or in another order. */
  #disorder(forMs: number): FaultRule {
    const chance = this.#chance;
    const of = { verb: "watch", userAgent: "replica-", probability: chance.oneOf([0.05, 0.3, 1]) };
    if (chance.is(0.5)) return { ...of, effect: { type: "repeat", versions: chance.between(1, 300) } };
    const ms = chance.between(20, 8_000);
    this.#hearLate(forMs, ms);
    return { ...of, effect: { type: "shuffle", ms } };
  }

  #rule(forMs: number): FaultRule {
    const chance = this.#chance;
    const of = { userAgent: "replica-", probability: chance.oneOf([0.05, 0.3, 1]) };
    const verb = chance.oneOf([["create", "patch", "delete", "update"], ["patch"], ["create"]]);
    const kind = chance.whole(0, 6);
    switch (kind) {
      case 0: {
        const ms = chance.between(20, 8_000);
        this.#hearLate(forMs, 2 * ms);
        return { ...of, verb: [...verb, "get", "list"], effect: { type: "latency", ms, jitterMs: ms } };
      }
      case 1: {
        const ms = chance.between(20, 8_000);
        this.#hearLate(forMs, ms);
        return { ...of, verb: ["watch", "list"], effect: { type: "lag", ms } };
      }
      case 2: {
        const code = chance.oneOf([409, 429, 500, 503, 504]);
        if (code !== 409) this.#hearLate(forMs, code === 429 ? busyMs : failingMs);
        return { ...of, verb, effect: { type: "status", code } };
      }
      case 3:
      case 4:
        this.#hearLate(forMs, failingMs);
        return { ...of, verb, effect: { type: "drop", when: kind === 3 ? "before" : "after" } };
      case 5:
        return { verb: "webhook", probability: of.probability, effect: { type: "timeout" } };
      default:
        return { ...of, verb: ["watch", "list"], effect: { type: "expire" } };
    }
  }
}

/** The network or the server sends a review again, or another webhook has changed the object after ours. */
function askedTwice(chance: Chance): FaultRule {
  const effect = chance.oneOf<FaultRule["effect"]>([
    { type: "retry", when: "after" },
    { type: "retry", when: "meanwhile" },
    { type: "reinvoke" },
  ]);
  return { verb: "webhook", probability: chance.oneOf([0.3, 1]), effect };
}
