/**
 * One ResourceDistribution as a small world: its controller, whose requests arrive and are answered in any order and whose watches are
 * late, what else goes on in its namespaces, and people. Spec: resourcedistribution 4.
 */
import { objectAt } from "../../controller/native/json_fields.ts";
import { type JsonObject, jsonEqual } from "../../kube/core/index.ts";
import { checkRequest, checkStatus, checkWrite, wrongWith } from "./distribution_rules.ts";
import {
  answerOf,
  controllerUidOf,
  housekeeping,
  isExpected,
  type Server,
  withCopy,
  withoutCopy,
} from "./distribution_server.ts";
import type { Move, SmallWorld } from "./explore.ts";
import { type Doing, doingOf, type Heard, type MakeReconciler, textOf } from "./heard_distributions.ts";
import type { Reply, Request } from "./pending_requests.ts";

export interface DistributionStage {
  readonly name: string;
  readonly change: (server: Server) => Server;
}

export interface DistributionScenario {
  readonly name: string;
  readonly server: Server;
  readonly stages: readonly DistributionStage[];
  readonly make: MakeReconciler;
}

interface State {
  readonly server: Server;
  /** By the controller, since it was started. */
  readonly heard: readonly Heard[];
  readonly doing: Doing;
  /** With what it planned last. */
  readonly planned: Doing;
  /** Of requests that have arrived. */
  readonly replies: ReadonlyMap<number, Reply>;
  /** What the watches have still to tell. */
  readonly news: readonly Heard[];
  /** Sent by a controller that died. */
  readonly late: readonly Request[];
  readonly stage: number;
  readonly mishaps: number;
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
  distribution: undefined,
  namespaces: new Map(),
  copies: new Map(),
  memory: "",
};

/** `mishaps`: how many may happen on one way. */
export function distributionWorld(scenario: DistributionScenario, mishaps: number): SmallWorld<State> {
  const world = new DistributionWorld(scenario, mishaps);
  return {
    start: {
      server: scenario.server,
      heard: [],
      doing: idle,
      planned: idle,
      replies: new Map(),
      news: [],
      late: [],
      stage: 0,
      mishaps,
    },
    keyOf,
    movesOf: (state) => world.movesOf(state),
    unsettled: ({ server }) => wrongWith(server),
  };
}

class DistributionWorld {
  readonly #scenario: DistributionScenario;
  readonly #mishaps: number;

  constructor(scenario: DistributionScenario, mishaps: number) {
    this.#scenario = scenario;
    this.#mishaps = mishaps;
  }

  movesOf(state: State): readonly Move<State>[] {
    const { server, doing, late } = state;
    const moves: Move<State>[] = [...this.#controllerMoves(state)];
    for (const request of late)
      moves.push({
        name: `${nameOf(request)} arrives late`,
        take: () => ({ ...arrived(state, request).state, late: late.filter((other) => other !== request) }),
      });
    for (const [name, next] of housekeeping(server)) moves.push({ name, take: () => changed(state, next) });
    const isQuiet = moves.length === 0;
    const stage = this.#scenario.stages[state.stage];
    if (stage !== undefined)
      moves.push({
        name: stage.name,
        take: () => {
          if (isQuiet) this.#checkQuiet(state);
          return changed({ ...state, stage: state.stage + 1 }, stage.change(server));
        },
      });
    // A write that is refused until people do something would be tried for ever.
    const isDue = doing.dueInMs !== undefined && (stage === undefined || doing.dueInMs < PAUSE_MS);
    if (isQuiet && isDue) moves.push({ name: "time passes", take: () => this.#heard(state, { is: "time" }) });
    return state.mishaps > 0 ? [...moves, ...this.#mishapsOf(state)] : moves;
  }

  /** What is reported has to be true, too, while people wait before they go on. */
  #checkQuiet({ server, doing, mishaps }: State): void {
    if (mishaps < this.#mishaps || (doing.dueInMs ?? PAUSE_MS) < PAUSE_MS) return;
    const wrong = wrongWith(server);
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
    if (doing.list === "asked for" || (doing.list === "refused" && server.mayList))
      hears(server.mayList ? "the copies are listed" : "the copies may not be listed", listIn(server));
    for (const [at, one] of news.entries()) {
      const isFirst = news.findIndex((other) => subjectOf(other) === subjectOf(one)) === at;
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
  #started(state: State): Promise<State> {
    const { server } = state;
    const all: Heard[] = [...server.namespaces].map(([name, object]) => ({
      is: "namespace",
      name,
      object,
      isGone: false,
    }));
    const { distribution } = server;
    if (distribution !== undefined) all.push({ is: "distribution", object: distribution, isGone: false });
    return this.#heard(state, ...all);
  }

  async #heard(state: State, ...news: readonly Heard[]): Promise<State> {
    const heard = [...state.heard, ...news];
    const doing = await doingOf(heard, this.#scenario.make);
    const [last] = news.slice(-1);
    const isRead = last?.is === "answer" && last.request.verb === "get" && last.request.namespace !== "";
    const { distribution } = isRead ? state.planned : doing;
    const planned = last?.is === "turn" || isRead ? { ...doing, distribution } : state.planned;
    this.#checkRequests(state.doing.requests, doing, planned, last);
    const isInformed = last?.is === "turn" && state.news.length === 0;
    const written = doing.requests.find(({ subresource }) => subresource === "status");
    if (isInformed && written !== undefined && !state.doing.requests.some(({ id }) => id === written.id))
      checkStatus(state.server, written);
    const open = new Set(doing.requests.map(({ id }) => id));
    const replies = new Map([...state.replies].filter(([id]) => open.has(id)));
    return { ...state, heard, doing, planned, replies, news: state.news.filter((one) => isNews(one, doing)) };
  }

  #checkRequests(
    before: readonly Request[],
    { requests }: Doing,
    planned: Doing,
    last: Heard | undefined,
  ): void {
    const fresh = requests.filter(({ id }) => !before.some((other) => other.id === id));
    const isConfirmed =
      last?.is === "answer" &&
      "object" in last.reply &&
      last.request.verb === "get" &&
      last.request.namespace === "";
    for (const request of fresh) {
      checkRequest(request, planned, isConfirmed);
      const same = requests.filter(
        ({ namespace, name }) => namespace === request.namespace && name === request.name,
      );
      if (same.length > 1 && request.namespace !== "")
        throw new Error(`${request.namespace} is written twice at a time`);
    }
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
      }));
    }
    if (heard.length > 0)
      mishap("the controller dies", () => ({
        ...left,
        heard: [],
        doing: idle,
        planned: idle,
        replies: new Map(),
        news: [],
        late: [...late, ...unsent.filter(({ verb }) => verb !== "get")],
      }));
    if (doing.list === "held")
      mishap("the copies are listed again", () =>
        this.#heard({ ...left, news: news.filter(({ is }) => is !== "copy") }, listIn(server)),
      );
    for (const [name, copy] of server.copies) {
      mishap(`somebody deletes the copy in ${name}`, () => changed(left, withoutCopy(server, name)));
      const data = { edited: "yes" };
      if (!jsonEqual(objectAt(copy, "data"), data) && controllerUidOf(copy) !== "")
        mishap(`somebody edits the copy in ${name}`, () =>
          changed(left, withCopy(server, name, { ...copy, data })),
        );
    }
    return moves;
  }
}

function listIn({ mayList, copies, version }: Server): Heard {
  return { is: "list", copies: mayList ? [...copies.values()] : undefined, version: String(version) };
}

function arrived(state: State, request: Request): { readonly state: State; readonly reply: Reply } {
  const { server } = state;
  const stored = server.copies.get(request.namespace);
  const isWrite = request.verb === "patch" || request.verb === "delete";
  if (isWrite && stored !== undefined && isExpected(stored, request)) checkWrite(request, stored);
  const { server: next, reply } = answerOf(server, request);
  return { state: changed(state, next), reply };
}

function changed(state: State, server: Server): State {
  const { heard, doing } = state;
  const told = heard.length === 0 ? [] : newsOf(state.server, server);
  const news = [...state.news, ...told.filter(({ is }) => is !== "copy" || doing.list === "held")];
  return { ...state, server, news };
}

function newsOf(before: Server, after: Server): Heard[] {
  const resourceVersion = String(after.version);
  const news: Heard[] = [];
  for (const name of namesIn(before, after)) {
    const namespace = after.namespaces.get(name);
    const lost = before.namespaces.get(name);
    if (namespace !== lost && namespace !== undefined)
      news.push({ is: "namespace", name, object: namespace, isGone: false });
    else if (namespace !== lost && lost !== undefined)
      news.push({ is: "namespace", name, object: { ...lost, resourceVersion }, isGone: true });
    const copy = after.copies.get(name);
    const former = before.copies.get(name);
    if (copy !== former && copy !== undefined) news.push({ is: "copy", name, object: copy, isGone: false });
    else if (copy !== former && former !== undefined) {
      const metadata = { ...objectAt(former, "metadata"), resourceVersion };
      news.push({ is: "copy", name, object: { ...former, metadata }, isGone: true });
    }
  }
  const [was, is] = [before.distribution, after.distribution];
  if (is !== was && is !== undefined) news.push({ is: "distribution", object: is, isGone: false });
  else if (is !== was && was !== undefined)
    news.push({
      is: "distribution",
      object: { ...was, metadata: { ...was.metadata, resourceVersion } },
      isGone: true,
    });
  return news;
}

function namesIn(...servers: readonly Server[]): string[] {
  const names = servers.flatMap(({ namespaces, copies }) => [...namespaces.keys(), ...copies.keys()]);
  return [...new Set(names)].sort();
}

/** Whether it is newer than what the controller holds, which an answer may have brought. */
function isNews(one: Heard, { copies, distribution, list }: Doing): boolean {
  if (one.is === "distribution") return one.isGone || isNewer(one.object.metadata, distribution?.metadata);
  if (one.is !== "copy") return true;
  if (list !== "held") return false;
  return one.isGone || isNewer(objectAt(one.object, "metadata"), copies.get(one.name));
}

interface Version {
  readonly uid?: unknown;
  readonly resourceVersion?: unknown;
}

function isNewer(one: Version, held: Version = {}): boolean {
  return one.uid !== held.uid || Number(one.resourceVersion) > Number(held.resourceVersion);
}

function subjectOf(one: Heard): string {
  return "name" in one ? `${one.is === "copy" ? "the copy in " : ""}${one.name}` : one.is;
}

function nameOf({ verb, namespace, subresource }: Request): string {
  const what = namespace === "" ? `the ${subresource ?? "distribution"}` : `the copy in ${namespace}`;
  return `${verb} of ${what}`;
}

function keyOf(state: State): string {
  const { server, doing, planned, replies, news, late, stage, mishaps } = state;
  const { distribution, namespaces, full, mayList } = server;
  const { requests, isPassing, mayPass, list, dueInMs, memory } = doing;
  const ofRequest = (request: Request): string => {
    const { verb, namespace, body, id } = request;
    const reply = replies.get(id);
    const isMet = isExpected(server.copies.get(namespace), request);
    const owner = controllerUidOf(body);
    return `${nameOf(request)} ${textOf(body)} ${owner} ${verb !== "create" && isMet} ${reply && textOf(reply)}`;
  };
  const ofNews = (one: Heard): string => {
    if (one.is === "copy") return `${one.is} ${one.name} ${textOfCopy(one.object)} ${one.isGone}`;
    return textOf(one);
  };
  return JSON.stringify([
    distribution && [distribution.metadata.uid, distribution.spec, textOf(distribution.status ?? {})],
    distribution?.metadata.deletionTimestamp,
    [...namespaces].map(([name, one]) => [name, one.labels, one.deletionAt]).sort(),
    [...server.copies].map(([name, copy]) => [name, textOfCopy(copy)]).sort(),
    [full, mayList, isPassing, mayPass, list, dueInMs, memory, stage, mishaps],
    isPassing && [textOf(planned.distribution ?? {}), textOf([...planned.namespaces])],
    requests.map(ofRequest).sort(),
    late.map(ofRequest).sort(),
    inOrderOfEach(news).map(ofNews),
  ]);
}

/** Which of two objects was changed first nobody sees. */
function inOrderOfEach(news: readonly Heard[]): Heard[] {
  return news.toSorted((a, b) => (subjectOf(a) < subjectOf(b) ? -1 : Number(subjectOf(a) > subjectOf(b))));
}

function textOfCopy(copy: JsonObject): string {
  const { labels, deletionTimestamp } = objectAt(copy, "metadata");
  return JSON.stringify([copy["data"], labels, deletionTimestamp, controllerUidOf(copy)]);
}
