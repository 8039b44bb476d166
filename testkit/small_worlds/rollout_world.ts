/** A rollout as a small world: pods that stay available, pods that there may be, pods that may be the newest. */
import type { Pod } from "../../kube/index.ts";
import type { SmallWorld } from "./explore.ts";
import {
  creations,
  isPresent,
  isReady,
  type PlannedKind,
  pairs,
  planWorld,
  type Stage,
  type State,
  type Workload,
} from "./plan_world.ts";

export interface RolledOutKind<T extends Workload> extends PlannedKind<T> {
  /** Whether a pod that is out of service uses up no budget. `written`: as it will be. Default: none. */
  readonly isFree?: (pod: Pod, written: Pod) => boolean;
  /** Each write is refused where the pod has changed since it was decided. */
  readonly isVersioned?: true;
  /** Whether a pod serves. Default: it is ready. */
  readonly isAvailable?: (pod: Pod) => boolean;
  /** What is wrong with a write of a pod. Default: nothing. */
  readonly mustNot?: (pod: Pod, after: Pod) => string | undefined;
}

/** What is asked for from some moment on, in numbers that the author of the scenario worked out. */
export interface RolloutStage<T extends Workload> extends Stage<T> {
  readonly replicas: number;
  /** Pods that stay available, whatever arrives. */
  readonly least: number;
  /** Pods that there may be, those that go away not counted. */
  readonly most: number;
  /** Pods whose spec may ask for {@link newest}, those beyond the replicas not counted. */
  readonly mayBeNewest: number;
  /** An image of a container. */
  readonly newest: string;
}

/** What holds in a stage, whatever strategy it has. */
export type Numbers = Omit<RolloutStage<never>, keyof Stage<never>>;

/** A workload that starts with `image:1`, and what becomes of it with a budget of one pod and no partition, where nothing else is said. */
export function stagesOf<T extends Workload, Rolling>(
  replicas: number,
  stage: (name: string, rolling: Rolling, numbers: Numbers) => RolloutStage<T>,
  image = "app",
) {
  const usual = { replicas, most: replicas, mayBeNewest: replicas };
  return {
    before: (rolling: Rolling) => stage("as it was", rolling, { ...usual, least: 0, newest: `${image}:1` }),
    after: (name: string, rolling: Rolling, numbers: Partial<Numbers> = {}) =>
      stage(name, rolling, { ...usual, least: replicas - 1, newest: `${image}:2`, ...numbers }),
  };
}

/** A stage that has come to rest: so many pods, all available, of which so many are the newest. */
export function atRest(
  pods: readonly Pod[],
  { replicas, mayBeNewest, newest }: Pick<Numbers, "replicas" | "mayBeNewest" | "newest">,
): string | undefined {
  const available = pods.filter(isReady).length;
  if (available !== replicas || pods.length !== replicas)
    return `${available} of ${pods.length} pods available, not ${replicas}`;
  const updated = pods.filter((pod) => isNewest(pod, newest)).length;
  return updated === mayBeNewest ? undefined : `${updated} newest pods, not ${mayBeNewest}`;
}

export interface Scenario<T extends Workload> {
  readonly name: string;
  readonly kind: RolledOutKind<T>;
  readonly stages: readonly [RolloutStage<T>, ...RolloutStage<T>[]];
}

/** `mishaps`: how many may happen on one way. */
export function rolloutWorld<T extends Workload>(
  { kind, stages }: Scenario<T>,
  mishaps: number,
): SmallWorld<State<T>> {
  const check = (before: State<T>, after: State<T>, stage: RolloutStage<T>): void => {
    checkAvailable(kind, before, after, stage);
    checkRoom(kind, before, after, stage);
    checkNewest(before, after, stage);
    checkWrites(kind, before, after);
  };
  return planWorld({ kind, stages, check }, mishaps);
}

function checkAvailable<T extends Workload>(
  kind: RolledOutKind<T>,
  before: State<T>,
  after: State<T>,
  { least }: Numbers,
): void {
  const { isFree, isAvailable = isReady } = kind;
  const available = availableAtWorst(kind, after);
  // As the controller sees them: it knows of no refusal before the answer.
  const written = new Map(before.inFlight.map(({ action }) => [action.after.uid, action.after]));
  const free = before.stored.pods.filter(
    (pod) => !isAvailable(pod) && isFree?.(pod, written.get(pod.uid) ?? pod),
  ).length;
  if (available < availableAtWorst(kind, before) && available + free < least)
    throw new Error(`${available} pods are available, ${least} have to be`);
}

/** Those that are, and still are after what is written of them; of those of one place one counts. */
function availableAtWorst<T extends Workload>(
  { placeOf = ({ name }) => name, isAvailable = isReady, isVersioned }: RolledOutKind<T>,
  state: State<T>,
): number {
  const isRefused = (pod: Pod, after: Pod): boolean =>
    isVersioned === true && after.resourceVersion !== pod.resourceVersion;
  const those = pairs(state).flatMap(([pod, after = pod]) =>
    isAvailable(pod) && (isRefused(pod, after) || !takesAway(pod, after)) ? [pod] : [],
  );
  return new Set(those.map(placeOf)).size;
}

function checkRoom<T extends Workload>(
  { placeOf }: RolledOutKind<T>,
  before: State<T>,
  after: State<T>,
  { replicas, most }: Numbers,
): void {
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

function checkNewest<T extends Workload>(
  before: State<T>,
  after: State<T>,
  { replicas, mayBeNewest, newest }: Numbers,
): void {
  const updated = newestAtWorst(after, newest);
  const surplus = Math.max(0, podsAtWorst(after).length - replicas);
  if (updated > newestAtWorst(before, newest) && updated > mayBeNewest + surplus)
    throw new Error(`${updated} pods are the newest, ${mayBeNewest} may be`);
}

function checkWrites<T extends Workload>(
  { mustNot }: RolledOutKind<T>,
  before: State<T>,
  after: State<T>,
): void {
  for (const { action } of after.inFlight.slice(before.inFlight.length)) {
    const wrong = action.type === "patch pod" ? mustNot?.(action.pod, action.after) : undefined;
    if (wrong !== undefined) throw new Error(wrong);
  }
}

function isNewest({ containers }: Pod, image: string): boolean {
  return containers.some((container) => container.image === image);
}

/** Whether a write takes the pod out of service: it goes, its gate closes, or other containers start. */
function takesAway(pod: Pod, after: Pod): boolean {
  if (!isPresent(after)) return true;
  const isClosed = after.conditions.some(
    ({ type, status }) => status === "False" && after.readinessGates.includes(type),
  );
  return isClosed || after.containers.some(({ image }, at) => image !== pod.containers[at]?.image);
}

/** No deletion arrives, each creation does. */
function podsAtWorst<T extends Workload>(state: State<T>): Pod[] {
  return [...state.stored.pods.filter(isPresent), ...creations(state)];
}

/** A pod that goes away is none, whatever is written of it. */
function newestAtWorst<T extends Workload>(state: State<T>, image: string): number {
  const isOne = (pod: Pod): boolean => isNewest(pod, image);
  const stored = pairs(state).filter(
    ([pod, after = pod]) => isPresent(pod) && (isOne(pod) || (isPresent(after) && isOne(after))),
  );
  return stored.length + creations(state).filter(isOne).length;
}
