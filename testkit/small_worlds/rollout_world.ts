/**
 * A rollout as a small world: passes of the controller, writes in flight that arrive and are answered in any order, kubelets, people
 * who change the workload, and mishaps. What must hold is looked at as if of all writes in flight the worst ones arrived.
 */
import type { Action, Plan } from "../../controller/rollout/writes/actions.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { type ClusterModel, Refused, type Stored } from "../controller/cluster_model.ts";
import { isPodWrite } from "../controller/late_writes_model.ts";
import { randomOf, settle } from "../controller/workload_history.ts";
import type { Move, SmallWorld } from "./explore.ts";

export interface Workload {
  readonly metadata: ObjectMeta;
  readonly spec: object;
  readonly status?: object;
}

/** How a kind plans in a model cluster. */
export interface PlannedKind<T extends Workload> {
  readonly model: ClusterModel<T>;
  plan(inFlight: PendingPods, random: () => number): Plan<NonNullable<T["status"]>>;
  /** Whether a pod is another one when it has another name: so it is where a name holds an ordinal or a node. */
  readonly namesMatter: boolean;
  /** Whether a pod that is out of service uses up no budget. Default: none. */
  readonly isFree?: (pod: Pod) => boolean;
  /** Where a pod has to be the only one, but for the surge. Default: anywhere. */
  readonly placeOf?: (pod: Pod) => string;
}

/** What is asked for from some moment on, in numbers that the author of the scenario worked out. */
export interface Stage<T extends Workload> {
  readonly name: string;
  /** What a person changes. The first stage's is made before the world starts. */
  readonly change: (spec: T["spec"]) => void;
  readonly replicas: number;
  /** Pods that stay available, whatever arrives. */
  readonly least: number;
  /** Pods that there may be, those that go away not counted. */
  readonly most: number;
  /** Pods whose spec may ask for {@link newest}, those beyond the replicas not counted. */
  readonly mayBeNewest: number;
  /** An image of the main container. */
  readonly newest: string;
  /** What is wrong where nothing is left to be done. */
  readonly unsettled: (pods: readonly Pod[], set: T) => string | undefined;
}

/** What holds in a stage, whatever strategy it has. */
export type Numbers = Omit<Stage<never>, "name" | "change" | "unsettled">;

/** A workload that starts with `app:1`, and what becomes of it with a budget of one pod and no partition, where nothing else is said. */
export function stagesOf<T extends Workload, Rolling>(
  replicas: number,
  stage: (name: string, rolling: Rolling, numbers: Numbers) => Stage<T>,
) {
  const usual = { replicas, most: replicas, mayBeNewest: replicas };
  return {
    before: (rolling: Rolling) => stage("as it was", rolling, { ...usual, least: 0, newest: "app:1" }),
    after: (name: string, rolling: Rolling, numbers: Partial<Numbers> = {}) =>
      stage(name, rolling, { ...usual, least: replicas - 1, newest: "app:2", ...numbers }),
  };
}

/** A stage that has come to rest: so many pods, all available, of which so many are the newest. */
export function atRest(
  pods: readonly Pod[],
  { replicas, mayBeNewest, newest }: Pick<Numbers, "replicas" | "mayBeNewest" | "newest">,
): string | undefined {
  const available = pods.filter(isAvailable).length;
  if (available !== replicas || pods.length !== replicas)
    return `${available} of ${pods.length} pods available, not ${replicas}`;
  const updated = pods.filter((pod) => isNewest(pod, newest)).length;
  return updated === mayBeNewest ? undefined : `${updated} newest pods, not ${mayBeNewest}`;
}

export interface Scenario<T extends Workload> {
  readonly name: string;
  readonly kind: PlannedKind<T>;
  readonly stages: readonly [Stage<T>, ...Stage<T>[]];
}

interface Write {
  readonly action: Action & { after: Pod };
  /** The server has carried it out: only its answer is still to come. */
  readonly hasArrived: boolean;
}

interface State<T extends Workload> {
  readonly stored: Stored<T>;
  readonly inFlight: readonly Write[];
  /** Nobody waits for these any more, and the server has yet to carry them out. */
  readonly late: readonly Write["action"][];
  readonly stage: number;
  readonly mishaps: number;
  /** Because nothing but time changed anything. */
  readonly waitedMs: number;
  /** How often chance was asked. */
  readonly draws: number;
}

/** `mishaps`: how many may happen on one way. */
export function rolloutWorld<T extends Workload>(
  { kind, stages }: Scenario<T>,
  mishaps: number,
): SmallWorld<State<T>> {
  const world = new RolloutWorld(kind, stages);
  return {
    start: world.start(mishaps),
    keyOf: (state) => world.keyOf(state),
    movesOf: (state) => world.movesOf(state),
    unsettled: ({ stored, stage }) => stages[stage]?.unsettled(stored.pods, stored.set),
  };
}

class RolloutWorld<T extends Workload> {
  readonly #kind: PlannedKind<T>;
  readonly #model: ClusterModel<T>;
  readonly #stages: readonly Stage<T>[];
  /** Of objects, which never change. */
  readonly #texts = new WeakMap<object, string>();

  constructor(kind: PlannedKind<T>, stages: readonly Stage<T>[]) {
    this.#kind = kind;
    this.#model = kind.model;
    this.#stages = stages;
  }

  /** At rest, with what the first stage asks for. */
  start(mishaps: number): State<T> {
    this.#model.changeSpec(this.#at(0).change);
    const random = randomOf(0);
    settle(
      {
        model: this.#model,
        plan: () => this.#kind.plan(new PendingPods(), random),
        perform: (action) => this.#perform(action),
      },
      100,
    );
    return { stored: this.#model.stored(), inFlight: [], late: [], stage: 0, mishaps, waitedMs: 0, draws: 0 };
  }

  keyOf({ stored, inFlight, late, stage, mishaps, waitedMs }: State<T>): string {
    const { set, pods, revisions } = stored;
    const { placeOf } = this.#kind;
    const age = (pod: Pod): number =>
      placeOf === undefined
        ? 0
        : pods.filter((other) => placeOf(other) === placeOf(pod) && other.createdAt < pod.createdAt).length;
    const ofPod = (pod: Pod | undefined): string =>
      pod === undefined ? "" : `${age(pod)} ${this.#describe(pod)}`;
    const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
    const byName = new Map(pods.map((pod) => [pod.name, pod]));
    const ofWrite = (action: Write["action"]): string => {
      const decidedFor = "pod" in action ? action.pod : undefined;
      const is = action.type === "create pod" ? byName.get(action.after.name) : byUid.get(action.after.uid);
      const isFresh =
        decidedFor === undefined ? is === undefined : is?.resourceVersion === decidedFor.resourceVersion;
      return `${action.type} ${isFresh} ${ofPod(action.after)} of ${ofPod(is)}`;
    };
    const written = new Set([...inFlight.map(({ action }) => action), ...late].map(({ after }) => after.uid));
    return JSON.stringify([
      stage,
      mishaps,
      waitedMs,
      this.#textOf(set.spec),
      set.status,
      pods
        .filter(({ uid }) => !written.has(uid))
        .map(ofPod)
        .sort(),
      inFlight.map(({ action, hasArrived }) => `${hasArrived} ${ofWrite(action)}`).sort(),
      late.map(ofWrite).sort(),
      revisions.map(({ name, revision }) => `${name} ${revision}`).sort(),
    ]);
  }

  #describe(pod: Pod): string {
    const text = this.#textOf(pod);
    if (this.#kind.namesMatter) return text;
    // The part that chance chose is a label, too.
    return text.replaceAll(pod.name.slice(pod.name.lastIndexOf("-") + 1), "~");
  }

  #textOf(object: object): string {
    let text = this.#texts.get(object);
    if (text === undefined) {
      text = JSON.stringify(object, essential).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then");
      this.#texts.set(object, text);
    }
    return text;
  }

  movesOf(state: State<T>): readonly Move<State<T>>[] {
    const { stored, inFlight, late, stage, mishaps } = state;
    const isBeingCreated = (pod: string): boolean =>
      inFlight.some(({ action: { type, after } }) => type === "create pod" && after.name === pod);
    const moves: Move<State<T>>[] = [{ name: "the controller passes", take: () => this.#pass(state) }];
    const next = this.#stages[stage + 1];
    if (next !== undefined)
      moves.push({
        name: next.name,
        take: () => this.#changed(state, () => this.#model.changeSpec(next.change), { stage: stage + 1 }),
      });
    for (const { name, deletionAt } of stored.pods) {
      // Servers answer sooner than pods end.
      if (deletionAt !== undefined && isBeingCreated(name)) continue;
      moves.push({ name: `the kubelet looks at ${name}`, take: () => this.#kubelet(state, name) });
    }
    for (const write of inFlight) {
      const { action, hasArrived } = write;
      const what = `${action.type} ${action.after.name}`;
      const others = inFlight.filter((other) => other !== write);
      if (hasArrived) {
        moves.push({ name: `${what} is answered`, take: () => ({ ...state, inFlight: others }) });
        continue;
      }
      const arrived = inFlight.map((other) => (other === write ? { action, hasArrived: true } : other));
      moves.push({
        name: `${what} arrives`,
        take: () => this.#changed(state, () => this.#perform(action), { inFlight: arrived }),
      });
      if (mishaps === 0) continue;
      moves.push({
        name: `${what} is refused`,
        isMishap: true,
        take: () => ({ ...state, inFlight: others, mishaps: mishaps - 1 }),
      });
    }
    for (const action of late)
      moves.push({
        name: `${action.type} ${action.after.name} arrives late`,
        take: () =>
          this.#changed(state, () => this.#perform(action), {
            late: late.filter((other) => other !== action),
          }),
      });
    if (mishaps > 0) moves.push(...this.#mishaps(state));
    return moves;
  }

  #mishaps(state: State<T>): Move<State<T>>[] {
    const { stored, inFlight, late } = state;
    const left = { mishaps: state.mishaps - 1 };
    const moves: Move<State<T>>[] = [];
    if (inFlight.length > 0)
      moves.push({
        name: "the controller dies",
        isMishap: true,
        take: () => ({
          ...state,
          ...left,
          inFlight: [],
          late: [...late, ...inFlight.flatMap(({ action, hasArrived }) => (hasArrived ? [] : [action]))],
        }),
      });
    for (const pod of stored.pods) {
      if (pod.deletionAt !== undefined) continue;
      moves.push({
        name: `somebody deletes ${pod.name}`,
        isMishap: true,
        take: () => this.#changed(state, () => this.#model.deletePod(pod.name), left),
      });
      if (isAvailable(pod))
        moves.push({
          name: `${pod.name} is not ready any more`,
          isMishap: true,
          take: () => this.#changed(state, () => this.#model.change(pod.name, unready(pod)), left),
        });
    }
    return moves;
  }

  #pass(state: State<T>): State<T> | undefined {
    const { stored, inFlight } = state;
    let { draws } = state;
    const chance = randomOf(draws);
    const random = (): number => {
      draws++;
      return chance();
    };
    this.#model.restore(stored);
    const plan = this.#kind.plan(pendingOf(inFlight, stored.now), random);
    const begun: Write[] = [];
    for (const action of plan.actions) {
      if (!isWrite(action)) {
        this.#perform(action);
        continue;
      }
      const again = [...inFlight, ...begun].find((other) => other.action.after.uid === action.after.uid);
      if (again !== undefined) throw new Error(`${action.after.name} is written twice`);
      begun.push({ action, hasArrived: false });
    }
    this.#model.writeStatus(plan.status);
    const next = { ...state, stored: this.#model.stored(), inFlight: [...inFlight, ...begun], draws };
    this.#check(state, next);
    const isIdle =
      plan.actions.every(({ type }) => type === "event") && this.keyOf(next) === this.keyOf(state);
    if (!isIdle) return next;
    if (plan.requeueAfterMs === undefined || inFlight.length > 0 || this.#isKubeletBusy(stored))
      return undefined;
    this.#model.now += plan.requeueAfterMs;
    return { ...next, stored: this.#model.stored(), waitedMs: state.waitedMs + plan.requeueAfterMs };
  }

  /** What the pass decided, against what is asked for now. */
  #check(before: State<T>, after: State<T>): void {
    const { replicas, least, mayBeNewest, newest } = this.#at(after.stage);
    const grows = (count: (state: State<T>) => number): number => {
      const counted = count(after);
      return counted > count(before) ? counted : 0;
    };
    const available = this.#availableAtWorst(after);
    // As the controller sees them: it knows of no refusal before the answer.
    const written = new Map(before.inFlight.map(({ action }) => [action.after.uid, action.after]));
    const free = before.stored.pods.filter(
      (pod) => !isAvailable(pod) && this.#kind.isFree?.(written.get(pod.uid) ?? pod),
    ).length;
    if (available < this.#availableAtWorst(before) && available + free < least)
      throw new Error(`${available} pods are available, ${least} have to be`);
    this.#checkRoom(before, after);
    const updated = grows((state) => newestAtWorst(state, newest));
    const surplus = Math.max(0, podsAtWorst(after).length - replicas);
    if (updated > mayBeNewest + surplus)
      throw new Error(`${updated} pods are the newest, ${mayBeNewest} may be`);
  }

  /** Those that are, and still are after what is written of them; of those of one place one counts. */
  #availableAtWorst(state: State<T>): number {
    const those = pairs(state).flatMap(([pod, after]) =>
      isAvailable(pod) && (after === undefined || !takesAway(pod, after)) ? [pod] : [],
    );
    const { placeOf = ({ name }) => name } = this.#kind;
    return new Set(those.map(placeOf)).size;
  }

  #checkRoom(before: State<T>, after: State<T>): void {
    const { replicas, most } = this.#at(after.stage);
    const { placeOf } = this.#kind;
    const known = creations(before);
    const pods = podsAtWorst(after);
    for (const created of creations(after)) {
      if (known.includes(created)) continue;
      const isBeside = (pod: Pod): boolean => placeOf === undefined || placeOf(pod) === placeOf(created);
      const count = pods.filter(isBeside).length;
      const room = placeOf === undefined ? most : most - replicas + 1;
      if (count > room) throw new Error(`there are ${count} pods, ${room} may be`);
    }
  }

  #isKubeletBusy(stored: Stored<T>): boolean {
    return stored.pods.some(({ name }) => {
      this.#model.restore(stored);
      return this.#model.kubelet(name);
    });
  }

  #kubelet(state: State<T>, name: string): State<T> | undefined {
    this.#model.restore(state.stored);
    return this.#model.kubelet(name) ? { ...state, stored: this.#model.stored() } : undefined;
  }

  #changed(state: State<T>, change: () => void, more: Partial<State<T>>): State<T> {
    this.#model.restore(state.stored);
    change();
    return { ...state, ...more, stored: this.#model.stored() };
  }

  #perform(action: Action): void {
    try {
      this.#model.perform(action);
      // Of two pods one is older.
      if (action.type === "create pod") this.#model.now += 1000;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  #at(stage: number): Stage<T> {
    const found = this.#stages[stage];
    if (found === undefined) throw new Error(`no stage ${stage}`);
    return found;
  }
}

const incidental = ["uid", "resourceVersion", "createdAt", "lastTransitionAt", "containerID"];

/** The order of conditions means nothing. */
function essential(key: string, value: unknown): unknown {
  if (incidental.includes(key)) return undefined;
  if (key === "deletionAt") return value !== undefined;
  return key === "conditions" && Array.isArray(value)
    ? value.map((one) => JSON.stringify(one, essential)).sort()
    : value;
}

function isWrite(action: Action): action is Write["action"] {
  return isPodWrite(action);
}

function pendingOf(inFlight: readonly Write[], now: number): PendingPods {
  const pending = new PendingPods();
  for (const { action } of inFlight) pending.set(action.after.uid, afterOf(action, now));
  return pending;
}

function afterOf({ type, after }: Write["action"], now: number): Pod {
  return type === "delete pod" ? { ...after, deletionAt: now } : after;
}

function isPresent({ deletionAt, phase }: Pod): boolean {
  return deletionAt === undefined && phase !== "Failed" && phase !== "Succeeded";
}

function isAvailable(pod: Pod): boolean {
  return isPresent(pod) && pod.conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function isNewest({ containers }: Pod, image: string): boolean {
  return containers[0]?.image === image;
}

function unready(pod: Pod): Partial<Pod> {
  return {
    containerStatuses: pod.containerStatuses.map((status) => ({ ...status, ready: false })),
    conditions: pod.conditions.map((one) =>
      one.type === "Ready" || one.type === "ContainersReady" ? { ...one, status: "False" } : one,
    ),
  };
}

/** Each stored pod with the write of it that has not arrived. Of late ones nobody knows. */
function pairs<T extends Workload>({ stored, inFlight }: State<T>): [Pod, Pod | undefined][] {
  const writes = new Map<string, Pod>();
  for (const { action, hasArrived } of inFlight)
    if (!hasArrived) writes.set(action.after.uid, afterOf(action, stored.now));
  return stored.pods.map((pod) => [pod, writes.get(pod.uid)]);
}

function creations<T extends Workload>({ stored, inFlight }: State<T>): Pod[] {
  const names = new Set(stored.pods.map(({ name }) => name));
  return inFlight.flatMap(({ action: { type, after } }) =>
    type === "create pod" && !names.has(after.name) ? [after] : [],
  );
}

/** Whether a write takes the pod out of service: it goes, its gate closes, or other containers start. */
function takesAway(pod: Pod, after: Pod): boolean {
  if (!isPresent(after)) return true;
  const isClosed = after.conditions.some(
    ({ type, status }) => status === "False" && after.readinessGates.includes(type),
  );
  return isClosed || !isNewest(pod, after.containers[0]?.image ?? "");
}

/** No deletion arrives, each creation does. */
function podsAtWorst<T extends Workload>(state: State<T>): Pod[] {
  return [...state.stored.pods.filter(isPresent), ...creations(state)];
}

function newestAtWorst<T extends Workload>(state: State<T>, image: string): number {
  const isOne = (pod: Pod | undefined): boolean =>
    pod !== undefined && isPresent(pod) && isNewest(pod, image);
  return (
    pairs(state).filter(([pod, after]) => isOne(pod) || isOne(after)).length +
    creations(state).filter(isOne).length
  );
}
