/**
 * A plan whose writes race, as a small world: passes of the controller, writes in flight that arrive and are answered in any order,
 * kubelets, people who change what they ask for, and mishaps. What a pass must not do, the kind's rules say.
 */
import type { Action, Plan } from "../../controller/rollout/writes/actions.ts";
import { PendingPods } from "../../controller/rollout/writes/pending_pods.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import type { Node, Pod } from "../../kube/index.ts";
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
  /** `status`: the one planned last, or the stored one. */
  plan(inFlight: PendingPods, random: () => number, status: T["status"]): Plan<NonNullable<T["status"]>>;
  /**
   * Whether plans build on what this status says and the stored one does not: it is stored some time later, and forgotten where
   * the controller dies before. Default: nothing.
   */
  readonly isBuiltOn?: (status: T["status"], stored: T["status"]) => boolean;
  /** Whether a pod is another one when it has another name: so it is where a name holds an ordinal or a node. */
  readonly namesMatter: boolean;
  /** Where a pod has to be the only one, but for the surge. Default: anywhere. */
  readonly placeOf?: (pod: Pod) => string;
  /** What becomes of a pod that fails; undefined: it cannot. Default: one that is ready is so no more. */
  readonly failed?: (pod: Pod) => Partial<Pod> | undefined;
}

/** What is asked for from some moment on. */
export interface Stage<T extends Workload> {
  readonly name: string;
  /** What a person changes. The first stage's is made before the world starts. */
  readonly change: (spec: T["spec"]) => void;
  /** What else happens at that moment. */
  readonly besides?: () => void;
  /** What is wrong where nothing is left to be done. */
  readonly unsettled: (pods: readonly Pod[], set: T, nodes: readonly Node[]) => string | undefined;
}

export interface Play<T extends Workload, S extends Stage<T>> {
  readonly kind: PlannedKind<T>;
  readonly stages: readonly [S, ...S[]];
  /** Throws where a pass decided what must not be, as if of all writes in flight the worst ones arrived. */
  readonly check: (before: State<T>, after: State<T>, stage: S) => void;
}

export interface Write {
  readonly action: Action & { after: Pod };
  /** The server has carried it out: only its answer is still to come. */
  readonly hasArrived: boolean;
}

export interface State<T extends Workload> {
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
  /** Planned, and not stored yet. */
  readonly status?: T["status"];
}

/** A wrong plan: it does not see what is on its way. */
export function forgets<T extends Workload>({ plan }: PlannedKind<T>): PlannedKind<T>["plan"] {
  return (_, ...others) => plan(new PendingPods(), ...others);
}

/** `mishaps`: how many may happen on one way. */
export function planWorld<T extends Workload, S extends Stage<T>>(
  play: Play<T, S>,
  mishaps: number,
): SmallWorld<State<T>> {
  const world = new PlanWorld(play);
  const { stages } = play;
  return {
    start: world.start(mishaps),
    keyOf: (state) => world.keyOf(state),
    movesOf: (state) => world.movesOf(state),
    unsettled: ({ stored, stage }) => stages[stage]?.unsettled(stored.pods, stored.set, stored.nodes),
  };
}

class PlanWorld<T extends Workload, S extends Stage<T>> {
  readonly #kind: PlannedKind<T>;
  readonly #model: ClusterModel<T>;
  readonly #stages: readonly S[];
  readonly #checkPass: Play<T, S>["check"];
  /** Of objects, which never change. */
  readonly #texts = new WeakMap<object, string>();

  constructor({ kind, stages, check }: Play<T, S>) {
    this.#kind = kind;
    this.#model = kind.model;
    this.#stages = stages;
    this.#checkPass = check;
  }

  /** At rest, with what the first stage asks for. */
  start(mishaps: number): State<T> {
    this.#enter(this.#at(0));
    const random = randomOf(0);
    settle(
      {
        model: this.#model,
        plan: () => this.#kind.plan(new PendingPods(), random, this.#model.set.status),
        perform: (action) => this.#perform(action),
      },
      100,
    );
    return { stored: this.#model.stored(), inFlight: [], late: [], stage: 0, mishaps, waitedMs: 0, draws: 0 };
  }

  keyOf({ stored, inFlight, late, stage, mishaps, waitedMs, status }: State<T>): string {
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
      set.status && this.#textOf(set.status),
      status && this.#textOf(status),
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
        take: () => this.#changed(state, () => this.#enter(next), { stage: stage + 1 }),
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
    const { status } = state;
    if (status !== undefined)
      moves.push({
        name: "the status is stored",
        take: () => this.#changed(state, () => this.#model.writeStatus(status), { status: undefined }),
      });
    if (mishaps > 0) moves.push(...this.#mishaps(state));
    return moves;
  }

  #mishaps(state: State<T>): Move<State<T>>[] {
    const { stored, inFlight, late } = state;
    const left = { mishaps: state.mishaps - 1 };
    const moves: Move<State<T>>[] = [];
    if (inFlight.length > 0 || state.status !== undefined)
      moves.push({
        name: "the controller dies",
        isMishap: true,
        take: () => ({
          ...state,
          ...left,
          status: undefined,
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
      const { failed: failedOf = unready } = this.#kind;
      const failed = failedOf(pod);
      if (failed !== undefined)
        moves.push({
          name: `${pod.name} fails`,
          isMishap: true,
          take: () => this.#changed(state, () => this.#model.change(pod.name, failed), left),
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
    const { status = stored.set.status } = state;
    const plan = this.#kind.plan(pendingOf(inFlight, stored.now), random, status);
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
    const isLate = this.#kind.isBuiltOn?.(plan.status, stored.set.status) === true;
    if (!isLate) this.#model.writeStatus(plan.status);
    const next = {
      ...state,
      stored: this.#model.stored(),
      inFlight: [...inFlight, ...begun],
      draws,
      status: isLate ? plan.status : undefined,
    };
    this.#checkPass(state, next, this.#at(next.stage));
    const isIdle =
      plan.actions.every(({ type }) => type === "event") && this.keyOf(next) === this.keyOf(state);
    if (!isIdle) return next;
    if (plan.requeueAfterMs === undefined || inFlight.length > 0 || this.#isKubeletBusy(stored))
      return undefined;
    this.#model.now += plan.requeueAfterMs;
    return { ...next, stored: this.#model.stored(), waitedMs: state.waitedMs + plan.requeueAfterMs };
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

  #enter({ change, besides }: S): void {
    this.#model.changeSpec(change);
    besides?.();
  }

  #at(stage: number): S {
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

export function isPresent({ deletionAt, phase }: Pod): boolean {
  return deletionAt === undefined && phase !== "Failed" && phase !== "Succeeded";
}

export function isReady(pod: Pod): boolean {
  return isPresent(pod) && pod.conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function unready(pod: Pod): Partial<Pod> | undefined {
  if (!isReady(pod)) return undefined;
  return {
    containerStatuses: pod.containerStatuses.map((status) => ({ ...status, ready: false })),
    conditions: pod.conditions.map((one) =>
      one.type === "Ready" || one.type === "ContainersReady" ? { ...one, status: "False" } : one,
    ),
  };
}

/** Each stored pod with the write of it that has not arrived. Of late ones nobody knows. */
export function pairs<T extends Workload>({ stored, inFlight }: State<T>): [Pod, Pod | undefined][] {
  const writes = new Map<string, Pod>();
  for (const { action, hasArrived } of inFlight)
    if (!hasArrived) writes.set(action.after.uid, afterOf(action, stored.now));
  return stored.pods.map((pod) => [pod, writes.get(pod.uid)]);
}

export function creations<T extends Workload>({ stored, inFlight }: State<T>): Pod[] {
  const names = new Set(stored.pods.map(({ name }) => name));
  return inFlight.flatMap(({ action: { type, after } }) =>
    type === "create pod" && !names.has(after.name) ? [after] : [],
  );
}
