/**
 * One WorkloadSpread as a small world: two processes that answer for pods which come and go, the controller in one of them, whose
 * caches lag behind, a workload, a scheduler, and people who change what they ask for. Spec: workloadspread 4.
 */
import {
  observeWorkloadSpread,
  workloadSpreadInput,
} from "../../controller/kinds/workload_spread/observe.ts";
import { planWorkloadSpread } from "../../controller/kinds/workload_spread/plan.ts";
import type { SpreadWorkload } from "../../controller/kinds/workload_spread/target_workload.ts";
import type { WorkloadSpread } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { consulted, type Input, idleProcess, type Process } from "./asked_spread.ts";
import type { Move, SmallWorld } from "./explore.ts";
import {
  activeIn,
  type Cluster,
  costOf,
  MATCHED,
  newPod,
  nodeNamed,
  nodeOf,
  ownerOf,
  type Pods,
  podJson,
  type SpreadWrite,
  subsetOf,
  templateOf,
  withPod,
  written,
} from "./spread_cluster.ts";
import { spreadKey } from "./spread_key.ts";
import { checkAnswers, checkCap, checkPlaced, checkRecords, unsettledSpread } from "./spread_rules.ts";
import {
  answered,
  comingIn,
  entriesOf,
  inFlight,
  isAsked,
  isVersion,
  namesOf,
  type Pass,
  passOf,
  type Request,
  type SpreadScenario,
  type State,
  targetOf,
  undone,
  without,
} from "./spread_state.ts";

export interface SpreadActors {
  readonly plan: typeof planWorkloadSpread;
  readonly consulted: typeof consulted;
}

const TEMPLATES = ["1", "2"];
/** The controller is in the first one. */
const PROCESSES = [0, 1];

/** `mishaps`: how many may happen on one way; `broken`: what somebody got wrong. */
export function spreadWorld(
  scenario: SpreadScenario,
  mishaps: number,
  broken: (actors: SpreadActors) => Partial<SpreadActors> = () => ({}),
): SmallWorld<State> {
  const actors = { plan: planWorkloadSpread, consulted };
  const world = new SpreadWorld(scenario, { ...actors, ...broken(actors) });
  return {
    start: world.start(mishaps),
    keyOf: spreadKey,
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => unsettled(state, scenario.fills),
  };
}

class SpreadWorld {
  readonly #scenario: SpreadScenario;
  readonly #actors: SpreadActors;
  #versions = 0;

  constructor(scenario: SpreadScenario, actors: SpreadActors) {
    this.#scenario = scenario;
    this.#actors = actors;
  }

  start(mishaps: number): State {
    const { spec, size, pods = [], isNew, evictions = 0, losses = 0, ends = 0 } = this.#scenario;
    const metadata = {
      name: "spread",
      namespace: "default",
      uid: "spread",
      generation: 1,
      resourceVersion: "0",
    };
    const spread: WorkloadSpread = { metadata, spec };
    const now = Date.UTC(2026, 0, 1);
    const workload = { size, template: "1" };
    const there = pods.map((subset, at) => {
      const pod = newPod({ spread, workload }, `pod-${at}`, `pod-${at}~0`);
      const annotations: Pod["annotations"] =
        subset === undefined ? {} : { [MATCHED]: JSON.stringify({ name: "spread", subset }) };
      const zone = subset ?? spec.subsets.at(-1)?.name ?? "";
      return { ...pod, ...running(zone), annotations, createdAt: now };
    });
    const made = { spread, pods: Object.fromEntries(there.map((pod) => [pod.name, pod])), workload };
    const cluster = isNew ? made : this.#lookedAt(made, now);
    return {
      cluster,
      seen: cluster,
      processes: PROCESSES.map(() => idleProcess(cluster.spread)),
      requests: [],
      pass: undefined,
      late: [],
      known: {},
      now,
      stage: 0,
      evictions,
      losses,
      ends,
      named: there.length,
      mishaps,
    };
  }

  /** After a pass that nothing came between. */
  #lookedAt(cluster: Cluster, now: number): Cluster {
    const observed = { workload: observedWorkload(cluster), adopted: new Map<string, string>() };
    const pods = { values: () => Object.values(cluster.pods) };
    const input = workloadSpreadInput(cluster.spread, observed, { pods }, { now, knownFor: () => 0 });
    const { writes } = passOf(cluster.spread, this.#actors.plan(input));
    return writes.reduce((after, write) => this.#stored(after, write) ?? after, cluster);
  }

  #stored(cluster: Cluster, write: SpreadWrite): Cluster | undefined {
    return written(cluster, write, `${++this.#versions}`);
  }

  movesOf(state: State): readonly Move<State>[] {
    const { mishaps, stage, cluster, evictions } = state;
    const moves = this.#dueMoves(state);
    const isQuiet = moves.every(({ isMishap }) => isMishap === true);
    moves.push({ name: "the controller passes", take: () => this.#pass(state, isQuiet) });
    const next = this.#scenario.stages?.[stage];
    if (next !== undefined)
      moves.push({
        name: next.name,
        take: () => ({ ...state, stage: stage + 1, cluster: this.#changed(cluster, next.change(cluster)) }),
      });
    if (evictions > 0)
      for (const pod of activeIn(cluster)) {
        if (isAsked(state, pod)) continue;
        for (const at of PROCESSES)
          moves.push({
            name: `${pod.name} is evicted, which process ${at} is asked`,
            take: () =>
              this.#ask(
                { ...state, evictions: evictions - 1 },
                { operation: "DELETE", by: "people", pod },
                at,
              ),
          });
      }
    return mishaps > 0 ? moves : moves.filter(({ isMishap }) => isMishap !== true);
  }

  /** What goes on by itself, without a look of the controller. */
  #dueMoves(state: State): Move<State>[] {
    return [
      ...PROCESSES.flatMap((at) => this.#processMoves(state, at)),
      ...state.requests.flatMap((request) => this.#requestMoves(state, request)),
      ...this.#workloadMoves(state),
      ...this.#podMoves(state),
      ...this.#controllerMoves(state),
    ];
  }

  #processMoves(state: State, at: number): Move<State>[] {
    const { cluster, processes } = state;
    const process = processes[at] ?? idleProcess(cluster.spread);
    const { step, cached } = process;
    const moves: Move<State>[] = [];
    if (!isVersion(cached, cluster.spread))
      moves.push({
        name: `process ${at} sees the spread`,
        take: () => this.#consult(state, at, { is: "sees", spread: cluster.spread }),
      });
    if (step.is === "idle") return moves;
    moves.push({ name: `process ${at} is ${step.is}`, take: () => this.#replied(state, at, process) });
    return moves;
  }

  #replied(state: State, at: number, { step }: Process): Promise<State> {
    const { cluster } = state;
    if (step.is === "sleeping") return this.#consult(state, at, { is: "hears", reply: "slept" });
    if (step.is === "sizing") return this.#consult(state, at, { is: "hears", reply: cluster.workload.size });
    if (step.is === "looking") {
      const pod = cluster.pods[step.pod];
      return this.#consult(state, at, { is: "hears", reply: pod === undefined ? "gone" : { uid: pod.uid } });
    }
    if (step.is !== "writing") return this.#consult(state, at, { is: "hears", reply: cluster.spread });
    const stored = this.#stored(cluster, { to: "status", patch: step.patch });
    if (stored === undefined) return this.#consult(state, at, { is: "hears", reply: "conflict" });
    return this.#consult(
      { ...state, cluster: stored },
      at,
      { is: "hears", reply: stored.spread },
      cluster.spread,
    );
  }

  /** `before`: what its answers are about. */
  async #consult(state: State, at: number, input: Input, before = state.cluster.spread): Promise<State> {
    const { processes, cluster, now } = state;
    const asked = processes[at] ?? idleProcess(cluster.spread);
    const { process, answers } = await this.#actors.consulted(
      asked,
      input,
      now + (this.#scenario.aheadMs ?? 0),
    );
    const allowed = answers.filter(({ isAllowed }) => isAllowed);
    // What is decided at once is decided on what the process has.
    const after = input.is === "asked" ? asked.cached : cluster.spread;
    checkAnswers(input.is === "asked" ? after : before, after, allowed);
    const next = answers.reduce(answered, { ...state, processes: processes.with(at, process) });
    for (const { operation, pod, zones } of allowed) {
      if (operation !== "CREATE") continue;
      checkPlaced(after, pod, zones);
      checkCap(cluster, pod, comingIn(next));
    }
    checkRecords(cluster, comingIn(next));
    return next;
  }

  #ask(
    state: State,
    { operation, by, pod }: Pick<Request, "operation" | "by" | "pod">,
    at: number,
  ): Promise<State> {
    const { isNameless } = this.#scenario;
    const request: Request = { operation, by, pod, at, zones: [] };
    const asks = { ...state, requests: [...state.requests, request] };
    return this.#consult(asks, at, { is: "asked", operation, pod, isNamed: isNameless !== true });
  }

  #requestMoves(state: State, request: Request): Move<State>[] {
    const { operation, by, pod, at } = request;
    const what = `${operation} ${pod.name}`;
    const dropped = (): State => without(state, request);
    if (at !== undefined)
      return [mishap(state, `${what} is given up while it is asked`, () => undone(state, request))];
    const moves: Move<State>[] = [
      {
        name: `${what} is carried out`,
        take: () => {
          const next = this.#carriedOut(state, request);
          return by === "controller" ? heardOf(next, pod) : next;
        },
      },
    ];
    const isRefusable = operation === "CREATE" || by === "people";
    if (isRefusable && state.losses > 0)
      moves.push({
        name: `${what} is refused by others`,
        take: () => ({ ...dropped(), losses: state.losses - 1 }),
      });
    else moves.push(mishap(state, `${what} comes to nothing`, () => undone(state, request)));
    return moves;
  }

  #carriedOut(state: State, request: Request): State {
    const { operation, pod, zones } = request;
    const { cluster, now } = state;
    const next = without(state, request);
    const becomes = (pod: Pod): State => ({
      ...next,
      cluster: { ...cluster, pods: this.#withPod(cluster.pods, pod) },
    });
    if (operation === "CREATE") {
      const zone = zones[0] ?? cluster.spread.spec.subsets.at(-1)?.name ?? "";
      return becomes({
        ...pod,
        createdAt: now,
        ...(this.#scenario.full === undefined ? running(zone) : waiting),
      });
    }
    const stored = cluster.pods[pod.name];
    return stored?.uid !== pod.uid || stored.deletionAt !== undefined
      ? next
      : becomes({ ...stored, deletionAt: now });
  }

  /** It replaces what is gone, and those first that are not of its template. */
  #workloadMoves(state: State): Move<State>[] {
    const { cluster, requests } = state;
    const { size, template } = cluster.workload;
    const active = activeIn(cluster);
    const isOld = (pod: Pod): boolean => templateOf(pod) !== template;
    const coming = requests.filter(({ operation }) => operation === "CREATE").length;
    const leaving = requests.filter(
      ({ by, operation }) => by === "workload" && operation === "DELETE",
    ).length;
    const old = active.filter(isOld);
    const surge = old.length > 0 ? 1 : 0;
    const moves: Move<State>[] = [];
    const isWanted =
      active.length - leaving + coming < size + surge && active.length - old.length + coming < size;
    if (isWanted && this.#freeName(state) !== undefined)
      for (const at of PROCESSES)
        moves.push({
          name: `a pod is to be made, which process ${at} is asked`,
          take: () => this.#create(state, at),
        });
    if (active.length - leaving <= size) return moves;
    const candidates = (old.length > 0 ? old : active).filter((pod) => !isAsked(state, pod));
    const least = Math.min(...candidates.map(costOf));
    for (const pod of candidates.filter((one) => costOf(one) === least))
      for (const at of PROCESSES)
        moves.push({
          name: `${pod.name} is to be deleted, which process ${at} is asked`,
          take: () => this.#ask(state, { operation: "DELETE", by: "workload", pod }, at),
        });
    return moves;
  }

  #create(state: State, at: number): Promise<State> {
    const { cluster, named } = state;
    const name = this.#freeName(state) ?? "";
    const pod = newPod(cluster, name, `${name}~${named}`);
    return this.#ask({ ...state, named: named + 1 }, { operation: "CREATE", by: "workload", pod }, at);
  }

  /**
   * Undefined: it waits until a name is free. Where the controller has yet to hear of the end of a pod, the record of the next one of its
   * name cannot be told from that of the former (rule 25).
   */
  #freeName({ cluster, seen, requests, named }: State): string | undefined {
    if (this.#scenario.keepsNames !== true) return `pod-${named}`;
    const names = Array.from({ length: this.#scenario.size }, (_, at) => `pod-${at}`);
    return names.find(
      (name) =>
        !(name in cluster.pods || name in seen.pods) && requests.every(({ pod }) => pod.name !== name),
    );
  }

  /** Scheduler and kubelets. */
  #podMoves(state: State): Move<State>[] {
    const { cluster, ends } = state;
    const moves: Move<State>[] = [];
    const becomes = (what: string, pod: Pod, more: Partial<State> = {}): void => {
      const take = () => ({
        ...state,
        ...more,
        cluster: { ...cluster, pods: this.#withPod(cluster.pods, pod) },
      });
      moves.push({ name: what, take });
    };
    for (const pod of Object.values(cluster.pods)) {
      const { name } = pod;
      if (pod.deletionAt !== undefined)
        moves.push({
          name: `${name} is gone`,
          take: () => ({ ...state, cluster: { ...cluster, pods: withPod(cluster.pods, name, undefined) } }),
        });
      else if (pod.phase === "Pending") {
        const zone = subsetOf(pod) ?? "";
        const isFull = this.#scenario.full?.includes(zone);
        if (!isFull) becomes(`${name} is scheduled`, { ...pod, ...running(zone) });
        else if (pod.conditions.length === 0) becomes(`${name} finds no node`, { ...pod, ...unschedulable });
      } else if (pod.phase === "Running" && ends > 0 && !isAsked(state, pod))
        becomes(`${name} ends`, { ...pod, phase: "Succeeded" }, { ends: ends - 1 });
    }
    return moves;
  }

  #controllerMoves(state: State): Move<State>[] {
    const { cluster, seen, pass, late } = state;
    const moves: Move<State>[] = [];
    if (seen.workload !== cluster.workload)
      moves.push({
        name: "the controller sees the workload",
        take: () => ({ ...state, seen: { ...seen, workload: cluster.workload } }),
      });
    for (const name of namesOf(state)) {
      const pod = cluster.pods[name];
      if (pod !== seen.pods[name])
        moves.push({
          name: `the controller sees ${name}`,
          take: () => ({ ...state, seen: { ...seen, pods: withPod(seen.pods, name, pod) } }),
        });
    }
    if (pass !== undefined) moves.push(...this.#passMoves(state, pass));
    for (const [at] of PROCESSES.entries()) moves.push(...this.#deaths(state, at));
    for (const write of late)
      moves.push({
        name: `${targetOf(write)} arrives late`,
        take: () => ({
          ...state,
          late: late.filter((one) => one !== write),
          cluster: this.#stored(cluster, write) ?? cluster,
        }),
      });
    return moves;
  }

  #passMoves(state: State, { writes, deletions }: Pass): Move<State>[] {
    const sent = inFlight(writes);
    const [deletion] = deletions;
    const goesOn = (pass: Pass): Partial<State> => ({
      pass: pass.writes.length + pass.deletions.length === 0 ? undefined : pass,
    });
    const moves: Move<State>[] = [];
    for (const write of sent) {
      const rest = goesOn({ writes: writes.filter((one) => one !== write), deletions });
      moves.push({ name: `${targetOf(write)} arrives`, take: () => this.#arrived(state, write, rest) });
      const failed = write.to === "status" ? { pass: undefined } : rest;
      moves.push(mishap(state, `${targetOf(write)} is refused`, () => ({ ...state, ...failed })));
    }
    if (sent.length > 0 || deletion === undefined || isAsked(state, deletion)) return moves;
    const rest = goesOn({ writes, deletions: deletions.slice(1) });
    for (const at of PROCESSES)
      moves.push({
        name: `the controller deletes ${deletion.name}, which process ${at} is asked`,
        take: () =>
          state.cluster.pods[deletion.name]?.uid === deletion.uid
            ? this.#ask({ ...state, ...rest }, { operation: "DELETE", by: "controller", pod: deletion }, at)
            : heardOf({ ...state, ...rest }, deletion),
      });
    return moves;
  }

  #arrived(state: State, write: SpreadWrite, rest: Partial<State>): State | Promise<State> {
    const { cluster, seen, processes } = state;
    const stored = this.#stored(cluster, write);
    if (write.to === "pod") {
      const { name } = write.pod;
      // Of a pod that is gone the controller hears soon.
      const { pods } = stored ?? cluster;
      return {
        ...state,
        ...rest,
        cluster: stored ?? cluster,
        seen: { ...seen, pods: withPod(seen.pods, name, pods[name]) },
      };
    }
    const { spread } = stored ?? cluster;
    if (stored !== undefined) checkRecords(stored, comingIn(state));
    // Who has lost a race reads what the others wrote, unless it is here already.
    const isKnown = stored === undefined && processes[0]?.cached.metadata.resourceVersion !== write.version;
    const next = { ...state, ...(stored === undefined ? { pass: undefined } : { ...rest, cluster: stored }) };
    return isKnown ? next : this.#consult(next, 0, { is: "sees", spread });
  }

  /** What it was asked is asked again. */
  #deaths(state: State, at: number): Move<State>[] {
    const { cluster, processes, pass } = state;
    const process = processes[at] ?? idleProcess(cluster.spread);
    const { step } = process;
    const own: SpreadWrite[] = step.is === "writing" ? [{ to: "status", patch: step.patch }] : [];
    const passed = at === 0 && pass !== undefined ? inFlight(pass.writes) : [];
    const dead = (late: readonly SpreadWrite[]) => (): State => {
      const asked = state.requests.filter((request) => request.at === at);
      const next = asked.reduce(undone, state);
      return {
        ...next,
        processes: processes.with(at, idleProcess(cluster.spread)),
        late: [...state.late, ...late],
        ...(at === 0 ? { pass: undefined, seen: cluster, known: {} } : {}),
      };
    };
    return [mishap(state, `process ${at} dies`, dead([...own, ...passed]))];
  }

  async #pass(state: State, isQuiet: boolean): Promise<State | undefined> {
    const { cluster, seen, processes, pass, now, requests } = state;
    const object = processes[0]?.cached ?? cluster.spread;
    if (pass !== undefined || requests.some(({ by }) => by === "controller")) return undefined;
    const pods = { values: () => Object.values(seen.pods) };
    const { adopted, workload } = await observeWorkloadSpread(
      object,
      observedWorkload({ spread: object, workload: seen.workload }),
      { pods, nodes: { get: nodeNamed }, wholePod: async (pod) => podJson(pod, true) },
    );
    const known = Object.fromEntries(entriesOf(object).map((id) => [id, state.known[id] ?? now]));
    const knownFor = ({ name, date }: { name: string; date: string }) =>
      now - (known[`${name} ${date}`] ?? now);
    const plan = this.#actors.plan(
      workloadSpreadInput(object, { adopted, workload }, { pods }, { now, knownFor }),
    );
    const planned = passOf(object, plan);
    const next = {
      ...state,
      known,
      pass: planned.writes.length + planned.deletions.length > 0 ? planned : undefined,
    };
    if (spreadKey(next) !== spreadKey(state)) return next;
    // Whatever is under way takes less time than what was let pass is expected.
    return isQuiet && plan.requeueAfterMs !== undefined
      ? { ...state, now: now + plan.requeueAfterMs }
      : undefined;
  }

  #withPod(pods: Pods, pod: Pod): Pods {
    return withPod(pods, pod.name, { ...pod, resourceVersion: `${++this.#versions}` });
  }

  #changed(cluster: Cluster, change: Partial<Cluster>): Cluster {
    const { spread = cluster.spread } = change;
    if (spread === cluster.spread) return { ...cluster, ...change };
    const generation = (spread.metadata.generation ?? 0) + 1;
    const metadata = { ...spread.metadata, generation, resourceVersion: `${++this.#versions}` };
    return { ...cluster, ...change, spread: { ...spread, metadata } };
  }
}

/** What becomes of the pods that it deletes the controller hears soon. */
function heardOf(state: State, { name }: Pod): State {
  const { cluster, seen } = state;
  return { ...state, seen: { ...seen, pods: withPod(seen.pods, name, cluster.pods[name]) } };
}

function observedWorkload({ spread, workload }: Pick<Cluster, "spread" | "workload">): SpreadWorkload {
  const { size, template } = workload;
  const { kind } = spread.spec.targetRef;
  const latestVersion = kind === "Deployment" ? template : kind === "Job" ? undefined : "versionIgnored";
  const owners = kind === "Deployment" ? TEMPLATES : [ownerOf({ spread, workload })?.uid ?? ""];
  return { size, owners: new Set(owners), selector: "", latestVersion };
}

function running(zone: string): Partial<Pod> {
  return { nodeName: nodeOf(zone), phase: "Running", conditions: [] };
}

const waiting: Partial<Pod> = { nodeName: "", phase: "Pending", conditions: [] };

const unschedulable: Partial<Pod> = {
  conditions: [
    { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "", lastTransitionAt: 0 },
  ],
};

function mishap(state: State, name: string, take: () => State): Move<State> {
  return { name, isMishap: true, take: () => ({ ...take(), mishaps: state.mishaps - 1 }) };
}

function unsettled(
  { cluster, evictions, requests }: State,
  fills: readonly number[] = [],
): string | undefined {
  if (evictions > 0 || requests.length > 0) return `${evictions + requests.length} requests`;
  for (const [index, { name }] of cluster.spread.spec.subsets.entries()) {
    const count = activeIn(cluster).filter((pod) => subsetOf(pod) === name).length;
    const right = fills[index] ?? count;
    if (count !== right) return `${count} pods in ${name}, not ${right}`;
  }
  return unsettledSpread(cluster);
}
