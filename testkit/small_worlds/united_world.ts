/**
 * The moves of a small world of one UnitedDeployment: passes that write one thing after another, the controllers of its workloads, which
 * tell late what they have done, nodes that take no pods, people and mishaps.
 */
import { unitedResult } from "../../controller/kinds/united_deployment/effects.ts";
import { unitedIndex } from "../../controller/kinds/united_deployment/observe.ts";
import type { planUnitedDeployment, UnitedPlan } from "../../controller/kinds/united_deployment/plan.ts";
import type { SubsetWorkload } from "../../controller/kinds/united_deployment/workload.ts";
import { randomId } from "../../controller/rollout/pods/pod_manifest.ts";
import type { UnitedDeploymentStatus } from "../../crds/index.ts";
import { createMergePatch } from "../../kube/core/index.ts";
import {
  answered,
  type Failure,
  isMet,
  nameOfWrite,
  type Pass,
  type PassWrite,
  passOf,
  textOfWrite,
  underWay,
} from "./effect_passes.ts";
import type { Move, SmallWorld } from "./explore.ts";
import { checkPass, checkWritten, type UnitedStage, unsettled } from "./united_rules.ts";
import {
  changed,
  collected,
  replaced,
  reported,
  type Server,
  scheduled,
  subsetOf,
  targetOf,
  textOfServer,
  worked,
  written,
} from "./united_server.ts";

export interface UnitedScenario {
  readonly name: string;
  /** At the start the first one has been reached. */
  readonly stages: readonly [UnitedStage, ...UnitedStage[]];
  readonly plan: typeof planUnitedDeployment;
  /**
   * New pods get ready only when all that is left to do is to wait for them: a closed subset has as many pods as are ready (rule 19), and
   * would otherwise follow what its workload reports for ever.
   */
  readonly isSlow?: boolean;
}

export interface State {
  readonly server: Server;
  /** What the controller is about to write. */
  readonly pass?: Pass | undefined;
  /** On its way beside the pass. */
  readonly status?: PassWrite | undefined;
  /** Sent by a controller that died. */
  readonly late: readonly PassWrite[];
  /** What the server refused in the last pass. */
  readonly failure: string;
  readonly stage: number;
  readonly mishaps: number;
  /** How often nothing but time went on. */
  readonly waits: number;
}

/** Nothing of it is awaited. */
interface Step extends Move<State> {
  take(): State | undefined;
}

/** A subset that is to have a pod which no node takes opens and closes for ever. */
const MOST_WAITS = 8;

/** `mishaps`: how many may happen on one way. */
export function unitedWorld(scenario: UnitedScenario, mishaps: number): SmallWorld<State> {
  const world = new UnitedWorld(scenario);
  return {
    start: world.start(mishaps),
    keyOf,
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => unsettled(world.told(state), world.stage(state.stage), mishaps),
  };
}

class UnitedWorld {
  readonly #plan: UnitedScenario["plan"];
  readonly #stages: UnitedScenario["stages"];
  readonly #isSlow: boolean | undefined;

  constructor({ plan, stages, isSlow }: UnitedScenario) {
    this.#plan = plan;
    this.#isSlow = isSlow;
    this.#stages = stages;
  }

  stage(at: number): UnitedStage {
    return this.#stages[at] ?? this.#stages[0];
  }

  /** At rest, with what the first stage asks for. */
  start(mishaps: number): State {
    const [first] = this.#stages;
    let state: State | undefined = {
      server: changed(emptyServer, first.spec),
      late: [],
      failure: "",
      stage: 0,
      mishaps: 0,
      waits: 0,
    };
    for (let next: State | undefined = state; next !== undefined; next = this.#next(state)) state = next;
    return { ...state, mishaps, waits: 0 };
  }

  #next(state: State): State | undefined {
    for (const { take } of this.#others(state)) {
      const next = take();
      if (next !== undefined) return next;
    }
    return this.#passed(state);
  }

  movesOf(state: State): readonly Move<State>[] {
    const { stage, mishaps } = state;
    const moves = [
      { name: "the controller passes", take: () => this.#passed(state) },
      ...this.#others(state),
    ];
    const next = this.#stages[stage + 1];
    if (next !== undefined) {
      const { name, spec, besides = (server: Server) => server } = next;
      moves.push({
        name,
        take: () => ({ ...state, stage: stage + 1, waits: 0, server: besides(changed(state.server, spec)) }),
      });
    }
    return mishaps === 0 ? moves : [...moves, ...this.#mishaps(state)];
  }

  /** Of everybody but the controller and people. */
  #others(state: State): Step[] {
    const { server, pass, status, late, stage } = state;
    const { full = [] } = this.stage(stage);
    const moves: Step[] = underWay(pass).map((write) => ({
      name: `${nameOfWrite(write)} arrives`,
      take: () => arrived(state, write),
    }));
    if (status !== undefined)
      moves.push({
        name: "the status arrives",
        take: () => ({ ...state, status: undefined, server: written(server, status) ?? server }),
      });
    for (const write of late)
      moves.push({
        name: `${nameOfWrite(write)} arrives late`,
        take: () => ({
          ...state,
          late: late.filter((other) => other !== write),
          server: written(server, write) ?? server,
        }),
      });
    const step = (name: string, take: () => Server | undefined): void => {
      moves.push({
        name,
        take: () => {
          const next = take();
          return next && { ...state, server: next };
        },
      });
    };
    step("what has lost its owner is collected", () => collected(server));
    for (const workload of server.workloads) {
      const { seen } = workload;
      if (seen.isDeleting) continue;
      const isFull = full.includes(subsetOf(seen));
      step(`a step of ${seen.name}`, () => {
        const next = worked(server, workload, isFull);
        const isLater = next !== undefined && next.pods.length > server.pods.length && this.#holdsPods(state);
        return isLater ? undefined : next;
      });
      if (!isFull) step(`pods of ${seen.name} are scheduled`, () => scheduled(server, seen));
      step(`${seen.name} reports`, () => reported(server, workload));
    }
    return moves;
  }

  #mishaps(state: State): Move<State>[] {
    const { server, pass, status, late } = state;
    const moves: Move<State>[] = [];
    const mishap = (name: string, take: () => State): void => {
      moves.push({ name, isMishap: true, take: () => ({ ...take(), mishaps: state.mishaps - 1 }) });
    };
    for (const write of underWay(pass))
      mishap(`${nameOfWrite(write)} is refused`, () => ended(state, write, "refused"));
    if (status !== undefined) mishap("the status is refused", () => ({ ...state, status: undefined }));
    if (pass !== undefined || status !== undefined)
      mishap("the controller dies", () => ({
        ...state,
        pass: undefined,
        status: undefined,
        failure: "",
        late: [...late, ...underWay(pass), ...(status === undefined ? [] : [status])],
      }));
    for (const workload of server.workloads) {
      const { seen } = workload;
      if (seen.isDeleting) continue;
      const deletionTimestamp = new Date(server.now).toISOString();
      mishap(`somebody deletes ${seen.name}`, () => ({
        ...state,
        server: replaced(server, workload, { metadata: { deletionTimestamp } }),
      }));
      mishap(`somebody scales ${seen.name}`, () => ({
        ...state,
        server: replaced(server, workload, { spec: { replicas: seen.replicas + 1 } }),
      }));
    }
    return moves;
  }

  /** Whether new pods are not ready yet. */
  #holdsPods({ server, pass, ...state }: State): boolean {
    if (this.#isSlow !== true) return false;
    const isReported = server.workloads.every((workload) => reported(server, workload) === undefined);
    return pass !== undefined || !isReported || this.#begun({ ...state, server }) !== undefined;
  }

  #passed(state: State): State | undefined {
    if (state.pass !== undefined) return undefined;
    const begun = this.#begun(state);
    if (begun !== undefined) return begun;
    const { server, failure, waits } = state;
    const { requeueAfterMs } = this.#planOf(server, failure);
    const isBusy = this.#others(state).some(({ take }) => take() !== undefined);
    if (requeueAfterMs === undefined || isBusy || waits === MOST_WAITS) return undefined;
    return { ...state, waits: waits + 1, server: { ...server, now: server.now + requeueAfterMs } };
  }

  /** What a pass begins; undefined: nothing. */
  #begun(state: State): State | undefined {
    const { server, failure } = state;
    const { object } = server;
    const plan = this.#planOf(server, failure);
    const { status: offered, effects = [] } = unitedResult(object, plan, orphansIn(server), chanceFor(state));
    const news = plan.status && createMergePatch(object.status ?? {}, remembered(plan.status));
    const told = effects.map((effect) =>
      effect.type === "patch status" ? { ...effect, status: news ?? {} } : effect,
    );
    const pass = passOf(told, object.metadata.resourceVersion ?? "");
    checkPass(server, pass, plan.status, this.stage(state.stage));
    const isOffered = offered !== undefined && news !== undefined && Object.keys(news).length > 0;
    const status = state.status ?? (isOffered ? { type: "patch status", status: news } : undefined);
    if (pass === undefined && status === state.status && failure === "") return undefined;
    return { ...state, pass, status, failure: pass === undefined ? "" : failure };
  }

  /** With the whole status, as the next pass writes it. */
  told({ server, failure }: State): Server {
    const { status } = this.#planOf(server, failure);
    return status === undefined ? server : { ...server, object: { ...server.object, status } };
  }

  #planOf({ object, workloads, pods, revisions, now }: Server, failure: string): UnitedPlan {
    const held = {
      get: (key: string) => pods.find(({ name }) => `ns/${name}` === key),
      values: () => pods.values(),
    };
    return this.#plan({
      object,
      children: workloads.map(({ seen }) => seen).filter(({ owners }) => owners.length > 0),
      pods: unitedIndex(object, held),
      revisions: revisions.toSorted((a, b) => a.revision - b.revision),
      taken: () => undefined,
      failure,
      now,
    });
  }
}

function arrived(state: State, write: PassWrite): State {
  const server = written(state.server, write);
  if (server === undefined) return ended(state, write, "race");
  checkWritten(server, write);
  return ended({ ...state, server }, write);
}

function ended(state: State, write: PassWrite, failure?: Failure): State {
  if (state.pass === undefined) return state;
  // Where it would be told is the status.
  const isTold = failure !== "refused" || write.type !== "patch status";
  const next = answered(state.pass, write, isTold ? failure : "race");
  if ("pass" in next) return { ...state, pass: next.pass };
  // After a lost race it is still to be told what was refused before.
  const told = { done: "", race: state.failure, refused: "refused" };
  return { ...state, pass: undefined, failure: told[next.over] };
}

/** What plans build on. All the rest of a status tells of the moment of its pass, and would only multiply the states. */
function remembered({
  currentRevision,
  updatedRevision,
  conditions,
  subsetStatuses = [],
}: UnitedDeploymentStatus) {
  const subsets = subsetStatuses.map(({ name, conditions }) => ({
    name,
    ...(conditions === undefined ? {} : { conditions }),
  }));
  return { currentRevision, updatedRevision, conditions, subsetStatuses: subsets };
}

function orphansIn({ workloads }: Server): SubsetWorkload[] {
  return workloads
    .map(({ seen }) => seen)
    .filter(({ owners, isDeleting }) => owners.length === 0 && !isDeleting);
}

const ALPHABET = 27;

/** A part of names that nobody has heard of: the first one, so that equal states have equal names. */
function chanceFor({ server, late }: State): () => number {
  const names = [
    ...server.workloads.map(({ seen }) => seen.name),
    ...server.pods.map(({ controller }) => controller?.name ?? ""),
    ...late.map(nameOfWrite),
  ];
  const chances = Array.from({ length: ALPHABET }, (_, at) => (at + 0.5) / ALPHABET);
  const isFree = (chance: number): boolean => !names.some((name) => name.endsWith(randomId(() => chance)));
  const chance = chances.find(isFree) ?? 0;
  return () => chance;
}

function keyOf({ server, pass, status, late, failure, stage, mishaps, waits }: State): string {
  const { uid = "", resourceVersion = "" } = server.object.metadata;
  const ofWrite = (write: PassWrite): string => {
    const target = write.type === "patch status" ? { uid, resourceVersion } : targetOf(server, write);
    return `${target !== undefined && isMet(write, target)} ${textOfWrite(write)}`;
  };
  return JSON.stringify([
    textOfServer(server),
    pass?.failure,
    pass?.batches.map((batch) => batch.map(ofWrite).sort()),
    status && ofWrite(status),
    late.map(ofWrite).sort(),
    failure,
    stage,
    mishaps,
    waits,
  ]);
}

const emptyServer: Server = {
  object: {
    metadata: { name: "web", namespace: "ns", uid: "u", generation: 0 },
    spec: { selector: { matchLabels: { app: "web" } }, template: {} },
  },
  workloads: [],
  pods: [],
  revisions: [],
  version: 0,
  now: Date.parse("2026-01-01T00:00:00Z"),
};
