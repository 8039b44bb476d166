/**
 * One PersistentPodState as a small world: its controller, whose requests arrive and are answered in any order and whose watches are
 * late, what else goes on with its workload, and people. Spec: persistentpodstate 4, pod-webhook 4.6.
 */
import type { PersistentPodState } from "../../crds/index.ts";
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import type { Move, SmallWorld } from "./explore.ts";
import {
  type Doing,
  doingOf,
  type Heard,
  type MakeReconciler,
  nothingSeen,
  textOf,
  textOfPod,
  type Watch,
} from "./heard_records.ts";
import type { Reply, Request } from "./pending_requests.ts";
import { type Admit, clusterMoves } from "./records_cluster.ts";
import { checkStatus, checkStored, type Records, recordsFor, recordsIn, wrongWith } from "./records_rules.ts";
import {
  answerOf,
  isExpected,
  type Server,
  type Stored,
  uidOf,
  withoutPod,
  withRecord,
} from "./records_server.ts";

export interface RecordStage {
  readonly name: string;
  /** Undefined: not yet. */
  readonly change: (server: Server) => Server | undefined;
}

export interface RecordScenario {
  readonly name: string;
  readonly server: Server;
  readonly stages: readonly RecordStage[];
  readonly make: MakeReconciler;
  readonly admit: Admit;
}

interface State {
  readonly server: Server;
  /** By the controller, since it was started. */
  readonly heard: readonly Heard[];
  readonly doing: Doing;
  /** What it has been to record; undefined: it has not begun. */
  readonly known: Known | undefined;
  /** Of requests that have arrived. */
  readonly replies: ReadonlyMap<number, Reply>;
  /** What the watches have still to tell. */
  readonly news: readonly News[];
  /** Sent by a controller that died. */
  readonly late: readonly Request[];
  readonly stage: number;
  readonly mishaps: number;
  /** Nobody may know any more of what was asked for, or had to be recorded. */
  readonly isForgotten: boolean;
}

type News = Extract<Heard, { is: "news" }>;

interface Known {
  /** UIDs of the record and of the workload that it is about. */
  readonly record: string;
  readonly workload: string;
  readonly records: Records;
}

/** Sooner than that nothing is tried again. */
const PAUSE_MS = 500;

/** A controller that has not been started. */
const idle: Doing = {
  requests: [],
  mayPass: false,
  isPassing: false,
  list: "none",
  dueInMs: undefined,
  seen: nothingSeen,
  memory: "",
};

/** `mishaps`: how many may happen on one way. */
export function recordsWorld(scenario: RecordScenario, mishaps: number): SmallWorld<State> {
  const world = new RecordsWorld(scenario, mishaps);
  return {
    start: {
      server: scenario.server,
      heard: [],
      doing: idle,
      known: undefined,
      replies: new Map(),
      news: [],
      late: [],
      stage: 0,
      mishaps,
      isForgotten: false,
    },
    keyOf,
    movesOf: (state) => world.movesOf(state),
    unsettled,
  };
}

function unsettled({ server, known, isForgotten }: State): string | undefined {
  return wrongWith(server, known?.records ?? new Map(), isForgotten);
}

class RecordsWorld {
  readonly #scenario: RecordScenario;
  readonly #mishaps: number;

  constructor(scenario: RecordScenario, mishaps: number) {
    this.#scenario = scenario;
    this.#mishaps = mishaps;
  }

  movesOf(state: State): readonly Move<State>[] {
    const { server, doing, heard, late } = state;
    const moves: Move<State>[] = [...this.#controllerMoves(state)];
    for (const request of late)
      moves.push({
        name: `${nameOf(request)} arrives late`,
        take: () => ({ ...arrived(state, request).state, late: late.filter((other) => other !== request) }),
      });
    // Admission may be of the same process, and hears no more than its controller; of another one it hears at once.
    const admitting = heard.length === 0 ? server.record : doing.seen.record;
    for (const [name, change] of clusterMoves(server, admitting, this.#scenario.admit))
      moves.push({ name, take: () => takenBy(state, change()) });
    const isQuiet = moves.length === 0;
    // Of annotations that change before it is started for the first time a controller knows nothing (rule 20).
    const stage = heard.length === 0 ? undefined : this.#scenario.stages[state.stage];
    if (stage !== undefined)
      moves.push({
        name: stage.name,
        take: () => {
          if (isQuiet) this.#checkQuiet(state);
          const next = stage.change(server);
          return next && changed({ ...state, stage: state.stage + 1 }, next);
        },
      });
    // A write that is refused until people do something would be tried for ever.
    const isDue = doing.dueInMs !== undefined && (stage === undefined || doing.dueInMs < PAUSE_MS);
    if (isQuiet && isDue) moves.push({ name: "time passes", take: () => this.#heard(state, { is: "time" }) });
    return state.mishaps > 0 ? [...moves, ...this.#mishapsOf(state)] : moves;
  }

  /** What is recorded has to be true, too, while people wait before they go on. */
  #checkQuiet(state: State): void {
    if (state.mishaps < this.#mishaps || (state.doing.dueInMs ?? PAUSE_MS) < PAUSE_MS) return;
    const wrong = unsettled(state);
    if (wrong !== undefined) throw new Error(`nothing goes on, and there is ${wrong}`);
  }

  #controllerMoves(state: State): Move<State>[] {
    const { server, heard, doing, replies, news } = state;
    if (heard.length === 0) return [{ name: "the controller starts", take: () => this.#started(state) }];
    const moves: Move<State>[] = [];
    const hears = (name: string, what: Heard, next: State = state): void => {
      moves.push({ name, take: () => this.#heard(next, what) });
    };
    if (doing.mayPass) hears("the controller passes", { is: "turn" });
    if (doing.list === "asked for") hears("the pods are listed", listOf(server));
    for (const [at, one] of news.entries()) {
      const isFirst = news.findIndex(({ watch }) => watch === one.watch) === at;
      if (isFirst)
        hears(`the controller sees ${subjectOf(one)}`, one, { ...state, news: news.toSpliced(at, 1) });
    }
    for (const request of doing.requests) {
      const reply = replies.get(request.id);
      const name = nameOf(request);
      if (reply !== undefined) hears(`${name} is answered`, { is: "answer", request, reply });
      else
        moves.push({
          name: `${name} arrives`,
          take: () => {
            const { state: next, reply: found } = arrived(state, request);
            return { ...next, replies: new Map([...replies, [request.id, found]]) };
          },
        });
    }
    return moves;
  }

  /** With all that there is. */
  async #started(state: State): Promise<State> {
    const { record, workload, nodes } = state.server;
    const told = (watch: Watch, objects: readonly (JsonObject | undefined)[]): News[] =>
      objects.flatMap((object) =>
        object === undefined ? [] : [{ is: "news", watch, object, isGone: false }],
      );
    const all = [
      ...told("nodes", [...nodes.values()]),
      ...told("workload", [workload]),
      ...told("record", [record && { ...record }]),
    ];
    const started = await this.#heard(state, ...all);
    return { ...started, known: record && { ...uidsIn(state.server), records: recordsIn(record.status) } };
  }

  async #heard(state: State, ...news: readonly Heard[]): Promise<State> {
    const heard = [...state.heard, ...news];
    const doing = await doingOf(heard, this.#scenario.make);
    const isTurn = news.at(-1)?.is === "turn";
    const known = isTurn ? knownAfter(state) : state.known;
    const fresh = doing.requests.filter(({ id }) => !state.doing.requests.some((other) => other.id === id));
    for (const request of fresh)
      if (request.subresource === "status" && !state.isForgotten)
        checkStatus(state.doing.seen, known?.records ?? new Map(), request);
    const open = new Set(doing.requests.map(({ id }) => id));
    const replies = new Map([...state.replies].filter(([id]) => open.has(id)));
    return { ...state, heard, doing, known, replies, news: state.news.filter((one) => isNews(one, doing)) };
  }

  #mishapsOf(state: State): Move<State>[] {
    const { server, heard, doing, replies, news, late } = state;
    const left = { ...state, mishaps: state.mishaps - 1 };
    const moves: Move<State>[] = [];
    const mishap = (name: string, take: () => State | Promise<State>): void => {
      moves.push({ name, isMishap: true, take });
    };
    const unsent = doing.requests.filter(({ id }) => !replies.has(id));
    for (const request of unsent) {
      const name = nameOf(request);
      mishap(`${name} is refused`, () => ({
        ...left,
        replies: new Map([...replies, [request.id, { error: "Forbidden" }]]),
      }));
      if (request.verb === "get") continue;
      mishap(`${name} arrives, and the answer is lost`, () => ({
        ...arrived(left, request).state,
        replies: new Map([...replies, [request.id, { error: "Unavailable" }]]),
        // A switch that is on again meanwhile may find the deleted object in the cache still.
        isForgotten: left.isForgotten || request.verb === "delete",
      }));
    }
    if (heard.length > 0)
      mishap("the controller dies", () => ({
        ...left,
        heard: [],
        doing: idle,
        known: undefined,
        replies: new Map(),
        news: [],
        late: [...late, ...unsent.filter(({ verb }) => verb !== "get")],
        isForgotten: true,
      }));
    if (doing.list === "held")
      mishap("the pods are listed again", () =>
        this.#heard({ ...left, news: news.filter(({ watch }) => watch !== "pods") }, listOf(server)),
      );
    for (const name of server.pods.keys())
      mishap(`somebody deletes ${name}`, () => changed(left, withoutPod(server, name)));
    if (server.record !== undefined)
      mishap("somebody deletes the record", () => ({
        ...changed(left, withRecord(server, undefined)),
        isForgotten: true,
      }));
    return moves;
  }
}

/** What there is to be recorded after a pass: rules 3 to 10. Of another record, or for another workload, nothing is known. */
function knownAfter({ doing: { seen, list }, known }: State): Known | undefined {
  const { record, workload } = seen;
  if (record === undefined || (workload !== undefined && list !== "held")) return known;
  const uids = uidsIn(seen);
  const isOfAnother = known !== undefined && workload !== undefined && known.workload !== uids.workload;
  const before = known?.record === uids.record ? known.records : recordsIn(record.status);
  return { ...uids, records: recordsFor(seen, isOfAnother ? new Map() : before) };
}

function uidsIn({ record, workload }: Stored): Pick<Known, "record" | "workload"> {
  return { record: record?.metadata.uid ?? "", workload: uidOf(workload) };
}

function listOf({ pods, version }: Server): Heard {
  return { is: "list", pods: [...pods.values()], version: String(version) };
}

function arrived(state: State, request: Request): { readonly state: State; readonly reply: Reply } {
  const { server: next, reply } = answerOf(state.server, request);
  if (request.subresource === "status") checkStored(state.server, next);
  return { state: changed(state, next), reply };
}

async function taken(state: State, server: Promise<Server>): Promise<State> {
  return changed(state, await server);
}

function takenBy(state: State, server: Server | Promise<Server>): State | Promise<State> {
  return server instanceof Promise ? taken(state, server) : changed(state, server);
}

function changed(state: State, server: Server): State {
  const { heard, doing } = state;
  const told = heard.length === 0 ? [] : newsOf(state.server, server);
  const news = [...state.news, ...told.filter(({ watch }) => watch !== "pods" || doing.list === "held")];
  return { ...state, server, news };
}

function newsOf(before: Server, after: Server): News[] {
  const version = String(after.version);
  const news: News[] = [];
  const tell = (watch: Watch, was: JsonObject | undefined, is: JsonObject | undefined): void => {
    if (was === is) return;
    if (was !== undefined && uidOf(was) !== uidOf(is))
      news.push({ is: "news", watch, object: withVersion(was, version), isGone: true });
    if (is !== undefined) news.push({ is: "news", watch, object: is, isGone: false });
  };
  for (const name of namesIn(before.pods, after.pods))
    tell("pods", before.pods.get(name), after.pods.get(name));
  for (const name of namesIn(before.nodes, after.nodes))
    tell("nodes", before.nodes.get(name), after.nodes.get(name));
  tell("workload", before.workload, after.workload);
  if (before.record !== after.record)
    tell("record", before.record && { ...before.record }, after.record && { ...after.record });
  return news;
}

function withVersion(object: JsonObject, resourceVersion: string): JsonObject {
  const { metadata } = object;
  return { ...object, metadata: { ...(isJsonObject(metadata) ? metadata : {}), resourceVersion } };
}

function namesIn(...maps: readonly ReadonlyMap<string, unknown>[]): string[] {
  return [...new Set(maps.flatMap((map) => [...map.keys()]))].sort();
}

/** Whether it is newer than what the controller holds, which an answer may have brought. */
function isNews({ watch, object, isGone }: News, { seen, list }: Doing): boolean {
  if (watch === "pods") return list === "held";
  if (watch !== "record" || isGone) return true;
  const { uid, resourceVersion }: PersistentPodState["metadata"] = Object(object["metadata"]);
  const held = seen.record?.metadata;
  return uid !== held?.uid || Number(resourceVersion) > Number(held?.resourceVersion);
}

function subjectOf({ watch, object, isGone }: News): string {
  const { name }: PersistentPodState["metadata"] = Object(object["metadata"]);
  const subject = watch === "record" || watch === "workload" ? `the ${watch}` : name;
  return `${subject}${isGone ? " go" : ""}`;
}

function nameOf({ verb, subresource }: Request): string {
  return `${verb} of the ${subresource ?? "record"}`;
}

function keyOf(state: State): string {
  const { server, doing, known, replies, news, late, stage, mishaps, isForgotten } = state;
  const { record, workload, pods, nodes, ran } = server;
  const { requests, isPassing, mayPass, list, dueInMs, memory, seen } = doing;
  const ofRequest = (request: Request): string => {
    const reply = replies.get(request.id);
    return `${nameOf(request)} ${textOf(request.body)} ${request.uid} ${isExpected(record, request)} ${reply && textOf(reply)}`;
  };
  const ofNews = ({ watch, object, isGone }: News): string =>
    `${watch} ${watch === "pods" ? textOfPod(object) : textOf(object)} ${isGone}`;
  return JSON.stringify([
    record && textOf(record),
    workload && textOf(workload),
    [...pods].map(([name, pod]) => [name, textOfPod(pod)]).sort(),
    textOf([...nodes].sort()),
    ran,
    [isPassing, mayPass, list, dueInMs, memory, stage, mishaps, isForgotten],
    seen.record?.metadata.resourceVersion === record?.metadata.resourceVersion,
    known && [known.record, known.workload, [...known.records].sort()],
    requests.map(ofRequest),
    late.map(ofRequest).sort(),
    news.toSorted((a, b) => (a.watch < b.watch ? -1 : Number(a.watch > b.watch))).map(ofNews),
  ]);
}
