/**
 * ImagePullJobs as a small world: jobs, the controller of NodeImages and agents write the same NodeImages, and what they wrote is
 * seen late. What a pass and a write must not do, `pull_rules.ts` says.
 */
import type { planImagePullJob } from "../../controller/kinds/image_pull_job/plan.ts";
import { Tallies, type Tally } from "../../controller/kinds/image_pull_job/tallies.ts";
import { earliest } from "../../controller/plan/earliest.ts";
import { nodeImageDueAt } from "../../controller/rollout/images/node_image_due.ts";
import { pullTarget, withTask } from "../../controller/rollout/images/pull_task.ts";
import type { ImagePullJob, ImagePullJobStatus, NodeImage } from "../../crds/index.ts";
import { createMergePatch } from "../../kube/core/index.ts";
import type { Pod, Reader } from "../../kube/index.ts";
import { nodeImage, nodeImageCache, patched, startMs } from "../controller/image_pull_job_builder.ts";
import type { Move, SmallWorld } from "./explore.ts";
import { agentLooks, CREATION_DELAY_MS, lookAfter, pullEnds } from "./pull_nodes.ts";
import { checkPass, checkRemoval, checkTask } from "./pull_rules.ts";
import {
  type Asked,
  type Edit,
  type Look,
  type NodeImages,
  type PullState,
  put,
  type Write,
} from "./pull_state.ts";

/** As the reconciler holds back a node that has refused once. */
const HOLD_MS = 1000;

/** What is asked for from some moment on. */
export interface PullStage {
  readonly name: string;
  readonly change: (asked: Asked) => Partial<Asked>;
  /** What is wrong where nothing is left to be done. */
  readonly unsettled: (state: PullState) => string | undefined;
}

export interface PullScenario {
  readonly name: string;
  readonly before: Asked;
  readonly stages: readonly [PullStage, ...PullStage[]];
  /** Nobody waits for what time alone would change after that. */
  readonly lastsMs: number;
  readonly plan: typeof planImagePullJob;
}

/** `mishaps`: how many may happen on one way. */
export function pullWorld(scenario: PullScenario, mishaps: number): SmallWorld<PullState> {
  const world = new PullWorld(scenario);
  return {
    start: world.start(mishaps),
    keyOf: (state) => world.keyOf(state),
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => scenario.stages[state.stage]?.unsettled(state),
  };
}

class PullWorld {
  readonly #scenario: PullScenario;
  /** Of objects, which never change. */
  readonly #texts = new WeakMap<object, string>();

  constructor(scenario: PullScenario) {
    this.#scenario = scenario;
  }

  start(mishaps: number): PullState {
    const { before, stages } = this.#scenario;
    const stored: NodeImages = new Map(
      [...before.nodes].map(([name, { labels }]) => [name, nodeImage(name, { metadata: { labels } })]),
    );
    const nothing = { writes: [], late: [], holds: [], ends: new Map(), stage: 0 };
    return { ...before, ...stages[0].change(before), ...nothing, stored, seen: stored, mishaps };
  }

  keyOf(state: PullState): string {
    const { jobs, nodes, pods, stored, seen, writes, late, holds, ends, stage, mishaps, now } = state;
    const ofNodeImage = (name: string): string =>
      stored.get(name) === seen.get(name) ? "=" : `${this.#textOf(seen.get(name))}`;
    const ofEdits = (edits: readonly Edit[]) =>
      edits.map(({ job, at }) => [this.#textOf(job.metadata), this.#textOf(job.spec), at]);
    const ofWrite = ({ node, is, base, after, edits, waiting }: Write) => [
      node,
      is,
      is === "sent" && base === stored.get(node),
      is === "stored" && newest(seen.get(node), after) === after && this.#textOf(after),
      ofEdits(edits),
      ofEdits(waiting),
    ];
    return JSON.stringify([
      jobs.map((job) => this.#textOf(job)),
      [...nodes].map(([name, node]) => [name, this.#textOf(node)]),
      pods.map(({ name }) => name),
      [...stored].map(([name, image]) => [name, this.#textOf(image)]).sort(),
      [...new Set([...stored.keys(), ...seen.keys()])].map((name) => [name, ofNodeImage(name)]).sort(),
      writes.map(ofWrite).sort(),
      late.map(ofWrite).sort(),
      holds,
      [...ends].sort(),
      stage,
      mishaps,
      now - startMs,
    ]);
  }

  #textOf(object: object | undefined): string {
    if (object === undefined) return "";
    const text = this.#texts.get(object) ?? JSON.stringify(object, essential);
    this.#texts.set(object, text);
    return text;
  }

  movesOf(state: PullState): readonly Move<PullState>[] {
    const { stored, seen, writes, late, ends, stage, mishaps } = state;
    const moves: Move<PullState>[] = this.#looks(state).map(({ name, look }) => ({
      name,
      take: () => look().state,
    }));
    moves.push({ name: "time passes", take: () => this.#timePasses(state) });
    const next = this.#scenario.stages[stage + 1];
    if (next !== undefined)
      moves.push({ name: next.name, take: () => ({ ...state, ...next.change(state), stage: stage + 1 }) });
    for (const write of writes) moves.push(goesOn(state, write));
    for (const write of late)
      moves.push({ name: `a write of ${write.node} arrives late`, take: () => arrivesLate(state, write) });
    for (const name of new Set([...stored.keys(), ...seen.keys()]))
      if (stored.get(name) !== seen.get(name))
        moves.push({
          name: `the watch tells of ${name}`,
          take: () => ({ ...state, seen: put(seen, name, stored.get(name)) }),
        });
    for (const [uid, status] of ends)
      moves.push({
        name: `the end of ${uid} is stored`,
        take: () => ({ ...withStatus(state, uid, status), ends: put(ends, uid, undefined) }),
      });
    if (mishaps > 0) moves.push(...mishapsOf(state));
    return moves;
  }

  #looks(state: PullState): { readonly name: string; readonly look: () => Look }[] {
    const { jobs, nodes, stored } = state;
    return [
      ...jobs.map((job) => ({
        name: `the controller passes ${job.metadata.uid}`,
        look: () => this.#pass(state, job),
      })),
      ...[...new Set([...nodes.keys(), ...stored.keys()])].flatMap((node) => [
        { name: `the NodeImage ${node} is looked after`, look: () => lookAfter(state, node) },
        { name: `the agent of ${node} looks`, look: () => agentLooks(state, node) },
        { name: `a pull ends on ${node}`, look: () => pullEnds(state, node) },
      ]),
    ];
  }

  #pass(state: PullState, job: ImagePullJob): Look {
    const { jobs, holds, ends, now } = state;
    const { uid = "" } = job.metadata;
    const tally = job.status?.completionTime === undefined ? tallyOf(state, job) : undefined;
    const heldMs = tally?.nodes.releaseHeld(now);
    const observed = {
      job,
      nodes: tally?.nodes,
      nodesDueAt: tally?.nodes.desired === 0 ? nodesDueAt(state, tally) : undefined,
      guarded: false,
      ownedByList: false,
    };
    const { remove, tell, status, requeueAfterMs } = this.#scenario.plan(observed, now);
    if (remove) {
      checkRemoval(state, job);
      return { state: { ...state, jobs: jobs.filter((other) => other !== job) } };
    }
    const told = tally?.nodes.first(tell) ?? [];
    checkPass(state, job, status, told);
    const wakeMs = earliest([requeueAfterMs, heldMs]);
    const idle = { wakeAt: wakeMs === undefined ? undefined : now + wakeMs };
    if (status === undefined) return idle;
    const isOver = status.completionTime !== undefined;
    const before = isOver ? ends.get(uid) : job.status;
    if (told.length === 0 && this.#textOf(before) === this.#textOf(status) && ends.has(uid) === isOver)
      return idle;
    let next: PullState = { ...state, holds: holds.filter(({ until }) => until > now) };
    for (const node of told) next = edited(next, node, { job, at: now });
    if (isOver) return { state: { ...next, ends: put(ends, uid, status) } };
    return { state: { ...withStatus(next, uid, status), ends: put(ends, uid, undefined) } };
  }

  /** Where nothing else can happen. */
  #timePasses(state: PullState): PullState | undefined {
    const { stored, seen, writes, late, ends } = state;
    if (writes.length + late.length + ends.size > 0) return undefined;
    if (stored.size !== seen.size || [...stored].some(([name, image]) => seen.get(name) !== image))
      return undefined;
    const looks = this.#looks(state).map(({ look }) => look());
    if (looks.some((look) => look.state !== undefined)) return undefined;
    const now = earliest(looks.map(({ wakeAt }) => wakeAt));
    return now === undefined || now > startMs + this.#scenario.lastsMs ? undefined : { ...state, now };
  }
}

/** Its nodes are counted as their NodeImages come. */
function tallyOf({ pods, seen, writes, holds }: PullState, job: ImagePullJob): Tally {
  const { uid = "", name } = job.metadata;
  const { podSelector } = job.spec;
  const cache = nodeImageCache();
  const tallies = new Tallies(cache, () => undefined);
  cache.subscribe((change) => tallies.nodeImageChanged(change));
  const tally = tallies.of(`ns/${name}`, job, [], podSelector && podsOf(pods));
  for (const { node, edits, waiting } of writes)
    if ([...edits, ...waiting].some((edit) => edit.job.metadata.uid === uid)) tally.nodes.beginWrite(node);
  for (const hold of holds) if (hold.job === uid) tally.nodes.hold(hold.node, hold.until);
  for (const image of seen.values()) cache.upsert(image);
  return tally;
}

function nodesDueAt({ nodes, seen }: PullState, { selection }: Tally): number | undefined {
  const due = [...nodes].flatMap(([name, node]) => {
    if (seen.has(name) || !selection.selects({ metadata: { name, labels: node.labels } })) return [];
    return nodeImageDueAt(node, CREATION_DELAY_MS) ?? [];
  });
  return due.length === 0 ? undefined : Math.max(...due);
}

function edited(state: PullState, node: string, edit: Edit): PullState {
  const { writes } = state;
  const under = writes.find((write) => write.node === node);
  if (under === undefined) return sent(state, node, [edit]);
  return { ...state, writes: replaced(writes, under, { ...under, waiting: [...under.waiting, edit] }) };
}

function sent(
  state: PullState,
  node: string,
  edits: readonly Edit[],
  waiting: readonly Edit[] = [],
): PullState {
  const base = state.seen.get(node);
  if (edits.length === 0 || base === undefined) return state;
  const spec = edits.reduce((spec, { job, at }) => {
    const options = { ttlSeconds: 300, chance: 0.5, now: at };
    return withTask({ ...base, spec }, job, pullTarget(job, []), options);
  }, base.spec);
  if (spec === base.spec) return sent(state, node, waiting);
  const after = patched(base, { spec: createMergePatch(base.spec, spec) });
  checkTask(base, after, edits);
  const write: Write = { node, base, after, edits, waiting, is: "sent" };
  return { ...state, writes: [...state.writes, write] };
}

function goesOn(state: PullState, write: Write): Move<PullState> {
  const { node, is } = write;
  if (is === "sent") return { name: `a write of ${node} arrives`, take: () => arrives(state, write) };
  if (is === "raced") return { name: `a write of ${node} comes again`, take: () => comesAgain(state, write) };
  return { name: `a write of ${node} is answered`, take: () => answered(state, write) };
}

function arrives(state: PullState, write: Write): PullState {
  const { stored, seen, writes } = state;
  const { node, base, after } = write;
  const is = stored.get(node);
  if (is === undefined) return over({ ...state, seen: put(seen, node, undefined) }, write);
  if (is !== base) return { ...state, writes: replaced(writes, write, { ...write, is: "raced" }) };
  return {
    ...state,
    stored: put(stored, node, after),
    writes: replaced(writes, write, { ...write, is: "stored" }),
  };
}

function arrivesLate(state: PullState, write: Write): PullState {
  const { stored, late } = state;
  const { node, base, after } = write;
  const rest = { ...state, late: late.filter((other) => other !== write) };
  return stored.get(node) === base ? { ...rest, stored: put(stored, node, after) } : rest;
}

function comesAgain(state: PullState, write: Write): PullState {
  const { stored, seen, writes } = state;
  const { node, edits, waiting } = write;
  const fresh = { ...state, seen: put(seen, node, stored.get(node)) };
  return sent({ ...fresh, writes: writes.filter((other) => other !== write) }, node, edits, waiting);
}

function answered(state: PullState, write: Write): PullState {
  const { node, after } = write;
  return over({ ...state, seen: put(state.seen, node, newest(state.seen.get(node), after)) }, write);
}

function over(state: PullState, write: Write): PullState {
  return sent(
    { ...state, writes: state.writes.filter((other) => other !== write) },
    write.node,
    write.waiting,
  );
}

function refused(state: PullState, write: Write): PullState {
  const { holds, now } = state;
  const held = write.edits.map(({ job }) => ({
    job: job.metadata.uid ?? "",
    node: write.node,
    until: now + HOLD_MS,
  }));
  return over({ ...state, holds: [...holds, ...held] }, write);
}

function mishapsOf(state: PullState): Move<PullState>[] {
  const { nodes, stored, writes, ends, late } = state;
  const left = { mishaps: state.mishaps - 1 };
  const moves: Move<PullState>[] = [];
  const mishap = (name: string, take: () => PullState | undefined): void => {
    moves.push({ name, isMishap: true, take });
  };
  if (writes.length + ends.size > 0) {
    const lost = [...late, ...writes.filter(({ is }) => is === "sent")];
    const nothing = { writes: [], holds: [], ends: new Map() };
    mishap("the controller dies", () => ({ ...state, ...left, ...nothing, seen: stored, late: lost }));
  }
  for (const write of writes)
    if (write.is === "sent")
      mishap(`a write of ${write.node} is refused`, () => refused({ ...state, ...left }, write));
  for (const name of stored.keys()) {
    mishap(`somebody deletes the NodeImage ${name}`, () => ({
      ...state,
      ...left,
      stored: put(stored, name, undefined),
    }));
    if (nodes.has(name))
      mishap(`a pull fails on ${name}`, () => pullEnds({ ...state, ...left }, name, "fails").state);
  }
  return moves;
}

function withStatus(state: PullState, uid: string, status: ImagePullJobStatus): PullState {
  return { ...state, jobs: state.jobs.map((job) => (job.metadata.uid === uid ? { ...job, status } : job)) };
}

function podsOf(pods: readonly Pod[]): Reader<Pod> {
  return { get: () => undefined, byIndex: () => [], values: () => pods, size: pods.length };
}

function newest(seen: NodeImage | undefined, written: NodeImage): NodeImage | undefined {
  // One that is known to be gone does not come back.
  if (seen === undefined) return undefined;
  return versionOf(written) > versionOf(seen) ? written : seen;
}

function versionOf({ metadata }: NodeImage): number {
  return Number(metadata.resourceVersion);
}

function replaced<T>(all: readonly T[], one: T, by: T): T[] {
  return all.map((each) => (each === one ? by : each));
}

function essential(key: string, value: unknown): unknown {
  return key === "resourceVersion" ? undefined : value;
}
