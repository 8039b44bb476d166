import fc from "fast-check";
import t from "tap";
import type { ListPage, WatchEvent } from "./client_types.ts";
import { seededRandom } from "./core/random.ts";
import { KubeError } from "./errors.ts";
import { type Effect, firstState, type Input, type State, step } from "./watch_state.ts";

interface Thing {
  name: string;
  version: string;
}

const deps = {
  identify: (thing: Thing) => ({ key: thing.name, uid: `uid-${thing.name}`, version: thing.version }),
  random: () => 0.5,
};

/** Feeds inputs; returns the last state and everything that was to be done. */
function feed(
  from: State<Thing>,
  ...inputs: Input<Thing>[]
): { state: State<Thing>; effects: Effect<Thing>[] } {
  const effects: Effect<Thing>[] = [];
  let state = from;
  for (const input of inputs) {
    const next = step(deps, state, input);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects };
}

const thing = (name: string, version: number): Thing => ({ name, version: String(version) });
const events = (...list: WatchEvent<Thing>[]): Input<Thing> => ({ type: "events", events: list });
const added = (name: string, version: number): WatchEvent<Thing> => ({
  type: "ADDED",
  object: thing(name, version),
});
const bookmark = (version: number, initialEventsEnd = false): WatchEvent<Thing> => ({
  type: "BOOKMARK",
  resourceVersion: String(version),
  initialEventsEnd,
});
const failed = (code: KubeError["code"], retryAfterMs?: number): Input<Thing> => ({
  type: "failed",
  error: new KubeError(code, "no", retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const page = (items: Thing[], more: Partial<ListPage<Thing>> = {}): Input<Thing> => ({
  type: "page",
  page: { items, resourceVersion: "50", continue: "", undecodable: [], ...more },
});
const replaced = (effects: readonly Effect<Thing>[]): unknown =>
  effects.flatMap((effect) =>
    effect.type === "replace"
      ? [{ items: [...effect.items].map((each) => each.name), version: effect.version }]
      : [],
  );

t.test("a streaming list becomes a watch on the same connection", async (t) => {
  const first = firstState<Thing>();
  const { state, effects } = feed(
    first,
    events(added("a", 3), added("b", 5)),
    events(added("c", 4), bookmark(9, true), added("d", 10)),
  );
  t.same(replaced(effects), [{ items: ["a", "b", "c"], version: "9" }]);
  t.same(effects.at(-1), { type: "upsert", object: thing("d", 10) });
  t.match(state, { name: "watching", version: "10", attempt: first.attempt, failures: { count: 0 } });
});

t.test("nothing of a list is reported before it is complete", async (t) => {
  const { effects } = feed(firstState(), events(added("a", 3)), events(bookmark(4)), { type: "closed" });
  t.same(
    effects.map((effect) => effect.type),
    ["restart"],
  );
});

t.test("a server that refuses to stream is listed in pages from then on", async (t) => {
  for (const code of ["BadRequest", "Invalid"] as const) {
    const { state } = feed(firstState(), failed(code));
    t.match(state, { name: "listing", limit: 500, delayMs: 0, canStream: false });
  }
  const silent = feed(firstState(), { type: "silent" });
  t.match(silent.state, { name: "listing", canStream: false });
  const unable = feed(
    firstState(),
    events({
      type: "ERROR",
      code: 500,
      reason: "InternalError",
      message: "RequestWatchProgress is disabled",
    }),
  );
  t.match(unable.state, { name: "listing", canStream: false, delayMs: 0 });
});

t.test("pages are put together and reported at once, at the first page's version", async (t) => {
  const { state, effects } = feed(
    firstState(false),
    page([thing("a", 1)], { continue: "x", resourceVersion: "50" }),
    page([thing("b", 2)], { resourceVersion: "60", undecodable: [{ key: "ns/bad", message: "why" }] }),
  );
  t.same(replaced(effects), [{ items: ["a", "b"], version: "50" }]);
  t.match(state, { name: "watching", version: "50" });
  t.match(effects[0], { type: "undecodable", key: "ns/bad" });
});

t.test("pages that expire: once more, then all in one", async (t) => {
  const once = feed(firstState(false), page([thing("a", 1)], { continue: "x" }), failed("Gone"));
  t.match(once.state, { name: "listing", items: [], continue: "", limit: 500 });
  const twice = feed(once.state, failed("Gone"));
  t.match(twice.state, { name: "listing", limit: undefined });
});

t.test("a closed watch resumes at the last version; an empty one ever more slowly", async (t) => {
  const watching = feed(firstState(), events(bookmark(9, true))).state;
  const resumed = feed(watching, events(added("a", 12)), { type: "closed" }).state;
  t.match(resumed, { name: "watching", version: "12", delayMs: 50 });
  const delays: number[] = [];
  let state = resumed;
  for (let i = 0; i < 8; i++) {
    state = feed(state, { type: "closed" }).state;
    delays.push(state.delayMs);
  }
  t.ok(
    delays.every((delay, at) => at === 0 || delay >= (delays[at - 1] ?? 0)),
    delays.join(),
  );
  t.equal(delays.at(-1), 30_000);
  t.match(
    feed(state, events(bookmark(20)), { type: "closed" }).state,
    { version: "20", delayMs: 50 },
    "a sign of life starts over",
  );
});

t.test("an expired version begins a new list, at once the first time", async (t) => {
  const watching = feed(firstState(), events(bookmark(9, true))).state;
  const gone = events({ type: "ERROR", code: 410, reason: "Expired", message: "too old" });
  const next = feed(watching, gone).state;
  t.match(next, { name: "streaming", delayMs: 0 });
  t.not(next.attempt, watching.attempt, "the old stream is left");
  t.match(feed(watching, failed("Gone")).state, { name: "streaming", delayMs: 0 });
  t.ok(feed(next, gone).state.delayMs > 0);
});

t.test("failures back off, Retry-After is obeyed, corrupt streams end in a new list", async (t) => {
  const watching = feed(firstState(), events(bookmark(9, true))).state;
  t.match(feed(watching, failed("Network")).state, { name: "watching", version: "9", delayMs: 800 });
  t.match(feed(watching, failed("TooManyRequests", 7_000)).state, { delayMs: 7_000 });
  t.match(feed(watching, failed("Decode"), failed("Decode")).state, { name: "watching" });
  t.match(feed(watching, failed("Decode"), failed("Decode"), failed("Decode")).state, { name: "streaming" });
});

/** Milliseconds from each try to the one after it while the watch meets these failures. */
function waits(from: State<Thing>, code: KubeError["code"], times: number): State<Thing>[] {
  const states = [from];
  for (let i = 0; i < times; i++) states.push(feed(states.at(-1) ?? from, failed(code)).state);
  return states.slice(1);
}

t.test("a server that is away is asked every few seconds, one that refuses ever more rarely", async (t) => {
  const watching = feed(firstState(), events(bookmark(9, true))).state;
  for (const code of ["Network", "Unavailable"] as const) {
    const delays = waits(watching, code, 300).map((state) => state.delayMs);
    t.same(delays.slice(0, 5), [800, 1600, 3200, 5000, 5000], code);
    t.equal(delays.at(-1), 5000, "however long it is away");
  }
  for (const code of ["TooManyRequests", "ServerError", "Timeout", "Forbidden"] as const)
    t.equal(waits(watching, code, 10).at(-1)?.delayMs, 30_000, code);
  t.equal(feed(watching, failed("Unavailable", 20_000)).state.delayMs, 20_000, "unless it asks for more");
});

t.test("a server that is back and refuses for a moment is asked again soon", async (t) => {
  const watching = feed(firstState(), events(bookmark(9, true))).state;
  const away = waits(watching, "Network", 100).at(-1) ?? watching;
  const refused = waits(away, "Forbidden", 2).map((state) => state.delayMs);
  t.same(refused, [800, 1600]);
});

t.test(
  "a thousand agents whose server was away for an hour come back within 8 s, and not at once",
  async (t) => {
    const random = seededRandom(11);
    const spread = { ...deps, random };
    const backAt = 3_600_000;
    const opened: number[] = [];
    const isAway = failed("Network");
    let asked = 0;
    for (let watch = 0; watch < 4_000; watch++) {
      let state = feed(firstState(), events(bookmark(9, true))).state;
      let now = 0;
      while (now < backAt) {
        state = step(spread, state, isAway).state;
        now += state.delayMs;
        asked++;
      }
      opened.push(now - backAt);
    }
    t.ok(Math.max(...opened) <= 7_500, `the last after ${Math.max(...opened)} ms`);
    const perSecond = Array.from({ length: 8 }, (_, second) =>
      opened.filter((ms) => Math.floor(ms / 1000) === second),
    );
    const most = Math.max(...perSecond.map((each) => each.length));
    t.ok(most < 1_000, `${most} of 4,000 in one second`);
    t.ok(asked / 3_600 < 1_000, `${asked / 3_600} tries a second meanwhile`);
  },
);

/** The input as a server of this version would send it. */
function at(input: Input<Thing>, version: number): Input<Thing> {
  const resourceVersion = String(version);
  if (input.type === "page") return { ...input, page: { ...input.page, resourceVersion } };
  if (input.type !== "events") return input;
  const dated = input.events.map((event): WatchEvent<Thing> => {
    if (event.type === "ADDED") return { ...event, object: { ...event.object, version: resourceVersion } };
    return event.type === "BOOKMARK" ? { ...event, resourceVersion } : event;
  });
  return { type: "events", events: dated };
}

t.test(
  "property: whatever happens, versions only grow until a new list, and delays stay bounded",
  async (t) => {
    const input: fc.Arbitrary<Input<Thing>> = fc.oneof(
      fc
        .record({ name: fc.constantFrom("a", "b"), grow: fc.nat(5) })
        .map(({ name, grow }): Input<Thing> => events(added(name, grow))),
      fc.boolean().map((end) => events(bookmark(0, end))),
      fc.constantFrom<Input<Thing>>({ type: "closed" }, { type: "silent" }),
      fc
        .constantFrom<KubeError["code"]>(
          "Gone",
          "Network",
          "Decode",
          "BadRequest",
          "Forbidden",
          "TooManyRequests",
        )
        .map((code) => failed(code)),
      fc.boolean().map((more) => page([], { continue: more ? "x" : "" })),
      fc.constantFrom(410, 500).map((code) => events({ type: "ERROR", code, reason: "", message: "" })),
    );
    fc.assert(
      fc.property(fc.array(input, { maxLength: 60 }), (inputs) => {
        let state = firstState<Thing>();
        let version = 10;
        for (const each of inputs) {
          const before = state;
          if (each.type === "events") version += 3;
          const dated = at(each, version);
          state = step(deps, state, dated).state;
          if (state.delayMs < 0 || state.delayMs > 45_000) return false;
          if (state.attempt < before.attempt) return false;
          if (
            state.name === "watching" &&
            before.name === "watching" &&
            Number(state.version) < Number(before.version)
          )
            return false;
        }
        return true;
      }),
      { seed: 7, numRuns: 500 },
    );
    t.pass("held in all runs");
  },
);
