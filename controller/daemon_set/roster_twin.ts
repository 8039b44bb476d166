/** Rosters kept up from event to event, beside ones that look at every node, or counting what they look at. For tests. */
import type { Pod } from "../../kube/index.ts";
import { randomOf } from "../rollout/histories.ts";
import { RosterEvents } from "../rollout/roster_events.ts";
import { SortedNames } from "../rollout/sorted_names.ts";
import type { DaemonWorld } from "./histories.ts";
import { daemonSet, defaultOptions, Model, Refused } from "./model.ts";
import { type DaemonSetPlan, planDaemonSet } from "./plan.ts";
import type { Roster } from "./roster.ts";

/** The full computation: every node is looked at, whatever could be a count and a name. */
function looking(roster: Roster): Roster {
  const survey = roster.survey.bind(roster);
  roster.survey = (context) => {
    const seen = survey(context);
    const none = new SortedNames();
    const quiet = { ...seen.quiet, missing: none, begun: none, starting: 0, due: none, held: 0 };
    return { ...seen, places: [...seen.everyPlace()], quiet };
  };
  return roster;
}

/** Keeps a roster as the shell does, and holds every plan made from it against the full computation. */
export class Twin implements DaemonWorld {
  readonly model: Model;
  readonly #seed: number;
  readonly #settled = new WeakMap<object, boolean>();
  #roster: Roster;
  #generation: number | undefined;
  readonly #events = new RosterEvents();
  plans = 0;

  constructor(model: Model, seed: number) {
    this.model = model;
    this.#seed = seed;
    this.#roster = model.roster();
  }

  plan(): DaemonSetPlan {
    const { model } = this;
    this.#follow();
    model.failed.observe(model.set.status?.observedGeneration);
    this.plans++;
    const input = { options: defaultOptions, now: model.now };
    const seen = model.seen(looking(model.roster()));
    const full = planDaemonSet({ ...input, seen, random: randomOf(this.#seed + this.plans) });
    const random = randomOf(this.#seed + this.plans);
    const kept = planDaemonSet({ ...input, seen: model.seen(this.#roster), random, settled: this.#settled });
    if (JSON.stringify(kept) !== JSON.stringify(full))
      throw new Error(`kept: ${JSON.stringify(kept)}\nfull: ${JSON.stringify(full)}`);
    for (const name of full.failedOn) model.failed.replaced(name);
    return kept;
  }

  perform(...[action, stopAfter]: Parameters<DaemonWorld["perform"]>): void {
    try {
      this.model.perform(action, stopAfter);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** The events since the last pass, in one go. */
  #follow(): void {
    const { model } = this;
    const { generation } = model.set.metadata;
    const isNew = generation !== this.#generation;
    if (isNew) this.#roster = model.roster();
    this.#generation = generation;
    this.#events.follow(model, isNew ? undefined : this.#roster);
  }
}

/** A set on many nodes with the roster that its shell keeps, and the nodes that are looked at. */
export class Watched {
  readonly model: Model;
  readonly looked = new Set<string>();
  #roster: Roster;
  readonly #settled = new WeakMap<object, boolean>();
  #pods = new Map<string, Pod>();

  constructor(nodes: number, spec: Parameters<typeof daemonSet>[0] = {}) {
    const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(4, "0")}`);
    this.model = new Model(daemonSet(spec), names);
    this.#roster = this.model.roster();
    const get = this.model.nodes.get.bind(this.model.nodes);
    this.model.nodes.get = (name) => {
      this.looked.add(name);
      return get(name);
    };
  }

  /** For another spec there is another roster. */
  renew(): void {
    this.#roster = this.model.roster();
    this.#pods = new Map([...this.model.pods.values()].map((pod) => [pod.uid, pod]));
  }

  /** The events since the last pass, the pass, and its writes. */
  pass(): DaemonSetPlan {
    const plan = this.#plan();
    for (const action of plan.actions) this.model.perform(action);
    return plan;
  }

  /** The same, with its pods' writes begun and not answered. */
  send(): DaemonSetPlan {
    const { model } = this;
    const plan = this.#plan();
    for (const action of plan.actions) {
      if (action.type.endsWith(" pod")) model.writes.begin(action, model.now);
      else model.perform(action);
    }
    return plan;
  }

  /** The oldest write that is under way is answered. */
  answer(): void {
    this.model.writes.answer(0, (action) => this.model.perform(action));
  }

  nodeChanged(name: string): void {
    this.#roster.nodeChanged(name);
  }

  #plan(): DaemonSetPlan {
    const { model, looked } = this;
    const pods = new Map([...model.pods.values()].map((pod) => [pod.uid, pod]));
    for (const uid of new Set([...this.#pods.keys(), ...pods.keys()])) {
      const [before, after] = [this.#pods.get(uid), pods.get(uid)];
      if (before !== after) this.#roster.podChanged(before, after);
    }
    this.#pods = pods;
    looked.clear();
    const seen = model.seen(this.#roster);
    const input = { options: defaultOptions, now: model.now, random: Math.random, settled: this.#settled };
    const plan = planDaemonSet({ ...input, seen });
    model.set = { ...model.set, status: plan.status };
    return plan;
  }

  /** Kubelets and time. */
  live(): void {
    for (const name of [...this.model.pods.keys()]) this.model.kubelet(name);
    this.model.now += 50;
  }
}
