/**
 * ContainerRecreateRequests as a small world: the controller and the agent, whose writes arrive in any order and whose watches are late,
 * the kubelet, and people. Spec: containers 1.4.
 */
import type { KindEffect } from "../../controller/plan/effects.ts";
import type { Result } from "../../controller/runtime/reconciler.ts";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import type { JsonObject } from "../../kube/core/index.ts";
import type { Move, SmallWorld } from "./explore.ts";
import {
  type AgentDoing,
  type AgentHeard,
  type AgentMemory,
  agentDoing,
  type MakeReconciler,
  type Task,
} from "./heard_agent.ts";
import type { Request } from "./pending_requests.ts";
import { put } from "./pull_state.ts";
import { isFollowedUp, isNews, type passOver } from "./recreate_pass.ts";
import {
  checkEffect,
  checkReport,
  checkStop,
  endOf,
  unsettledPod,
  unsettledRequest,
} from "./recreate_rules.ts";
import {
  answerOf,
  effected,
  kubeletSteps,
  started,
  staysDown,
  stopped,
  withInstance,
  withoutPod,
  withoutRequest,
} from "./recreate_server.ts";
import { isActive, isGoing, type Stop, type Stored, startMs, uidOf, versionOf } from "./recreate_state.ts";

export interface RecreateStage {
  readonly name: string;
  /** Undefined: the time for it has not come. */
  readonly change: (stored: Stored) => Stored | undefined | Promise<Stored | undefined>;
}

export interface RecreateScenario {
  readonly name: string;
  readonly stored: Stored;
  readonly stages: readonly RecreateStage[];
  /** How the requests that are left may end, by their names. */
  readonly ends: Readonly<Record<string, readonly string[]>>;
  /** Containers that the runtime does not stop. */
  readonly stubborn: readonly string[];
  /** `silent`: nobody runs on the node. */
  readonly agent: "works" | "silent";
  /** Whether the controller follows the pod. */
  readonly isWatched: boolean;
  readonly make: MakeReconciler;
  readonly pass: typeof passOver;
}

/** What the controller has in hand for one request. */
interface Worker {
  readonly isQueued: boolean;
  readonly wakeAt?: number | undefined;
  readonly pass?: Pass | undefined;
}

/** The effects that are left, of which the first one is under way, and the request as it knows it by then. */
interface Pass {
  readonly planned: Result;
  readonly effects: readonly KindEffect[];
  readonly known: ContainerRecreateRequest;
}

interface Agent {
  /** At its last rest; it has heard all else since then. */
  readonly memory: AgentMemory;
  readonly heard: readonly AgentHeard[];
  readonly doing: AgentDoing;
  /** What is in its file. */
  readonly saved: AgentMemory["stopped"];
}

/** Nobody waits for these any more, and they have yet to be carried out. */
type Late = { readonly request: Request } | { readonly stop: Stop } | Pass;

interface State {
  readonly stored: Stored;
  readonly agent: Agent;
  /** What the controller has heard of. */
  readonly requests: Stored["requests"];
  readonly pod: JsonObject | undefined;
  readonly workers: ReadonlyMap<string, Worker>;
  readonly late: readonly Late[];
  readonly stage: number;
  readonly mishaps: number;
}

/** As the shell waits after a race, and the queue after a refusal. */
const AGAIN_MS = { race: 100, refused: 1000 };
/** Nobody waits for what time alone would change after that. */
const LASTS_MS = 90_000;

const idle: Worker = { isQueued: false };

/** `mishaps`: how many may happen on one way. */
export function recreateWorld(scenario: RecreateScenario, mishaps: number): SmallWorld<State> {
  const world = new RecreateWorld(scenario, mishaps);
  return {
    start: world.start(),
    keyOf: (state) => world.keyOf(state),
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => world.unsettled(state),
  };
}

class RecreateWorld {
  readonly #scenario: RecreateScenario;
  readonly #mishaps: number;
  /** Of objects, which never change. */
  readonly #texts = new WeakMap<object, string>();

  constructor(scenario: RecreateScenario, mishaps: number) {
    this.#scenario = scenario;
    this.#mishaps = mishaps;
  }

  start(): State {
    const { stored } = this.#scenario;
    return {
      stored,
      agent: begun(stored, {}),
      requests: stored.requests,
      pod: this.#shown(stored),
      workers: new Map(),
      late: [],
      stage: 0,
      mishaps: this.#mishaps,
    };
  }

  #shown({ pod }: Stored): JsonObject | undefined {
    return this.#scenario.isWatched ? pod : undefined;
  }

  keyOf(state: State): string {
    const { stored, agent, requests, pod, workers, late, stage, mishaps } = state;
    const { doing } = agent;
    const newest = ({ metadata }: ContainerRecreateRequest): boolean =>
      stored.requests.get(metadata.name ?? "")?.metadata.resourceVersion === metadata.resourceVersion;
    /** In comparison to what is stored. */
    const seen = (request: ContainerRecreateRequest | undefined): string =>
      request === undefined ? "" : newest(request) ? `= ${request.metadata.name}` : this.#textOf(request);
    const seenPod = (held: JsonObject | undefined): string =>
      versionOf(held) === versionOf(stored.pod) ? "=" : this.#textOf(held);
    const ofEffects = ({ effects, known }: Pass): unknown => [
      effects.map((effect) => [
        this.#textOf(effect),
        effect.type === "patch" && versionOf(Object(effect.patch.body)) === versionOf(stored.pod),
      ]),
      seen(known),
    ];
    const ofRequest = (request: Request): unknown => {
      const { verb, name, body, resourceVersion } = request;
      const isNewest = resourceVersion === stored.requests.get(name)?.metadata.resourceVersion;
      return [verb, name, withoutVersions(body), isNewest];
    };
    const ofLate = (one: Late): unknown =>
      "request" in one ? ofRequest(one.request) : "stop" in one ? one.stop : ofEffects(one);
    const ofWorker = ([name, { isQueued, wakeAt, pass }]: [string, Worker]): unknown => [
      name,
      isQueued,
      wakeAt,
      pass && ofEffects(pass),
    ];
    return JSON.stringify([
      [...stored.requests.values()].map((request) => this.#textOf(request)).sort(),
      this.#textOf(stored.pod),
      [...stored.node].map(([uid, containers]) => [uid, [...containers]]),
      [...stored.stops].sort(),
      [...stored.heldSince].sort(),
      stored.now - startMs,
      [doing.requests.map(seen).sort(), seenPod(doing.pod), doing.stopped, agent.saved],
      [[...doing.queued].sort(), [...doing.passing].sort(), doing.wakeAt, doing.call],
      [doing.requested.map(ofRequest), doing.known && seen(doing.known), withoutVersions(doing.looked)],
      [...requests.values()].map(seen).sort(),
      seenPod(pod),
      [...workers].map(ofWorker).sort(),
      late.map((one) => JSON.stringify(ofLate(one))).sort(),
      stage,
      mishaps,
    ]);
  }

  #textOf(object: object | undefined): string {
    if (object === undefined) return "";
    const text = this.#texts.get(object) ?? withoutVersions(object);
    this.#texts.set(object, text);
    return text;
  }

  movesOf(state: State): readonly Move<State>[] {
    const { stored, late, stage } = state;
    const moves = [...this.#agentMoves(state), ...this.#controllerMoves(state)];
    for (const one of late)
      moves.push({ name: `${nameOfLate(one)} arrives late`, take: () => arrivedLate(state, one) });
    for (const [name, next] of kubeletSteps(stored))
      moves.push({ name, take: () => ({ ...state, stored: next }) });
    const isAtRest = moves.length === 0;
    const next = this.#scenario.stages[stage];
    if (next !== undefined) moves.push({ name: next.name, take: () => staged(state, next) });
    if (isAtRest) moves.push({ name: "time passes", take: () => this.#timePasses(state) });
    return state.mishaps === 0 ? moves : [...moves, ...this.#mishapsOf(state)];
  }

  #agentMoves(state: State): Move<State>[] {
    if (this.#scenario.agent === "silent") return [];
    const { stored, agent } = state;
    const { doing } = agent;
    const moves: Move<State>[] = [];
    const hears = (name: string, what: News, next: () => State = () => state): void => {
      moves.push({ name, take: () => this.#heard(next(), what) });
    };
    for (const task of doing.queued)
      if (!doing.passing.includes(task)) hears(`the agent begins to ${task}`, { is: "turn", task });
    for (const request of doing.requested)
      moves.push({
        name: `${nameOfRequest(request)} arrives`,
        take: () => {
          const { stored: next, reply } = answerOf(stored, request);
          return this.#heard({ ...state, stored: next }, { is: "answer", request, reply });
        },
      });
    const { call } = doing;
    if (call?.is === "save")
      hears("the agent has saved", { is: "done" }, () => ({
        ...state,
        agent: { ...agent, saved: doing.stopped },
      }));
    else if (call !== undefined && this.#scenario.stubborn.includes(call.container))
      hears(`${call.container} does not stop`, { is: "done", failed: "Runtime" });
    else if (call !== undefined)
      hears(`${call.container} stops`, { is: "done" }, () => ({ ...state, stored: stopped(stored, call) }));
    for (const [name, object, isGone] of newsOfRequests(stored, doing))
      hears(`the agent sees ${name}`, { is: "request", object, isGone });
    if (versionOf(doing.pod) !== versionOf(stored.pod))
      hears("the agent sees the pod", { is: "pod", pod: stored.pod });
    return moves;
  }

  async #heard(state: State, news: News): Promise<State> {
    const { stored, agent } = state;
    const { now, node } = stored;
    const heard = [...agent.heard, { ...news, now, node }];
    const doing = await agentDoing(agent.memory, heard, this.#scenario.make);
    check(stored, agent.doing, doing);
    if (doing.call?.is === "start") {
      const next = { ...state, stored: startedAgain(stored, doing.call), agent: { ...agent, heard, doing } };
      return this.#heard(next, { is: "done" });
    }
    const saved = doing.call?.is === "save" ? agent.saved : doing.stopped;
    const rest = doing.passing.length === 0 ? { memory: doing, heard: [] } : { memory: agent.memory, heard };
    return { ...state, agent: { ...rest, doing, saved } };
  }

  #controllerMoves(state: State): Move<State>[] {
    const { stored, requests, pod, workers } = state;
    const moves: Move<State>[] = [];
    for (const [name, worker] of workers) {
      const { isQueued, pass } = worker;
      if (pass !== undefined)
        moves.push({
          name: `the controller's ${nameOfEffect(pass)} arrives`,
          take: () => effectArrived(state, name, pass),
        });
      else if (isQueued)
        moves.push({ name: `the controller passes ${name}`, take: () => this.#passed(state, name) });
    }
    for (const name of new Set([...stored.requests.keys(), ...requests.keys()]))
      if (stored.requests.get(name) !== requests.get(name))
        moves.push({ name: `the controller sees ${name}`, take: () => requestSeen(state, name) });
    const shown = this.#shown(stored);
    if (shown !== pod) moves.push({ name: "the controller sees the pod", take: () => podSeen(state, shown) });
    return moves;
  }

  async #passed(state: State, name: string): Promise<State> {
    const { stored, requests, pod } = state;
    const { wakeAt: _, ...worker } = workerOf(state, name);
    const request = requests.get(name);
    const begun = { ...worker, isQueued: false };
    if (request === undefined) return withWorker(state, name, begun);
    const { now } = stored;
    const planned = await this.#scenario.pass({ request, seenPod: pod, pod: stored.pod, now });
    const { effects = [], requeueAfterMs } = planned;
    for (const effect of effects) checkEffect(stored, request, effect);
    const wakeAt = requeueAfterMs === undefined ? undefined : now + requeueAfterMs;
    const pass = effects.length === 0 ? undefined : { planned, effects, known: request };
    return withWorker(state, name, { ...begun, wakeAt, pass });
  }

  /** Where nothing else can happen. */
  #timePasses(state: State): State | Promise<State> | undefined {
    const { stored, agent, workers } = state;
    const ofAgent = this.#scenario.agent === "silent" ? undefined : agent.doing.wakeAt;
    const now = earliestOf(ofAgent, ...[...workers.values()].map(({ wakeAt }) => wakeAt));
    if (now === undefined || now > startMs + LASTS_MS) return undefined;
    const woken = new Map(
      [...workers].map(([name, worker]) => [
        name,
        worker.wakeAt === now ? { ...worker, isQueued: true } : worker,
      ]),
    );
    const next = { ...state, stored: { ...stored, now }, workers: woken };
    return ofAgent === now ? this.#heard(next, { is: "time" }) : next;
  }

  #mishapsOf(state: State): Move<State>[] {
    const moves: Move<State>[] = [];
    const { stored, agent, workers } = state;
    const mishap = (name: string, take: (less: State) => State | Promise<State>): void => {
      moves.push({ name, isMishap: true, take: () => take({ ...state, mishaps: state.mishaps - 1 }) });
    };
    if ([...workers.values()].some((worker) => worker !== idle))
      mishap("the controller dies", (less) => controllerDied(less, this.#shown(stored)));
    for (const [name, { pass }] of workers)
      if (pass !== undefined) {
        const what = `the controller's ${nameOfEffect(pass)}`;
        mishap(`${what} is refused`, (less) => passFailed(less, name, "refused"));
        mishap(`the answer to ${what} is lost`, (less) =>
          passFailed(
            { ...less, stored: effected(stored, firstOf(pass), pass.known) ?? stored },
            name,
            "refused",
          ),
        );
      }
    if (this.#scenario.agent === "works") {
      mishap("the agent dies", (less) => agentDied(less));
      const lost = (less: State): State => ({ ...agentDied(less), late: less.late });
      mishap("the agent dies, and what it asked for is lost", lost);
    }
    for (const request of agent.doing.requested)
      if (request.verb === "patch") {
        const name = nameOfRequest(request);
        const reply = { error: "Unavailable" } as const;
        const unanswered = { is: "answer", request, reply } as const;
        mishap(`${name} is refused`, (less) => this.#heard(less, unanswered));
        mishap(`the answer to ${name} is lost`, (less) =>
          this.#heard({ ...less, stored: answerOf(stored, request).stored }, unanswered),
        );
      }
    const { call } = agent.doing;
    if (call?.is === "stop") {
      const lost = { is: "done", failed: "Unavailable" } as const;
      mishap("the runtime restarts", (less) => this.#heard(less, lost));
      mishap(`the runtime restarts, and ${call.container} has stopped`, (less) =>
        this.#heard({ ...less, stored: stopped(stored, call) }, lost),
      );
      mishap(`${call.container} does not stop`, (less) =>
        this.#heard(less, { is: "done", failed: "Runtime" }),
      );
    }
    const uid = uidOf(stored.pod);
    for (const [name, { state: is }] of stored.node.get(uid) ?? [])
      if (is === "running")
        mishap(`${name} ends by itself`, (less) => ({
          ...less,
          stored: withInstance(stored, uid, name, { state: "exited", isReady: false }),
        }));
    for (const [name, { metadata }] of stored.requests)
      if (metadata.deletionTimestamp === undefined)
        mishap(`somebody deletes ${name}`, (less) => ({ ...less, stored: withoutRequest(stored, name) }));
    if (stored.pod !== undefined && !isGoing(stored.pod))
      mishap("somebody deletes the pod", (less) => ({ ...less, stored: withoutPod(stored) }));
    return moves;
  }

  unsettled(state: State): string | undefined {
    const { stored, agent, mishaps, stage } = state;
    const { ends, stages } = this.#scenario;
    for (const [name, request] of stored.requests) {
      const wrong = unsettledRequest(request);
      if (wrong !== undefined) return `${name}: ${wrong}`;
    }
    const wrong = unsettledPod(stored);
    if (wrong !== undefined) return wrong;
    if (agent.doing.requests.length > 0) return `an agent that follows what is over`;
    if (Object.keys(agent.saved).length > 0) return `an agent that remembers ${JSON.stringify(agent.saved)}`;
    if (mishaps < this.#mishaps) return undefined;
    if (stage < stages.length) return `what was not asked for: ${stages[stage]?.name}`;
    const found = Object.fromEntries([...stored.requests].map(([name, request]) => [name, endOf(request)]));
    const isMeant = Object.entries(ends).every(([name, allowed]) => allowed.includes(found[name] ?? "gone"));
    return isMeant ? undefined : JSON.stringify(found);
  }
}

type News = AgentHeard extends infer Each
  ? Each extends AgentHeard
    ? Omit<Each, "now" | "node">
    : never
  : never;

/** What the agent asks for now that it did not before. */
function check(stored: Stored, before: AgentDoing, { known, requests, requested, call }: AgentDoing): void {
  if (known === undefined) return;
  const isFresh = ({ id }: Request): boolean => !before.requested.some((other) => other.id === id);
  for (const { verb, name, body } of requested.filter(isFresh))
    if (verb === "patch" && name === known.metadata.name) checkReport(stored, known, Object(body["status"]));
  // It is saved before it is done.
  const isShown = requests.some(({ metadata }) => metadata.uid === known.metadata.uid);
  if (call?.is === "save" && before.call === undefined && !isShown)
    throw new Error(`the agent goes on with ${known.metadata.name}, which its watch does not show`);
  if (call?.is === "stop" && before.call?.is !== "stop") checkStop(stored, call, known);
}

/** An agent that has listed everything. */
function begun(stored: Stored, saved: AgentMemory["stopped"]): Agent {
  const requests = [...stored.requests.values()].filter(isActive);
  const uids = new Set(requests.map(({ metadata }) => metadata.uid ?? ""));
  const left = Object.fromEntries(Object.entries(saved).filter(([uid]) => uids.has(uid)));
  const queued: Task[] = requests.length > 0 ? ["reconcile"] : [];
  if (requests.length > 1) queued.push("acknowledge");
  const memory = { requests, pod: stored.pod, stopped: left, queued, wakeAt: undefined };
  const nothing = { passing: [], requested: [], call: undefined, known: undefined, looked: [] };
  return { memory, heard: [], doing: { ...memory, ...nothing }, saved: left };
}

/** What was sent arrives late, if it does. */
function agentDied(state: State): State {
  const { stored, agent, late } = state;
  const { requested, call } = agent.doing;
  const sent = requested.filter(({ verb }) => verb === "patch");
  const stop = call?.is === "stop" ? [{ stop: call }] : [];
  const requests = sent.map((request) => ({ request }));
  return { ...state, agent: begun(stored, agent.saved), late: [...late, ...requests, ...stop] };
}

function controllerDied(state: State, pod: JsonObject | undefined): State {
  const { stored, workers } = state;
  const late = [...workers.values()].flatMap(({ pass }) =>
    pass === undefined ? [] : [{ ...pass, effects: [firstOf(pass)] }],
  );
  const queued = new Map([...stored.requests.keys()].map((name) => [name, { isQueued: true }]));
  return { ...state, requests: stored.requests, pod, workers: queued, late: [...state.late, ...late] };
}

function arrivedLate(state: State, one: Late): State {
  const { stored } = state;
  const next =
    "request" in one
      ? answerOf(stored, one.request).stored
      : "stop" in one
        ? stopped(stored, one.stop)
        : (effected(stored, firstOf(one), one.known) ?? stored);
  return { ...state, stored: next, late: state.late.filter((other) => other !== one) };
}

function effectArrived(state: State, name: string, pass: Pass): State {
  const { stored, requests } = state;
  const [effect = undefined, ...effects] = pass.effects;
  const next = effect && effected(stored, effect, pass.known);
  if (next === undefined) return passFailed(state, name, "race");
  const newest = next.requests.get(name);
  const isSame = newest?.metadata.uid === pass.known.metadata.uid;
  const known = effect?.type === "patch" || newest === undefined || !isSame ? pass.known : newest;
  const over = withWorker({ ...state, stored: next }, name, { ...workerOf(state, name), pass: undefined });
  const written =
    effects.length > 0
      ? withWorker(over, name, { ...workerOf(state, name), pass: { ...pass, effects, known } })
      : isFollowedUp(pass)
        ? queued(over, name)
        : over;
  // What a write returns is known at once.
  if (effect?.type === "patch") return state.pod === undefined ? written : podSeen(written, next.pod);
  return requests.get(name)?.metadata.uid === pass.known.metadata.uid ? requestSeen(written, name) : written;
}

/** Who has lost a race with a write of the request reads what the other wrote. */
function passFailed(state: State, name: string, failure: keyof typeof AGAIN_MS): State {
  const { isQueued, wakeAt, pass } = workerOf(state, name);
  const isAboutPod = pass?.effects[0]?.type === "patch";
  const next = withWorker(state, name, {
    isQueued,
    wakeAt: isQueued ? undefined : earliestOf(wakeAt, state.stored.now + AGAIN_MS[failure]),
  });
  return failure === "race" && !isAboutPod ? requestSeen(next, name) : next;
}

function requestSeen(state: State, name: string): State {
  const before = state.requests.get(name);
  const object = state.stored.requests.get(name);
  const next = { ...state, requests: put(state.requests, name, object) };
  if (object === undefined)
    return { ...next, workers: put(next.workers, name, forgotten(workerOf(state, name))) };
  const isSame = before?.metadata.uid === object.metadata.uid;
  const change =
    before !== undefined && isSame
      ? ({ type: "changed", object, before } as const)
      : ({ type: "added", object } as const);
  return isNews(change) ? queued(next, name) : next;
}

/** The object is gone: a pass that is under way goes on. */
function forgotten({ pass }: Worker): Worker | undefined {
  return pass && { isQueued: false, pass };
}

function podSeen(state: State, pod: JsonObject | undefined): State {
  let next: State = { ...state, pod };
  for (const [name, { status }] of state.requests)
    if (status?.phase !== "Completed") next = queued(next, name);
  return next;
}

function queued(state: State, name: string): State {
  const { pass } = workerOf(state, name);
  return withWorker(state, name, { isQueued: true, pass });
}

function workerOf({ workers }: State, name: string): Worker {
  return workers.get(name) ?? idle;
}

function withWorker(state: State, name: string, worker: Worker): State {
  return { ...state, workers: put(state.workers, name, worker) };
}

/** What the watch of the agent has still to tell. */
function newsOfRequests(
  stored: Stored,
  { requests }: AgentDoing,
): [name: string, object: ContainerRecreateRequest, isGone: boolean][] {
  const news: [string, ContainerRecreateRequest, boolean][] = [];
  for (const held of requests) {
    const { name = "", uid, resourceVersion } = held.metadata;
    const now = stored.requests.get(name);
    if (now === undefined || now.metadata.uid !== uid) news.push([`${name} go`, held, true]);
    else if (!isActive(now)) news.push([`${name} go`, now, true]);
    else if (now.metadata.resourceVersion !== resourceVersion) news.push([name, now, false]);
  }
  for (const [name, now] of stored.requests)
    if (isActive(now) && !requests.some((held) => held.metadata.name === name)) news.push([name, now, false]);
  return news;
}

/** Unless the kubelet was faster. */
function startedAgain(stored: Stored, { pod, container, id }: Stop): Stored {
  const instance = stored.node.get(pod)?.get(container);
  const isLeft = instance?.id === id && instance.state === "exited" && !staysDown(stored.pod ?? {});
  return isLeft ? started(stored, pod, container) : stored;
}

function firstOf({ effects: [effect] }: Pick<Pass, "effects">): KindEffect {
  if (effect === undefined) throw new Error("a pass without effects");
  return effect;
}

async function staged(state: State, { change }: RecreateStage): Promise<State | undefined> {
  const stored = await change(state.stored);
  return stored && { ...state, stored, stage: state.stage + 1 };
}

function nameOfEffect(pass: Pick<Pass, "effects">): string {
  const effect = firstOf(pass);
  return effect.type === "patch" ? "patch of the pod" : effect.type;
}

function nameOfRequest({ verb, name, body }: Request): string {
  if (verb === "get") return `the agent's read of ${name}`;
  const { phase = "" } = Object(body["status"]);
  return `the agent's ${phase} of ${name}`;
}

function nameOfLate(one: Late): string {
  if ("request" in one) return nameOfRequest(one.request);
  return "stop" in one ? `the stop of ${one.stop.container}` : `the controller's ${nameOfEffect(one)}`;
}

function earliestOf(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function withoutVersions(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => (key === "resourceVersion" ? undefined : part));
}
