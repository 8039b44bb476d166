/**
 * One budget as a small world: requests that ask its guard, whose reads and writes mix with those of others, a controller whose
 * caches lag behind, pods that come, go and fail, people who change what they ask for. Spec: protection A4.
 */
import { planBudget } from "../../controller/kinds/pod_unavailable_budget/plan.ts";
import { exactStatus } from "../../controller/runtime/exact_status.ts";
import type { PodUnavailableBudget, PodUnavailableBudgetSpec } from "../../crds/index.ts";
import { applyMergePatch } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { type Reply, type Step, stepOf } from "./asked_budget.ts";
import {
  alsoUnsaid,
  availableIn,
  type Cluster,
  decoded,
  describe,
  entriesOf,
  failed,
  floorIn,
  floorOf,
  generationOf,
  isAvailable,
  isObserved,
  MARKED,
  type Pods,
  podOf,
  readiness,
  UNAVAILABLE,
  withPod,
} from "./budget_cluster.ts";
import type { Move, SmallWorld } from "./explore.ts";

export interface Request {
  /** By name: whichever pod has it when it is asked. */
  readonly pod: string;
  readonly operation: "DELETE" | "EVICT" | "UPDATE";
  readonly isDryRun?: true;
  /** It is let pass, and may come for as long as that counts, but does not. */
  readonly isLost?: true;
}

export interface Stage {
  readonly name: string;
  /** A budget that is another one has another spec. */
  readonly change: (cluster: Cluster) => Partial<Cluster>;
  /** The pod that it is about. */
  readonly pod?: string;
}

export interface BudgetScenario {
  readonly name: string;
  readonly spec: PodUnavailableBudgetSpec;
  readonly pods: readonly Pod[];
  readonly requests: readonly Request[];
  readonly stages?: readonly Stage[];
  /** The controller has yet to look at the budget. */
  readonly isNew?: true;
  /** What comes for a pod has the same name. */
  readonly keepsNames?: true;
  /** The clocks of those who answer are ahead of the controller's by so many milliseconds. */
  readonly aheadMs?: number;
}

interface Asked {
  readonly request: Request;
  readonly progress: Progress;
}

/** `pod`: as it was when the request was asked. */
type Progress =
  /** It is made again when the budget or the pod is another one than those of the refusal. */
  | { readonly is: "waiting"; readonly refusedAt?: string }
  | { readonly is: "asking"; readonly pod: Pod; readonly replies: readonly Reply[]; readonly step: Step }
  | { readonly is: "let pass"; readonly pod: Pod; readonly isFree: boolean; readonly until: number }
  | { readonly is: "done" };

type ProgressThat<Is extends Progress["is"]> = Extract<Progress, { is: Is }>;

interface StatusWrite {
  readonly patch: object;
  /** Of those of which no status said it: pods that the plan saw unavailable. */
  readonly said: readonly Pod[];
  readonly floor: number;
}

export interface State {
  readonly cluster: Cluster;
  /** The controller's caches. */
  readonly seen: Pick<Cluster, "budget" | "pods" | "replicas">;
  readonly write: StatusWrite | undefined;
  /** Sent by a controller that died. */
  readonly late: StatusWrite | undefined;
  readonly asked: readonly Asked[];
  /** Of pods that were recorded in the status: until when that counts. */
  readonly heldUntil: Readonly<Record<string, number>>;
  /** Since when the controller knows each entry of the status. */
  readonly known: Readonly<Record<string, number>>;
  readonly now: number;
  readonly stage: number;
  readonly mishaps: number;
}

export interface BudgetActors {
  readonly plan: typeof planBudget;
  readonly stepOf: typeof stepOf;
}

/** So many requests are asked at a time, each at a replica of its own. */
const REPLICAS = 2;
/** Rule 27; milliseconds. */
const HELD_MS = { DELETE: 20_000, EVICT: 20_000, UPDATE: 10_000 };
/** The budget is behind its spec: so often it is read before it decides nevertheless. */
const READS = 4;

/** `mishaps`: how many may happen on one way; `broken`: what somebody got wrong. */
export function budgetWorld(
  scenario: BudgetScenario,
  mishaps: number,
  broken: (actors: BudgetActors) => Partial<BudgetActors> = () => ({}),
): SmallWorld<State> {
  const actors = { plan: planBudget, stepOf };
  const world = new BudgetWorld(scenario, { ...actors, ...broken(actors) });
  return {
    start: world.start(mishaps),
    keyOf: (state) => world.keyOf(state),
    movesOf: (state) => world.movesOf(state),
    unsettled,
  };
}

class BudgetWorld {
  readonly #scenario: BudgetScenario;
  readonly #actors: BudgetActors;
  #versions = 0;

  constructor(scenario: BudgetScenario, actors: BudgetActors) {
    this.#scenario = scenario;
    this.#actors = actors;
  }

  start(mishaps: number): State {
    const { spec, pods, requests, isNew = false } = this.#scenario;
    const metadata = {
      name: "budget",
      namespace: "default",
      uid: "uid",
      generation: 1,
      resourceVersion: "0",
    };
    const cluster: Cluster = {
      budget: { metadata, spec },
      pods: Object.fromEntries(pods.map((pod) => [pod.name, pod])),
      replicas: pods.length,
      unsaid: [],
    };
    const state: State = {
      cluster,
      seen: cluster,
      write: undefined,
      late: undefined,
      asked: requests.map((request) => ({ request, progress: { is: "waiting" } })),
      heldUntil: {},
      known: {},
      now: Date.UTC(2026, 0, 1),
      stage: 0,
      mishaps,
    };
    const passed = isNew ? undefined : this.#pass(state);
    return passed?.write === undefined ? state : this.#arrived(passed, passed.write);
  }

  keyOf(state: State): string {
    const { cluster, seen, write, late, asked, known, now, stage, mishaps } = state;
    const facts: [string, string][] = [];
    const counts: string[] = [];
    const tell = (what: string, { status }: PodUnavailableBudget): void => {
      const { disruptedPods, unavailablePods, ...others } = status ?? {};
      counts.push(`${what} ${JSON.stringify(others)}`);
      for (const [name, date] of entriesOf(status)) facts.push([name, `${what} ${now - Date.parse(date)}`]);
    };
    tell("stored", cluster.budget);
    counts.push(`${generationOf(cluster.budget)} ${cluster.replicas} ${seen.replicas}`);
    if (seen.budget !== cluster.budget) {
      tell("seen", seen.budget);
      counts.push(`${generationOf(seen.budget)}`);
    }
    for (const [what, one] of Object.entries({ write, late })) {
      if (one === undefined) continue;
      const written = this.#patched(cluster, one.patch);
      if (written === undefined) counts.push(`${what} raced`);
      else {
        tell(what, written.budget);
        for (const pod of one.said) if (cluster.unsaid.includes(pod)) facts.push([pod.name, what]);
      }
    }
    for (const pod of Object.values(cluster.pods)) facts.push([pod.name, describe(pod)]);
    for (const name of namesOf(state)) {
      const pod = seen.pods[name];
      if (pod !== cluster.pods[name]) facts.push([name, `seen ${pod && describe(pod)}`]);
    }
    for (const { name } of cluster.unsaid) facts.push([name, "unsaid"]);
    for (const [name, until] of Object.entries(state.heldUntil))
      if (until > now) facts.push([name, `held ${until - now}`]);
    for (const [id, since] of Object.entries(known)) {
      const [name = "", date = ""] = id.split(" ");
      facts.push([name, `known ${now - Date.parse(date)} ${now - since}`]);
    }
    for (const { request, progress } of asked) {
      const text = [request.operation, request.isDryRun, request.isLost, progress.is];
      facts.push([request.pod, JSON.stringify([...text, this.#describe(state, request, progress)])]);
    }
    const upcoming = this.#scenario.stages?.slice(stage).map(({ pod }) => pod);
    const places = this.#places().map((place) => {
      const own = facts
        .filter(([name]) => placeOf(name) === place)
        .map(([name, fact]) => `${name.slice(place.length)} ${fact}`);
      return `${upcoming?.includes(place) ? place : ""} ${own.sort().join()}`;
    });
    return JSON.stringify([stage, mishaps, counts, places.sort()]);
  }

  #describe({ cluster, now }: State, request: Request, progress: Progress): unknown {
    switch (progress.is) {
      case "done":
        return undefined;
      case "waiting":
        return progress.refusedAt === versionsOf(cluster.budget, cluster.pods[request.pod]);
      case "let pass":
        return [this.#isFresh(cluster, progress.pod), progress.isFree, now < progress.until];
      case "asking": {
        const { pod, replies, step } = progress;
        const heard = replies.map((reply) => (typeof reply === "string" ? reply : isObserved(reply)));
        const written = step.is === "writing" ? this.#patched(cluster, step.patch)?.budget.status : undefined;
        const { currentAvailable, unavailableAllowed } = written ?? {};
        const own = entriesOf(written).find(([name]) => name === pod.name)?.[1];
        return [
          this.#isFresh(cluster, pod),
          isAvailable(pod),
          heard,
          step.is,
          currentAvailable,
          unavailableAllowed,
          own && now - Date.parse(own),
        ];
      }
    }
  }

  #isFresh({ pods }: Cluster, { name, resourceVersion }: Pod): boolean {
    return pods[name]?.resourceVersion === resourceVersion;
  }

  movesOf(state: State): readonly Move<State>[] {
    const { stage, cluster } = state;
    const moves = [
      ...state.asked.flatMap((asked) => this.#requestMoves(state, asked)),
      ...this.#controllerMoves(state),
      ...this.#podMoves(state),
    ];
    const next = this.#scenario.stages?.[stage];
    if (next !== undefined)
      moves.push({
        name: next.name,
        take: () => ({ ...state, stage: stage + 1, cluster: this.#changed(cluster, next.change(cluster)) }),
      });
    return state.mishaps > 0 ? moves : moves.filter(({ isMishap }) => isMishap !== true);
  }

  #requestMoves(state: State, asked: Asked): Move<State>[] {
    const { request, progress } = asked;
    const { cluster, now } = state;
    const what = `${request.operation} ${request.pod}${request.isDryRun ? " as a dry run" : ""}`;
    switch (progress.is) {
      case "done":
        return [];
      case "waiting": {
        const isFull = state.asked.filter((one) => one.progress.is === "asking").length === REPLICAS;
        if (isFull || progress.refusedAt === versionsOf(cluster.budget, cluster.pods[request.pod])) return [];
        return [{ name: `${what} is asked`, take: () => this.#ask(state, asked) }];
      }
      case "asking": {
        const { step } = progress;
        const moves: Move<State>[] = [
          { name: `${what} is ${step.is}`, take: () => this.#answered(state, asked, progress) },
          mishap(state, `${what} is never answered`, () => goesTo(state, asked, { is: "waiting" })),
        ];
        if (step.is !== "writing") return moves;
        const written = this.#patched(cluster, step.patch);
        if (written !== undefined)
          moves.push(
            mishap(state, `${what} is never answered after its write`, () =>
              goesTo({ ...state, cluster: written, heldUntil: held(state, request) }, asked, {
                is: "waiting",
              }),
            ),
          );
        return moves;
      }
      case "let pass": {
        if (request.isLost) {
          if (now < progress.until) return [];
          return [{ name: `${what} has not come`, take: () => goesTo(state, asked, { is: "done" }) }];
        }
        return [
          { name: `${what} is carried out`, take: () => this.#carriedOut(state, asked, progress) },
          mishap(state, `${what} comes to nothing`, () => goesTo(state, asked, { is: "waiting" })),
        ];
      }
    }
  }

  async #ask(state: State, asked: Asked): Promise<State> {
    const pod = state.cluster.pods[asked.request.pod];
    if (pod === undefined || pod.deletionAt !== undefined) return goesTo(state, asked, { is: "done" });
    return this.#stepped(state, asked, pod, []);
  }

  #answered(state: State, asked: Asked, { pod, replies, step }: ProgressThat<"asking">): Promise<State> {
    const { cluster } = state;
    const goesOn = (reply: Reply, more: Partial<State> = {}) =>
      this.#stepped({ ...state, ...more }, asked, pod, [...replies, reply]);
    if (step.is === "sleeping") return goesOn("slept");
    if (step.is !== "writing") return goesOn(cluster.budget);
    const written = this.#patched(cluster, step.patch);
    if (written === undefined) return goesOn("conflict");
    const spent = { cluster: written, heldUntil: held(state, asked.request) };
    return goesOn(written.budget, spent).then(enoughStay);
  }

  async #stepped(state: State, asked: Asked, pod: Pod, replies: readonly Reply[]): Promise<State> {
    const { request } = asked;
    const { operation, isDryRun = false } = request;
    const now = state.now + (this.#scenario.aheadMs ?? 0);
    const step = await this.#actors.stepOf({ pod, operation, isDryRun, now }, replies);
    if (step.is !== "decided") return goesTo(state, asked, { is: "asking", pod, replies, step });
    if (!step.isAllowed) {
      const read = replies.findLast((reply) => typeof reply !== "string");
      return goesTo(state, asked, { is: "waiting", refusedAt: versionsOf(read, pod) });
    }
    if (isDryRun) return goesTo(state, asked, { is: "done" });
    // Rule 12 g and j.
    const isFree = !isAvailable(pod) || floorIn(state.cluster) === 0;
    const until = state.heldUntil[pod.name] ?? state.now;
    const next = goesTo(state, asked, { is: "let pass", pod, isFree, until });
    if (!isFree) checkRecorded(state.cluster, pod.name, replies);
    return next;
  }

  /** The server asks again for a deletion or an update whose pod has changed meanwhile; not so for an eviction. */
  #carriedOut(state: State, asked: Asked, progress: ProgressThat<"let pass">): State | Promise<State> {
    const { cluster } = state;
    const { operation } = asked.request;
    const { pod } = progress;
    const now = cluster.pods[pod.name];
    if (now === undefined || now.deletionAt !== undefined) return goesTo(state, asked, { is: "done" });
    if (!this.#isFresh(cluster, pod) && operation !== "EVICT") return this.#ask(state, asked);
    const isUnsaid = !isHeld(state, progress) && isAvailable(now);
    const unsaid = isUnsaid ? alsoUnsaid(cluster.unsaid, now) : cluster.unsaid;
    const change =
      operation === "UPDATE" ? { labels: { ...now.labels, [UNAVAILABLE]: "" } } : { deletionAt: state.now };
    const next = {
      ...state,
      cluster: { ...cluster, unsaid, pods: this.#withPod(cluster.pods, { ...now, ...change }) },
    };
    return goesTo(next, asked, { is: "done" });
  }

  #controllerMoves(state: State): Move<State>[] {
    const { cluster, seen, write, late } = state;
    const moves: Move<State>[] = [];
    const sees = (what: string, part: Partial<State["seen"]>): void => {
      moves.push({
        name: `the controller sees ${what}`,
        take: () => ({ ...state, seen: { ...seen, ...part } }),
      });
    };
    if (seen.budget !== cluster.budget) sees("the budget", { budget: cluster.budget });
    if (seen.replicas !== cluster.replicas) sees("the workload", { replicas: cluster.replicas });
    for (const name of namesOf(state)) {
      const pod = cluster.pods[name];
      if (pod !== seen.pods[name]) sees(name, { pods: withPod(seen.pods, name, pod) });
    }
    if (write === undefined) moves.push({ name: "the controller passes", take: () => this.#pass(state) });
    else
      moves.push(
        { name: "the status arrives", take: () => this.#arrived(state, write) },
        mishap(state, "the status is refused", () => ({ ...state, write: undefined })),
      );
    moves.push(
      mishap(state, "another controller takes over", () => ({
        ...state,
        write: undefined,
        late: write,
        seen: cluster,
        known: {},
      })),
    );
    if (late !== undefined)
      moves.push({
        name: "the status arrives late",
        take: () => ({ ...state, late: undefined, cluster: this.#said(cluster, late) ?? cluster }),
      });
    return moves;
  }

  #pass(state: State): State | undefined {
    const { cluster, seen, now } = state;
    const { budget, replicas } = seen;
    const ids = entriesOf(budget.status).map((entry) => entry.join(" "));
    const known = Object.fromEntries(ids.map((id) => [id, state.known[id] ?? now]));
    const plan = this.#actors.plan({
      object: budget,
      pods: Object.values(seen.pods),
      former: [],
      totalReplicas: replicas,
      isProtectedBy: () => true,
      knownFor: ({ name, date }) => now - (known[`${name} ${date}`] ?? now),
      now,
    });
    const { status } = exactStatus(budget, plan.status);
    const said = cluster.unsaid.filter(({ name }) => !isAvailable(seen.pods[name]));
    if (Object.keys(status).length > 0) {
      const patch = { metadata: { resourceVersion: budget.metadata.resourceVersion }, status };
      return { ...state, known, write: { patch, said, floor: floorOf(budget, replicas) } };
    }
    const isCurrent = budget === cluster.budget;
    const unsaid = cluster.unsaid.filter((pod) => !isCurrent || !said.includes(pod));
    const next = { ...state, known, cluster: { ...cluster, unsaid } };
    if (this.keyOf(next) !== this.keyOf(state)) return next;
    // Whatever is under way takes less time than what was let pass is held.
    const isBehind = !isCurrent || namesOf(state).some((name) => seen.pods[name] !== cluster.pods[name]);
    const isUnderWay = state.asked.some(
      ({ request, progress }) => progress.is === "let pass" && request.isLost !== true,
    );
    if (isBehind || isUnderWay || plan.requeueAfterMs === undefined) return undefined;
    return { ...state, now: now + plan.requeueAfterMs };
  }

  /** Who has lost a race reads what the other wrote. */
  #arrived(state: State, write: StatusWrite): State {
    const cluster = this.#said(state.cluster, write) ?? state.cluster;
    return { ...state, write: undefined, cluster, seen: { ...state.seen, budget: cluster.budget } };
  }

  #said(cluster: Cluster, { patch, said, floor }: StatusWrite): Cluster | undefined {
    const stored = this.#patched(cluster, patch);
    if (stored === undefined) return undefined;
    if (floorIn(stored) !== floor) throw new Error(`the floor is ${floorIn(stored)}, it has to be ${floor}`);
    return { ...stored, unsaid: stored.unsaid.filter((pod) => !said.includes(pod)) };
  }

  /** Kubelets and the workload. */
  #podMoves(state: State): Move<State>[] {
    const { cluster } = state;
    const { pods } = cluster;
    const moves: Move<State>[] = [];
    const becomes = (what: string, pods: Pods): void => {
      moves.push({ name: what, take: () => ({ ...state, cluster: { ...cluster, pods } }) });
    };
    for (const pod of Object.values(pods)) {
      const { name } = pod;
      const { [UNAVAILABLE]: update, ...labels } = pod.labels;
      if (pod.deletionAt !== undefined) becomes(`${name} is gone`, withPod(pods, name, undefined));
      else if (update !== undefined) becomes(`${name} is updated`, this.#withPod(pods, { ...pod, labels }));
      else if (!isAvailable(pod))
        becomes(`${name} is ready`, this.#withPod(pods, { ...pod, ...readiness(true) }));
      else
        moves.push(
          mishap(state, `${name} fails`, () => ({
            ...state,
            cluster: this.#changed(cluster, failed(cluster, name)),
          })),
        );
    }
    const active = Object.values(pods).filter(({ deletionAt }) => deletionAt === undefined);
    const place = this.#places().find((one) => !active.some(({ name }) => placeOf(name) === one));
    if (active.length < cluster.replicas && place !== undefined) {
      const name = place in pods || !this.#scenario.keepsNames ? `${place}.2` : place;
      if (!this.#scenario.keepsNames || name === place)
        becomes(`${name} is created`, this.#withPod(pods, { ...podOf(name), ...readiness(false) }));
    }
    return moves;
  }

  /** One more than there are pods at first. */
  #places(): string[] {
    return [...this.#scenario.pods.map(({ name }) => name), "more"];
  }

  #withPod(pods: Pods, pod: Pod): Pods {
    return withPod(pods, pod.name, { ...pod, resourceVersion: `${++this.#versions}` });
  }

  #changed(cluster: Cluster, change: Partial<Cluster>): Cluster {
    const { budget = cluster.budget, pods = {} } = change;
    let after = { ...cluster, ...change, pods: cluster.pods };
    for (const pod of Object.values(pods))
      if (pod !== cluster.pods[pod.name]) after = { ...after, pods: this.#withPod(after.pods, pod) };
    if (budget === cluster.budget) return after;
    const { metadata } = budget;
    const generation = (metadata.generation ?? 0) + 1;
    return {
      ...after,
      budget: { ...budget, metadata: { ...metadata, generation, resourceVersion: `${++this.#versions}` } },
    };
  }

  /** Undefined: the budget is not the one that the patch was made for. */
  #patched(cluster: Cluster, patch: object): Cluster | undefined {
    const { resourceVersion } = cluster.budget.metadata;
    const { metadata, ...rest } = decoded(applyMergePatch(cluster.budget, patch));
    if (metadata.resourceVersion !== resourceVersion) return undefined;
    return {
      ...cluster,
      budget: { ...rest, metadata: { ...metadata, resourceVersion: `${++this.#versions}` } },
    };
  }
}

/** Where one pod comes for another. */
function placeOf(name: string): string {
  return name.split(".")[0] ?? name;
}

function namesOf({ cluster, seen }: State): string[] {
  return [...new Set([...Object.keys(cluster.pods), ...Object.keys(seen.pods)])];
}

function goesTo(state: State, { request }: Asked, progress: Progress): State {
  return {
    ...state,
    asked: state.asked.map((one) => (one.request === request ? { request, progress } : one)),
  };
}

function mishap(state: State, name: string, take: () => State): Move<State> {
  return { name, isMishap: true, take: () => ({ ...take(), mishaps: state.mishaps - 1 }) };
}

function versionsOf(budget: PodUnavailableBudget | undefined, pod: Pod | undefined): string {
  return `${budget?.metadata.resourceVersion} ${pod?.resourceVersion}`;
}

/** Rule 27: what is recorded now counts for so long. */
function held({ heldUntil, now }: State, { pod, operation }: Request): State["heldUntil"] {
  return { ...heldUntil, [pod]: now + HELD_MS[operation] };
}

/** Who is let pass again has what is left of the time of the first record (rule 12 l). */
function isHeld({ now }: State, { isFree, until }: ProgressThat<"let pass">): boolean {
  return !isFree && now < until;
}

/** Rules 12 and 14, and docs/compatibility.md: a budget that was not looked at since it changed is waited for. */
function checkRecorded({ budget }: Cluster, pod: string, replies: readonly Reply[]): void {
  const reads = replies.filter((reply) => typeof reply !== "string" && !isObserved(reply)).length;
  if (!isObserved(budget) && reads < READS) throw new Error("a status of another generation decides");
  if (!entriesOf(budget.status).some(([name]) => name === pod)) throw new Error(`${pod} is not recorded`);
}

/**
 * The state in which a request was recorded. Throws where too few pods stay, if of all requests that were let pass those come that
 * may, but for pods of which the budget cannot know.
 */
function enoughStay(state: State): State {
  const { cluster, asked } = state;
  const { pods, unsaid } = cluster;
  const leaving = asked.flatMap(({ progress }) =>
    progress.is === "let pass" && isHeld(state, progress) ? [progress.pod.name] : [],
  );
  const staying = availableIn(pods).filter(({ name }) => !leaving.includes(name));
  const excused = unsaid.filter(({ name }) => !isAvailable(pods[name])).length;
  const floor = floorIn(cluster);
  if (staying.length + excused < floor)
    throw new Error(
      `${staying.length} pods stay, and ${excused} that are not known to have failed; ${floor} have to`,
    );
  return state;
}

/** Rules 6 to 8 and 27. */
function unsettled({ cluster, asked }: State): string | undefined {
  const { budget, pods, replicas } = cluster;
  const available = availableIn(pods);
  const floor = floorOf(budget, replicas);
  const marks = available.filter(({ labels }) => MARKED in labels).length;
  const allowed = Math.max(0, available.length - marks - floor);
  const expected = {
    observedGeneration: budget.metadata.generation,
    unavailableAllowed: allowed,
    currentAvailable: available.length,
    desiredAvailable: floor,
    totalReplicas: replicas,
  };
  const status = { ...expected, ...budget.status };
  if (JSON.stringify(status) !== JSON.stringify(expected)) return `the status ${JSON.stringify(status)}`;
  const mayBeRefused = ({ progress }: Asked): boolean => progress.is === "waiting" && allowed === 0;
  const wrong = asked.find((one) => one.progress.is !== "done" && !mayBeRefused(one));
  return wrong && `${wrong.request.operation} ${wrong.request.pod} ${wrong.progress.is}`;
}
