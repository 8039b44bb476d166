/**
 * The pod of a job as a small world: the controller that ends its sidecars and hears late of everything, the kubelet, the agent and
 * people. Spec: sidecarset, sidecar terminator.
 */
import type { WriteEffect } from "../../controller/plan/effects.ts";
import { applyStrategicPatch, type JsonObject } from "../../kube/core/index.ts";
import type { KubeErrorCode } from "../../kube/index.ts";
import { isMet, nameOfWrite, textOfWrite } from "./effect_passes.ts";
import { answeredStep, type Followed, type Steps, stepsOf } from "./effect_steps.ts";
import type { Move, SmallWorld } from "./explore.ts";
import { put } from "./pull_state.ts";
import {
  admitted,
  type Container,
  exited,
  goingOf,
  isGoing,
  isOpen,
  isTold,
  nodeOf,
  nodeSteps,
  ownerOf,
  toStop,
  uidOf,
} from "./terminator_node.ts";
import { isQueuedBy, type passOver, type SidecarsSeen } from "./terminator_pass.ts";
import { checkMains, checkRequest, checkWrite, unsettledPod } from "./terminator_rules.ts";

export interface SidecarStage {
  readonly name: string;
  /** Undefined: the time for it has not come. */
  readonly change: (stored: Stored) => Partial<Stored> | undefined;
}

export interface SidecarScenario {
  readonly name: string;
  readonly pod: JsonObject;
  readonly containers: readonly Container[];
  readonly isVirtual: boolean;
  /** Nobody tells what the kubelet knows. */
  readonly isDeaf: boolean;
  /** Whether the node is known from the start. */
  readonly hasNode: boolean;
  readonly stages: readonly SidecarStage[];
  readonly end: "completed" | "left" | "gone";
  readonly pass: typeof passOver;
}

interface Stored {
  readonly pod: JsonObject | undefined;
  readonly requests: ReadonlyMap<string, JsonObject>;
  readonly node: JsonObject | undefined;
}

interface SidecarState extends Stored {
  /** What the controller has heard of. */
  readonly seen: SidecarsSeen;
  readonly isQueued: boolean;
  /** By a timer. */
  readonly wakeAt: number | undefined;
  readonly steps: Steps | undefined;
  /** Sent by a controller that died. */
  readonly late: readonly WriteEffect[];
  /** When the result was told. */
  readonly toldAt: number;
  readonly now: number;
  readonly stage: number;
  readonly mishaps: number;
}

type Taken = SidecarState | Promise<SidecarState>;

const startMs = Date.parse("2026-01-01T00:00:00Z");
/** For so long people may wait before they go on. */
const WAITING_MS = 15_000;
/** As the shell waits after a race, and the queue after a refusal. */
const AGAIN_MS = { race: 100, refused: 1000 };
const NO_REQUESTS: ReadonlyMap<string, JsonObject> = new Map();

/** `mishaps`: how many may happen on one way. */
export function terminatorWorld(scenario: SidecarScenario, mishaps: number): SmallWorld<SidecarState> {
  const world = new TerminatorWorld(scenario);
  return {
    start: {
      pod: scenario.pod,
      requests: NO_REQUESTS,
      node: scenario.hasNode ? nodeOf(scenario.isVirtual) : undefined,
      seen: { pod: undefined, requests: NO_REQUESTS, node: undefined },
      isQueued: false,
      wakeAt: undefined,
      steps: undefined,
      late: [],
      toldAt: 0,
      now: startMs,
      stage: 0,
      mishaps,
    },
    keyOf,
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => world.unsettled(state),
  };
}

function keyOf(state: SidecarState): string {
  const { pod, requests, node, seen, steps, late, isQueued, wakeAt, toldAt, now, stage, mishaps } = state;
  return JSON.stringify([
    pod,
    [...requests].sort(),
    node,
    seen.pod === pod || seen.pod,
    [...seen.requests.keys()].sort(),
    seen.node,
    steps && [textOfWrite(steps.write), uidIn(steps.write)],
    late.map((write) => textOfWrite(write) + uidIn(write)).sort(),
    [isQueued, wakeAt, toldAt, now, stage, mishaps],
  ]);
}

/** Of the pod that a write is for. */
function uidIn(write: WriteEffect): string {
  return write.type === "create" ? write.name : JSON.stringify(write.type === "patch" && write.patch.body);
}

class TerminatorWorld {
  readonly #scenario: SidecarScenario;

  constructor(scenario: SidecarScenario) {
    this.#scenario = scenario;
  }

  movesOf(state: SidecarState): readonly Move<SidecarState>[] {
    const { steps, isQueued, late } = state;
    const moves: Move<SidecarState>[] = [...this.#nodeMoves(state), ...this.#watchMoves(state)];
    const move = (name: string, take: () => Taken): void => void moves.push({ name, take });
    if (isQueued && steps === undefined) move("the controller passes", () => this.#passed(state));
    if (steps !== undefined) move(`${nameOfWrite(steps.write)} arrives`, () => this.#arrived(state, steps));
    for (const write of late)
      move(`${nameOfWrite(write)} arrives late`, async () => {
        const { state: next } = await this.#stored(state, write);
        return { ...next, late: late.filter((other) => other !== write) };
      });
    const isQuiet = moves.length === 0;
    const stage = this.#scenario.stages[state.stage];
    const change = stage?.change(state);
    if (stage !== undefined && change !== undefined)
      move(stage.name, () => ({ ...state, ...change, stage: state.stage + 1 }));
    const { wakeAt } = state;
    const isAwaited = stage === undefined || (wakeAt ?? 0) - startMs <= WAITING_MS;
    if (isQuiet && wakeAt !== undefined && isAwaited)
      move("time passes", () => ({ ...state, now: wakeAt, wakeAt: undefined, isQueued: true }));
    return state.mishaps > 0 ? [...moves, ...this.#mishapsOf(state)] : moves;
  }

  #nodeMoves(state: SidecarState): Move<SidecarState>[] {
    const { pod, requests } = state;
    const { containers, isVirtual, isDeaf } = this.#scenario;
    const moves: Move<SidecarState>[] = [];
    if (pod !== undefined)
      for (const [name, next] of nodeSteps(pod, containers, this.#scenario))
        moves.push({ name, take: () => ({ ...state, pod: next }) });
    for (const [name, request] of requests) {
      if (ownerOf(request) !== uidOf(pod))
        moves.push({
          name: `${name} is collected`,
          take: () => ({ ...state, requests: put(requests, name, undefined) }),
        });
      if (isVirtual || !isOpen(request)) continue;
      const toEnd = toStop(request, pod);
      for (const container of toEnd)
        moves.push({
          name: `the agent stops ${container}`,
          take: () => {
            if (pod === undefined) return undefined;
            checkMains(pod, containers);
            const code = containers.find((one) => one.name === container)?.stoppedCode ?? 0;
            return { ...state, pod: exited(pod, container, code, isDeaf) };
          },
        });
      if (toEnd.length === 0)
        moves.push({
          name: `${name} is completed`,
          take: () => {
            const completed = { ...request, status: { phase: "Completed" } };
            return { ...state, requests: put(requests, name, completed) };
          },
        });
    }
    return moves;
  }

  #watchMoves(state: SidecarState): Move<SidecarState>[] {
    const { pod, requests, node, seen } = state;
    const moves: Move<SidecarState>[] = [];
    const hears = (name: string, next: SidecarsSeen): void =>
      void moves.push({ name: `the watch tells of ${name}`, take: () => heard(state, next) });
    if (pod !== seen.pod) hears("the pod", { ...seen, pod });
    if (node !== seen.node) hears("the node", { ...seen, node });
    for (const name of new Set([...requests.keys(), ...seen.requests.keys()]))
      if (requests.has(name) !== seen.requests.has(name))
        hears(name, { ...seen, requests: put(seen.requests, name, requests.get(name)) });
    return moves;
  }

  async #passed(state: SidecarState): Promise<SidecarState> {
    const { seen, now } = state;
    const { containers, isVirtual, pass } = this.#scenario;
    const begun = { ...state, isQueued: false, wakeAt: undefined };
    const result = await pass(seen, now);
    if (result === undefined) return begun;
    const { effects = [], requeueAfterMs } = result;
    const planned = stepsOf(effects);
    if ("write" in planned && seen.pod !== undefined)
      checkWrite(planned.write, seen.pod, containers, { isVirtual, waitedMs: now - state.toldAt });
    const wakeAt = requeueAfterMs === undefined ? undefined : now + requeueAfterMs;
    return followed({ ...begun, wakeAt }, planned);
  }

  async #arrived(state: SidecarState, steps: Steps): Promise<SidecarState> {
    const { state: next, error, seen } = await this.#stored(state, steps.write);
    const answered = followed(next, answeredStep(steps, error));
    return seen === undefined ? answered : heard(answered, seen);
  }

  async #stored(
    state: SidecarState,
    write: WriteEffect,
  ): Promise<{
    readonly state: SidecarState;
    readonly error?: KubeErrorCode;
    /** With what it returned. */
    readonly seen?: SidecarsSeen;
  }> {
    const { pod, requests, seen, now } = state;
    if (write.type === "create") {
      const node = nodeOf(this.#scenario.isVirtual);
      const request = await admitted(write.body, write.name, { pod, node });
      if (request === undefined) return { state, error: "BadRequest" };
      if (requests.has(write.name)) return { state, error: "AlreadyExists" };
      if (pod !== undefined) checkRequest(request, pod, this.#scenario.containers, requests.values());
      const next = { ...state, requests: put(requests, write.name, request) };
      return { state: next, seen: { ...seen, requests: put(seen.requests, write.name, request) } };
    }
    if (write.type !== "patch") throw new Error(`${write.type} of a pod`);
    if (pod === undefined) return { state, error: "NotFound" };
    if (!isMet(write, { uid: uidOf(pod), resourceVersion: "" })) return { state, error: "Conflict" };
    const after = applyStrategicPatch(pod, write.patch.body, "Pod");
    const toldAt = write.subresource === "status" ? now : state.toldAt;
    // What a write returned goes in only where the pod of before is there.
    const isHeld = uidOf(seen.pod) === uidOf(after);
    return {
      state: { ...state, pod: after, toldAt },
      ...(isHeld ? { seen: { ...seen, pod: after } } : {}),
    };
  }

  #mishapsOf(state: SidecarState): Move<SidecarState>[] {
    const { pod, requests, node, steps, late } = state;
    const left = { ...state, mishaps: state.mishaps - 1 };
    const moves: Move<SidecarState>[] = [];
    const mishap = (name: string, take: () => Taken): void => void moves.push({ name, isMishap: true, take });
    if (steps !== undefined) {
      const name = nameOfWrite(steps.write);
      mishap(`${name} is refused`, () => followed(left, answeredStep(steps, "Forbidden")));
      mishap(`the answer to ${name} is lost`, async () =>
        followed((await this.#stored(left, steps.write)).state, answeredStep(steps, "Unavailable")),
      );
    }
    mishap("the controller dies", () => ({
      ...left,
      seen: { pod, requests, node },
      isQueued: pod !== undefined,
      wakeAt: undefined,
      steps: undefined,
      late: steps === undefined ? late : [...late, steps.write],
    }));
    for (const [name] of requests)
      mishap(`somebody deletes ${name}`, () => ({ ...left, requests: put(requests, name, undefined) }));
    if (pod !== undefined && !isGoing(pod))
      mishap("somebody deletes the pod", () => ({ ...left, pod: goingOf(pod) }));
    return moves;
  }

  unsettled({ pod, late, stage }: SidecarState): string | undefined {
    const { end, containers, stages } = this.#scenario;
    if (stage < stages.length || late.length > 0) return "something that is to come";
    // Somebody has deleted it, or is about to.
    if (pod === undefined) return undefined;
    if (end === "gone") return "a pod";
    const wrong = unsettledPod(pod, containers, end);
    return wrong ?? (end === "left" && isTold(pod) ? "a result that nobody has asked for" : undefined);
  }
}

async function heard(state: SidecarState, seen: SidecarsSeen): Promise<SidecarState> {
  const isQueued = state.isQueued || (await isQueuedBy(state.seen, seen));
  return { ...state, seen, isQueued };
}

function followed(state: SidecarState, next: Followed): SidecarState {
  if ("write" in next) return { ...state, steps: next };
  const after = { ...state, steps: undefined };
  if (next.over === "done") return after;
  const again = state.now + AGAIN_MS[next.over];
  return { ...after, wakeAt: Math.min(state.wakeAt ?? again, again) };
}
