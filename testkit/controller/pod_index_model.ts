/** Indexes of pods that are kept up from event to event, beside ones that are made from nothing. For tests. */
import type { Action } from "../../controller/rollout/writes/actions.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../kube/index.ts";
import { type ClusterModel, Refused } from "./cluster_model.ts";
import { isPodWrite, LateWrites } from "./late_writes_model.ts";

interface Listening {
  podChanged(before: Pod | undefined, after: Pod | undefined): void;
  touch(slot: string): void;
  claimChanged?(name: string): void;
}

interface Cluster {
  readonly pods: ReadonlyMap<string, Pod>;
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
  /** Absent where the index does not care about them. */
  readonly nodes?: ReadonlyMap<string, object>;
}

/** The events that led from one state of a modelled cluster to the next. */
export class IndexEvents {
  #pods: ReadonlyMap<string, Pod> = new Map();
  #claims: ReadonlyMap<string, object> = new Map();
  #nodes: ReadonlyMap<string, object> = new Map();

  /** Reports to an index what has changed since the last call; nothing to one that was made of this very state. */
  follow(cluster: Cluster, index: Listening | undefined): void {
    const pods = new Map([...cluster.pods.values()].map((pod) => [pod.uid, pod]));
    const claims = new Map(cluster.claims);
    const nodes = new Map(cluster.nodes);
    for (const uid of changed(this.#pods, pods)) index?.podChanged(this.#pods.get(uid), pods.get(uid));
    for (const name of changed(this.#claims, claims)) index?.claimChanged?.(name);
    for (const name of changed(this.#nodes, nodes)) index?.touch(name);
    this.#pods = pods;
    this.#claims = claims;
    this.#nodes = nodes;
  }
}

function changed(before: ReadonlyMap<string, object>, after: ReadonlyMap<string, object>): string[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys.filter((key) => before.get(key) !== after.get(key));
}

interface Workload {
  metadata: ObjectMeta;
  spec: object;
  status?: object;
}

interface Planned<T extends Workload> {
  readonly actions: readonly Action[];
  readonly status: NonNullable<T["status"]>;
}

/** A kind's plans in a modelled cluster. */
interface Planning<T extends Workload, Model extends ClusterModel<T>, Index, Plan> {
  readonly model: Model;
  readonly writes?: LateWrites;
  /** As the cluster is now, made from nothing. */
  index(writes: LateWrites): Index;
  /** `nth`: of the plans, from 1. `fresh`: nothing is known from before. */
  plan(index: Index, nth: number, fresh: boolean): Plan;
  /** One whose plans look at everything, whatever its class says. Default: `index`. */
  looking?(writes: LateWrites): Index;
  /** Another generation has another index. */
  readonly byGeneration?: boolean;
}

/** Keeps an index as the shell does; writes may be under way for long. */
export class KeptIndex<
  T extends Workload,
  Model extends ClusterModel<T>,
  Index extends Listening,
  Plan extends Planned<T>,
> {
  readonly model: Model;
  readonly writes: LateWrites;
  /** Plans so far, and writes that were under way when they were made. */
  plans = 0;
  inFlight = 0;
  protected readonly planning: Planning<T, Model, Index, Plan>;
  readonly #events = new IndexEvents();
  #index: Index;
  #generation: number | undefined;

  constructor(planning: Planning<T, Model, Index, Plan>) {
    this.planning = planning;
    this.model = planning.model;
    this.writes = planning.writes ?? new LateWrites();
    this.#index = planning.index(this.writes);
  }

  get index(): Index {
    return this.#index;
  }

  /** After the events since the last plan, in one go. */
  plan(): Plan {
    const { model, planning, writes } = this;
    const { generation } = model.set.metadata;
    const isNew = planning.byGeneration === true && generation !== this.#generation;
    if (isNew) this.#index = planning.index(writes);
    this.#generation = generation;
    this.#events.follow(model, isNew ? undefined : this.#index);
    this.plans++;
    this.inFlight += writes.size;
    return planning.plan(this.#index, this.plans, false);
  }

  /** What the plan decides of pods is then under way, and all else done. */
  send(): Plan {
    const plan = this.plan();
    for (const action of plan.actions) {
      if (isPodWrite(action)) this.writes.begin(action, this.model.now);
      else this.perform(action);
    }
    this.model.writeStatus(plan.status);
    return plan;
  }

  perform(action: Action, stopAfter?: number): void {
    try {
      this.model.perform(action, stopAfter);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** The oldest write that is under way is answered. */
  answer(): void {
    this.writes.answer(0, (action) => this.perform(action));
  }
}

/** For twins of kinds that report a broken state once for each projection of a pod: a fresh index does so at other times. */
export function withoutBrokenStates(plan: { readonly actions: readonly Action[] }): string {
  const isReport = (action: Action): boolean =>
    action.type === "event" && action.event.reason === "BrokenPodState";
  return JSON.stringify({ ...plan, actions: plan.actions.filter((action) => !isReport(action)) });
}

/** Holds each plan against that of an index that is made from nothing. */
export class IndexTwin<
  T extends Workload,
  Model extends ClusterModel<T>,
  Index extends Listening,
  Plan extends Planned<T>,
> extends KeptIndex<T, Model, Index, Plan> {
  readonly #comparable: (plan: Plan) => string;

  constructor(
    planning: Planning<T, Model, Index, Plan>,
    comparable: (plan: Plan) => string = JSON.stringify,
  ) {
    super(planning);
    this.#comparable = comparable;
  }

  override plan(): Plan {
    const plan = super.plan();
    const { planning, plans, writes } = this;
    const other = planning.plan((planning.looking ?? planning.index)(writes), plans, true);
    const [kept, fresh] = [plan, other].map(this.#comparable);
    if (kept !== fresh) throw new Error(`kept: ${kept}\nfresh: ${fresh}`);
    return plan;
  }
}

/** Names of nodes that are looked up from now on. */
export function lookedUp(nodes: Map<string, object>): Set<string> {
  const looked = new Set<string>();
  const get = nodes.get.bind(nodes);
  nodes.get = (name) => {
    looked.add(name);
    return get(name);
  };
  return looked;
}
