/**
 * A pod whose containers start one after another as a small world: the controller that lets them go, the kubelet, the collector of
 * what pods leave behind, and people. Spec: containers 2.2.
 */
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import type { WriteEffect } from "../../controller/plan/effects.ts";
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicPatch,
  type JsonObject,
  jsonEqual,
  own,
  PatchError,
} from "../../kube/core/index.ts";
import type { KubeErrorCode } from "../../kube/index.ts";
import { isMet, nameOfWrite } from "./effect_passes.ts";
import { answeredStep, type Followed, type Steps, stepsOf } from "./effect_steps.ts";
import type { Move, SmallWorld } from "./explore.ts";
import {
  type Execution,
  type Launching,
  LaunchProcess,
  type MakeReconciler,
  type Memory,
  nothingKnown,
  POD,
  uidOf,
} from "./launch_controller.ts";
import {
  annotationOf,
  BARRIER,
  goingOf,
  isGoing,
  isLeft,
  isOwn,
  isReady,
  keyOfPriority,
  keysIn,
  keysOf,
  ownersOf,
  podOf,
  statusOf,
  withContainer,
  withStatuses,
} from "./launch_pod.ts";

export interface LaunchStage {
  readonly name: string;
  /** Undefined: the time for it has not come. */
  readonly change: (stored: Stored) => Partial<Stored> | undefined;
}

export interface LaunchScenario {
  readonly name: string;
  /** Of the containers, by their names. */
  readonly priorities: Readonly<Record<string, number>>;
  readonly map: JsonObject | undefined;
  /** A container that never gets ready. */
  readonly broken: string | undefined;
  readonly stages: readonly LaunchStage[];
  readonly end: "launched" | "waiting";
  readonly make: MakeReconciler;
}

interface Stored {
  readonly pod: JsonObject | undefined;
  /** Whose keys let containers go. */
  readonly map: JsonObject | undefined;
}

interface LaunchState extends Stored {
  readonly seen: JsonObject | undefined;
  readonly memory: Memory;
  readonly isQueued: boolean;
  readonly wakeAt: number | undefined;
  readonly pass: (Pick<Execution, "pod" | "at"> & { readonly steps: Steps }) | undefined;
  /** Sent by a controller that died. */
  readonly late: readonly WriteEffect[];
  /** UID of a ConfigMap that the collector has decided about. */
  readonly condemned: string;
  /** Containers of the pod that have been ready. */
  readonly beenReady: readonly string[];
  readonly maps: number;
  /**
   * Somebody has deleted the ConfigMap, or a controller that died has taken keys back: they come back with the next level
   * (docs/compatibility.md), if that is reached.
   */
  readonly isLost: boolean;
  readonly now: number;
  readonly stage: number;
  readonly mishaps: number;
}

const COMPLETED = "apps.kruise.io/container-launch-priority-completed";
const RELEASED = "refit.dev/launch-released";
/** For so long people may wait before they go on, and it is looked what time alone makes of the rest. */
const WAITING_MS = 16_000;
const LASTS_MS = 40_000;
/** As the shell waits after a race, and the queue after a refusal. */
const AGAIN_MS = { race: 100, refused: 1000 };

/** `mishaps`: how many may happen on one way. */
export function launchWorld(scenario: LaunchScenario, mishaps: number): SmallWorld<LaunchState> {
  const world = new LaunchWorld(scenario, mishaps);
  return {
    start: {
      pod: podOf("pod-1", scenario.priorities),
      map: scenario.map,
      seen: undefined,
      memory: nothingKnown,
      isQueued: false,
      wakeAt: undefined,
      pass: undefined,
      late: [],
      condemned: "",
      beenReady: [],
      maps: 0,
      isLost: false,
      now: 0,
      stage: 0,
      mishaps,
    },
    keyOf,
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => world.unsettled(state),
  };
}

function keyOf(state: LaunchState): string {
  const { pod, map, seen, memory, pass, late, condemned, now, wakeAt, beenReady } = state;
  const ofMemory = [...memory].map(([id, one]) => [
    id,
    objectAt(one.pod, "status"),
    Math.min(now - one.at, 5000),
  ]);
  return JSON.stringify([
    pod,
    map && [objectAt(map, "data"), ownersOf(map), uidOf(map) === condemned],
    seen === pod || seen,
    ofMemory,
    pass && [pass.steps.write, pass.steps.outcomes.size, pass.pod === seen || pass.pod, now - pass.at],
    late.map((write) => JSON.stringify(write)).sort(),
    [...beenReady].sort(),
    [state.isQueued, state.isLost, wakeAt, now, state.stage, state.mishaps],
  ]);
}

class LaunchWorld {
  readonly #scenario: LaunchScenario;
  readonly #mishaps: number;

  constructor(scenario: LaunchScenario, mishaps: number) {
    this.#scenario = scenario;
    this.#mishaps = mishaps;
  }

  movesOf(state: LaunchState): readonly Move<LaunchState>[] {
    const { pod, seen, pass, isQueued, late } = state;
    const moves: Move<LaunchState>[] = [...this.#kubeletMoves(state), ...collectorMoves(state)];
    const move = (name: string, take: () => LaunchState): void => void moves.push({ name, take });
    if (pod !== seen) move("the watch tells of the pod", () => this.#heard(state, pod));
    if (isQueued && pass === undefined) move("the controller passes", () => this.#passed(state));
    if (pass !== undefined)
      move(`${nameOfWrite(pass.steps.write)} arrives`, () => this.#arrived(state, pass.steps));
    for (const write of late)
      move(`${nameOfWrite(write)} arrives late`, () => {
        const { state: next } = this.#stored(state, write);
        const isTaken = isOwn(state.map, pod) && keysOf(next.map) < keysOf(state.map);
        // One that takes the ConfigMap over just before the collector comes is known to nobody any more.
        const isLost = state.isLost || isTaken || state.condemned !== "";
        return { ...next, isLost, late: late.filter((other) => other !== write) };
      });
    const isQuiet = moves.length === 0;
    const stage = this.#scenario.stages[state.stage];
    const change = stage?.change(state);
    if (stage !== undefined && change !== undefined)
      move(stage.name, () => changed({ ...state, stage: state.stage + 1 }, change));
    const { wakeAt } = state;
    if (isQuiet && wakeAt !== undefined && wakeAt <= (stage === undefined ? LASTS_MS : WAITING_MS))
      move("time passes", () => ({ ...state, now: wakeAt, wakeAt: undefined, isQueued: true }));
    return state.mishaps > 0 ? [...moves, ...this.#mishapsOf(state)] : moves;
  }

  #kubeletMoves(state: LaunchState): Move<LaunchState>[] {
    const { pod, map, beenReady } = state;
    if (pod === undefined) return [];
    const move = (name: string, take: () => LaunchState): Move<LaunchState> => ({ name, take });
    if (isGoing(pod)) return [move("the pod goes", () => changed(state, { pod: undefined }))];
    const { priorities, broken } = this.#scenario;
    const names = Object.keys(priorities);
    if (objectsAt(objectAt(pod, "status"), "containerStatuses").length === 0) {
      const containerStatuses = names.map((name) => ({
        name,
        ready: false,
        restartCount: 0,
        containerID: "",
      }));
      return [move("the kubelet reports", () => ({ ...state, pod: withStatuses(pod, containerStatuses) }))];
    }
    return names.flatMap((name) => {
      const isStarted = textAt(statusOf(pod, name), "containerID") !== "";
      const key = keyOfPriority(priorities[name] ?? 0);
      if (!isStarted && own(objectAt(map ?? {}, "data"), key) !== undefined)
        return [
          move(`${name} starts`, () => {
            if (isOwn(map, pod)) this.#checkOrder(name, beenReady);
            return { ...state, pod: withContainer(pod, name, { containerID: `c://${name}` }) };
          }),
        ];
      if (!isStarted || isReady(pod, name) || name === broken) return [];
      const been = beenReady.includes(name) ? beenReady : [...beenReady, name];
      return [
        move(`${name} is ready`, () => ({
          ...state,
          pod: withContainer(pod, name, { ready: true }),
          beenReady: been,
        })),
      ];
    });
  }

  /** Rule 4. */
  #checkOrder(name: string, ready: readonly string[]): void {
    const missing = this.#above(this.#scenario.priorities[name] ?? 0).filter(
      (other) => !ready.includes(other),
    );
    if (missing.length > 0) throw new Error(`${name} starts before ${missing} was ready`);
  }

  #above(priority: number): string[] {
    return Object.entries(this.#scenario.priorities).flatMap(([name, other]) =>
      other > priority ? [name] : [],
    );
  }

  #heard(state: LaunchState, seen: JsonObject | undefined): LaunchState {
    const process = new LaunchProcess(state.memory, state.seen, this.#scenario.make);
    return after({ ...state, seen }, process.hear(seen));
  }

  #passed(state: LaunchState): LaunchState {
    const { memory, seen, now } = state;
    const begun = { ...state, isQueued: false, wakeAt: undefined };
    const result = new LaunchProcess(memory, seen, this.#scenario.make).pass(now);
    if (result === undefined || seen === undefined) return begun;
    const steps = stepsOf(result.effects ?? []);
    if ("write" in steps) this.#checkWrite(steps.write, seen);
    return this.#followed(begun, { pod: seen, at: now }, steps);
  }

  #arrived(state: LaunchState, steps: Steps): LaunchState {
    const { state: next, error, pod } = this.#stored(state, steps.write);
    // What was returned is seen before anything follows from it.
    const isNews = pod !== undefined && pod !== state.seen && uidOf(state.seen) === uidOf(pod);
    const seeing = isNews ? this.#heard(next, pod) : next;
    return this.#answered(seeing, steps, error);
  }

  #answered(state: LaunchState, steps: Steps, error?: KubeErrorCode): LaunchState {
    const { pass } = state;
    if (pass === undefined) throw new Error("an answer to nothing");
    const next = answeredStep(steps, error);
    // The next attempt may write more than the first one.
    if ("write" in next) this.#checkWrite(next.write, pass.pod);
    return this.#followed(state, pass, next);
  }

  #followed(state: LaunchState, { pod, at }: Pick<Execution, "pod" | "at">, next: Followed): LaunchState {
    if ("write" in next) return { ...state, pass: { pod, at, steps: next } };
    const { memory, seen, now } = state;
    const { over, outcomes: writes, error } = next;
    const outcomes = error === undefined ? { writes } : { writes, error };
    const process = new LaunchProcess(memory, seen, this.#scenario.make);
    const ended = after({ ...state, pass: undefined }, process.end({ pod, at, outcomes }, seen));
    return over === "done" ? ended : waking(ended, now + AGAIN_MS[over]);
  }

  /** By the pod that it was planned for. */
  #checkWrite(write: WriteEffect, pod: JsonObject): void {
    if (annotationOf(pod, COMPLETED) !== "") throw new Error("a pod that is done with is written to");
    if (write.resource !== "barriers") return;
    for (const key of keysIn(write)) {
      const above = this.#above(Number(key.slice(2))).filter((name) => !isReady(pod, name));
      if (above.length > 0) throw new Error(`${key} is given before ${above} is ready`);
    }
  }

  #stored(
    state: LaunchState,
    write: WriteEffect,
  ): {
    readonly state: LaunchState;
    readonly error?: KubeErrorCode;
    /** As it was returned. */
    readonly pod?: JsonObject;
  } {
    const { pod, map, maps } = state;
    if (write.resource === "pods") {
      if (pod === undefined) return { state, error: "NotFound" };
      if (!isMet(write, { uid: uidOf(pod), resourceVersion: "" })) return { state, error: "Conflict" };
      if (write.type !== "patch" || write.patch.type !== "strategic")
        throw new Error(`${write.type} of a pod`);
      const after = applyStrategicPatch(pod, write.patch.body, "Pod");
      // What changes nothing is no news.
      const patched = jsonEqual(after, pod) ? pod : after;
      if (annotationOf(patched, COMPLETED) !== "") this.#checkCompletion(state);
      return { state: { ...state, pod: patched }, pod: patched };
    }
    if (write.type === "create") {
      if (map !== undefined) return { state, error: "AlreadyExists" };
      const metadata = { namespace: POD.namespace, name: BARRIER, uid: `map-${maps + 1}` };
      const made = Object(applyMergePatch({ ...write.body }, { metadata }));
      return { state: { ...state, map: made, maps: maps + 1 } };
    }
    if (write.type !== "patch" || write.patch.type !== "json")
      throw new Error(`${write.type} of a ConfigMap`);
    if (map === undefined) return { state, error: "NotFound" };
    try {
      return { state: { ...state, map: applyJsonPatch(map, write.patch.body) } };
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      return { state, error: "Invalid" };
    }
  }

  /** Rule 5: nothing is given afterwards. */
  #checkCompletion({ pod, map, mishaps }: LaunchState): void {
    if (mishaps < this.#mishaps) return;
    const data = objectAt(map ?? {}, "data");
    const keys = Object.values(this.#scenario.priorities).map(keyOfPriority);
    const isWhole = isOwn(map, pod) && keys.every((key) => own(data, key) !== undefined);
    if (!isWhole) throw new Error("a pod is done with that lacks keys");
  }

  #mishapsOf(state: LaunchState): Move<LaunchState>[] {
    const { pod, map, pass, late, condemned } = state;
    const left = { ...state, mishaps: state.mishaps - 1 };
    const moves: Move<LaunchState>[] = [];
    const mishap = (name: string, take: () => LaunchState): void =>
      void moves.push({ name, isMishap: true, take });
    if (pass !== undefined) {
      const { steps } = pass;
      const name = nameOfWrite(steps.write);
      mishap(`${name} is refused`, () => this.#answered(left, steps, "Forbidden"));
      mishap(`the answer to ${name} is lost`, () =>
        this.#answered(this.#stored(left, steps.write).state, steps, "Unavailable"),
      );
    }
    // What the collector has decided is done before another controller starts.
    if (condemned === "")
      mishap("the controller dies", () => {
        const died = { ...left, seen: undefined, memory: nothingKnown, pass: undefined, wakeAt: undefined };
        const started = this.#heard({ ...died, isQueued: false }, pod);
        return { ...started, late: pass === undefined ? late : [...late, pass.steps.write] };
      });
    if (map !== undefined)
      mishap("somebody deletes the ConfigMap", () => ({ ...left, map: undefined, isLost: true }));
    if (pod !== undefined && !isGoing(pod)) {
      mishap("somebody deletes the pod", () => ({ ...left, pod: goingOf(pod) }));
      for (const name of Object.keys(this.#scenario.priorities))
        if (isReady(pod, name))
          mishap(`${name} is not ready any more`, () => ({
            ...left,
            pod: withContainer(pod, name, { ready: false }),
          }));
    }
    return moves;
  }

  unsettled({ pod, map, stage, isLost, mishaps }: LaunchState): string | undefined {
    const { priorities, end, stages } = this.#scenario;
    if (stage < stages.length) return "something that is to come";
    if (pod === undefined) return isLeft(map, pod) ? "a ConfigMap of a pod that is gone" : undefined;
    if (isLost) return undefined;
    const waiting = Object.keys(priorities).filter((name) => !isReady(pod, name));
    const isDone = annotationOf(pod, COMPLETED) === "true";
    if (end === "waiting") return waiting.length > 0 && !isDone ? undefined : "a pod that has started";
    if (waiting.length > 0) return `${waiting} waiting`;
    const isTidy = annotationOf(pod, RELEASED) === "" || mishaps < this.#mishaps;
    return isDone && isTidy ? undefined : "a pod that is not done with";
  }
}

/** The containers of another pod have not been ready. */
function changed(state: LaunchState, change: Partial<Stored>): LaunchState {
  const next = { ...state, ...change };
  return uidOf(next.pod) === uidOf(state.pod) ? next : { ...next, beenReady: [] };
}

function after(state: LaunchState, { memory, isQueued, againInMs }: Launching): LaunchState {
  const next = { ...state, memory, isQueued: state.isQueued || isQueued };
  return againInMs === undefined ? next : waking(next, state.now + againInMs);
}

function waking(state: LaunchState, at: number): LaunchState {
  return { ...state, wakeAt: Math.min(state.wakeAt ?? at, at) };
}

/** What belongs to a pod that is gone is deleted by its UID, some time after that was decided. */
function collectorMoves(state: LaunchState): Move<LaunchState>[] {
  const { pod, map, condemned } = state;
  const moves: Move<LaunchState>[] = [];
  if (isLeft(map, pod) && condemned !== uidOf(map))
    moves.push({
      name: "the collector decides",
      take: () => ({ ...state, condemned: uidOf(map) }),
    });
  if (condemned !== "")
    moves.push({
      name: "the collector deletes",
      take: () => ({ ...state, condemned: "", map: uidOf(map) === condemned ? undefined : map }),
    });
  return moves;
}
