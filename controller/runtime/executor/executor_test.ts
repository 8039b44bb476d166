/** What the executor does with every sort of effect, whatever the server answers: failure.ts as a table. */
import t from "tap";
import { type Client, KubeError, type KubeErrorCode, type Pod, podResource } from "../../../kube/index.ts";
import { sharedDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import type { Effect, EventEffect, WriteEffect } from "../../plan/effects.ts";
import type { DisruptionGuard } from "../admission/pod_admission.ts";
import { Executor, type PlanSubject } from "./executor.ts";
import { failureOf } from "./failure.ts";
import { writable } from "./writable.ts";

const about = {
  apiVersion: "v1",
  kind: "Pod",
  namespace: "d",
  name: "owner",
  uid: "o",
  resourceVersion: "1",
};
const subject: PlanSubject = { key: "d/owner", uid: "o", about, flow: "o" };

function podNamed(name: string, controller?: string): Pod {
  const ownerReferences =
    controller === undefined
      ? []
      : [{ apiVersion: "v1", kind: "Any", name: "owner", uid: controller, controller: true }];
  const metadata = { name, namespace: "d", uid: `${name}-uid`, resourceVersion: "1", ownerReferences };
  const text = JSON.stringify({ metadata, spec: { containers: [] }, status: {} });
  return podResource.codec.decode(Buffer.from(text), "application/json");
}

/** `refusals`: the code, or the error, by the name of the object. `stored`: UID of the controller of the object that exists already. */
function scene(refusals: Readonly<Record<string, KubeErrorCode | KubeError>> = {}, stored = "somebody else") {
  const sent: string[] = [];
  const bodies: (object | string)[] = [];
  const held: string[] = [];
  const clock = testClock();
  const refuse = (name: string): void => {
    const refusal = refusals[name];
    if (typeof refusal === "string") throw new KubeError(refusal, `${refusal} it is`);
    if (refusal !== undefined) throw refusal;
  };
  const client = {
    ...fakeServer().client,
    get: async (_resource: unknown, { name }: { name: string }) => {
      if (stored === "nothing") throw new KubeError("NotFound", "it is not there");
      return podNamed(name, stored);
    },
    create: async (_resource: unknown, _namespace: unknown, body: object | string) => {
      bodies.push(body);
      const { name } = Object(typeof body === "string" ? JSON.parse(body) : body).metadata;
      sent.push(`create ${name}`);
      refuse(name);
      return podNamed(name, "o");
    },
    patch: async (_resource: unknown, { name }: { name: string }) => {
      sent.push(`patch ${name}`);
      refuse(name);
      return podNamed(name);
    },
    delete: async (_resource: unknown, { name }: { name: string }) => {
      sent.push(`delete ${name}`);
      refuse(name);
      return undefined;
    },
  } as Client;
  const deps = sharedDeps(client, clock);
  const pods = writable(podResource, {
    writeBack: (pod, key) => held.push(`${pod.name} for ${key}`),
    removed: (key, uid) => held.push(`no ${key} ${uid}`),
    controllerOf: ({ controller }) => controller?.uid,
  });
  const executor = new Executor(deps, { writes: { pods } });
  const outcomes = new Map<string, { readonly error?: unknown }>();
  return {
    sent,
    bodies,
    held,
    events: deps.events,
    queue: deps.queue,
    clock,
    executor,
    executorWith: (more: { readonly mayDisrupt: DisruptionGuard | undefined }) =>
      new Executor({ ...deps, ...more }, { writes: { pods } }),
    outcomes,
    /** The code of what ended the pass. */
    async run(effects: readonly Effect[]): Promise<string | undefined> {
      try {
        for (const effect of effects) await executor.execute(subject, effect, outcomes);
        return undefined;
      } catch (error) {
        return error instanceof KubeError ? error.code : String(error);
      }
    },
  };
}

const say = (reason: string, message = "m"): EventEffect => ({
  type: "event",
  event: { type: "Normal", reason, message },
});

function writeOf(type: WriteEffect["type"], name: string, more: Partial<WriteEffect> = {}): WriteEffect {
  const settings = { id: name, succeeded: say("Done"), failed: say("Failed", "no: {error}"), ...more };
  const target = { resource: "pods", namespace: "d", name, ...settings };
  switch (type) {
    case "create":
      return { ...target, type, body: { spec: {} } };
    case "patch":
      return { ...target, type, patch: { type: "merge", body: {} } };
    case "delete":
      return { ...target, type, uid: `${name}-uid` };
  }
}

function quiet(type: WriteEffect["type"], name: string): WriteEffect {
  return { ...writeOf(type, name), succeeded: undefined, failed: undefined };
}

const writes = ["create", "patch", "delete"] as const;
const races = ["Conflict", "NotFound", "AlreadyExists"] as const;
const refusals = ["Forbidden", "Invalid", "ServerError", "TooManyRequests", "NamespaceTerminating"] as const;

t.test("what is done is told, and its answer is held before anything follows", async (t) => {
  for (const type of writes) {
    const { run, sent, held, events, outcomes } = scene();
    t.equal(await run([writeOf(type, "p"), say("Next")]), undefined, type);
    t.same(sent, [`${type} p`]);
    t.same(held, [type === "delete" ? "no d/p p-uid" : "p for d/owner"]);
    t.same(events, ["Normal Done m", "Normal Next m"]);
    t.same([...outcomes], [["p", {}]]);
  }
});

t.test("a race ends the pass and is not told, unless the effect is as good as done", async (t) => {
  for (const type of writes) {
    for (const code of races) {
      for (const whenRaced of [undefined, "retry", "ignore"] as const) {
        const { run, events, outcomes } = scene({ p: code });
        const ended = await run([
          writeOf(type, "p", whenRaced === undefined ? {} : { whenRaced }),
          say("Next"),
        ]);
        const isGone = type === "delete" && code === "NotFound";
        const isIgnored = whenRaced === "ignore" || isGone;
        const what = `${type} ${code} ${whenRaced}`;
        t.equal(ended, isIgnored ? undefined : code, what);
        t.same(events, isIgnored ? ["Normal Next m"] : [], what);
        t.equal(outcomes.get("p")?.error === undefined, isIgnored, what);
      }
    }
  }
});

t.test("a refusal ends the pass and is told with what the server said", async (t) => {
  for (const type of writes) {
    for (const code of refusals) {
      for (const whenRaced of ["retry", "ignore"] as const) {
        const { run, events, outcomes } = scene({ p: code });
        t.equal(await run([writeOf(type, "p", { whenRaced }), say("Next")]), code);
        t.same(events, [`Normal Failed no: ${code} it is`], `${type} ${code}`);
        t.match(outcomes.get("p"), { error: { code } });
      }
    }
  }
});

t.test("a race that is to be reported is a refusal", async (t) => {
  for (const type of writes) {
    for (const code of races) {
      const { run, events } = scene({ p: code });
      t.equal(await run([writeOf(type, "p", { whenRaced: "report" }), say("Next")]), code);
      t.same(events, [`Normal Failed no: ${code} it is`], `${type} ${code}`);
    }
  }
});

t.test(
  "what needs a budget goes on only if all budgets allow it, and is told when they cannot be asked",
  async (t) => {
    const effects = (pod: Pod) =>
      [{ type: "spend budget", pod, failed: say("Failed", "no: {error}") }, say("Next")] as const;
    for (const [answer, ended, told] of [
      [async () => true, undefined, ["Normal Next m"]],
      [async () => false, "wait", []],
      [() => Promise.reject(new KubeError("Forbidden", "not you")), "refused", ["Normal Failed no: not you"]],
      [undefined, undefined, ["Normal Next m"]],
    ] as const) {
      const { executorWith, events, outcomes } = scene();
      const executor = executorWith({ mayDisrupt: answer });
      let failure: string | undefined;
      try {
        for (const effect of effects(podNamed("p"))) await executor.execute(subject, effect, outcomes);
      } catch (error) {
        failure = failureOf(error);
      }
      t.equal(failure, ended);
      t.same(events, told);
    }
  },
);

t.test("a failure that is tolerated is told to the reconciler, and the pass goes on", async (t) => {
  for (const code of [...races, ...refusals]) {
    const { run, events, outcomes } = scene({ p: code });
    const effect = writeOf("patch", "p", { tolerated: true, failed: undefined });
    t.equal(await run([effect, say("Next")]), undefined);
    t.same(events, ["Normal Next m"]);
    t.match(outcomes.get("p"), { error: { code } });
  }
  const { run } = scene({ p: "Aborted" });
  t.equal(await run([writeOf("patch", "p", { tolerated: true })]), "Aborted");
});

t.test("what is aborted is not told", async (t) => {
  const { run, events } = scene({ p: "Aborted" });
  t.equal(await run([writeOf("patch", "p"), say("Next")]), "Aborted");
  t.same(events, []);
});

t.test(
  "a creation whose answer was lost is taken for done if the object has the owner, and only then",
  async (t) => {
    const create: WriteEffect = { ...writeOf("create", "p"), type: "create", body: {}, existing: "own" };
    const mine = scene({ p: "AlreadyExists" }, "o");
    t.equal(await mine.run([create]), undefined);
    t.same(mine.held, ["p for d/owner"]);
    const others = scene({ p: "AlreadyExists" });
    t.equal(await others.run([create]), "AlreadyExists");
    t.same(others.held, []);
  },
);

t.test("a creation may take what exists already, whoever controls it", async (t) => {
  for (const code of ["AlreadyExists", "Forbidden"] as const) {
    const { run, held } = scene({ p: code });
    const create: WriteEffect = { ...quiet("create", "p"), type: "create", body: {}, existing: "any" };
    const isThere = code === "AlreadyExists";
    t.equal(await run([create]), isThere ? undefined : code);
    t.same(held, isThere ? ["p for d/owner"] : []);
  }
});

t.test("what exists already is asked about only after the answers that leave it open", async (t) => {
  const lost = new KubeError("Network", "no answer", { ambiguous: true });
  const unsure = new KubeError("ServerError", "the store timed out", { status: 500, ambiguous: true });
  const there = new KubeError("AlreadyExists", "there");
  const going = new KubeError("AlreadyExists", "it is being deleted");
  for (const [existing, error, stored, ended] of [
    [undefined, lost, "o", "Network"],
    [undefined, there, "o", "AlreadyExists"],
    ["own", lost, "o", "taken"],
    ["own", there, "o", "taken"],
    ["own", lost, "other", "Network"],
    ["own if lost", lost, "o", "taken"],
    ["own if lost", lost, "other", "Network"],
    ["own if lost", there, "o", "AlreadyExists"],
    ["own if lost", unsure, "o", "taken"],
    ["own if lost", unsure, "nothing", "ServerError"],
    ["any", lost, "other", "taken"],
    ["any", there, "other", "taken"],
    ["unread", lost, "o", "Network"],
    ["unread", there, "other", "passed over"],
    ["unread", going, "other", "AlreadyExists"],
  ] as const) {
    const { run, events, held } = scene({ p: error }, stored);
    const create = {
      ...writeOf("create", "p"),
      type: "create",
      body: {},
      ...(existing && { existing }),
    } as const;
    const what = `${existing} ${error.message} ${stored}`;
    const isDone = ended === "taken" || ended === "passed over";
    t.equal(await run([create]), isDone ? undefined : ended, what);
    t.same(held, ended === "taken" ? ["p for d/owner"] : [], what);
    t.same(events.includes("Normal Done m"), ended === "taken", what);
  }
});

t.test("members of a body that are JSON text go out byte for byte", async (t) => {
  const { run, bodies } = scene();
  const texts = { data: '{"b":1.0,"a":2}', 'more"': "[ ]" };
  await run([{ ...quiet("create", "p"), type: "create", body: { revision: 3 }, texts }]);
  const metadata = '{"name":"p","namespace":"d"}';
  const whole = `{"apiVersion":"v1","kind":"Pod","metadata":${metadata},"revision":3,"data":{"b":1.0,"a":2},"more\\"":[ ]}`;
  t.same(bodies, [whole]);
});

t.test("an object that cannot be deleted is held until it is known to be gone", async (t) => {
  for (const code of ["NotFound", "Conflict"] as const) {
    for (const version of [{}, { resourceVersion: "7" }]) {
      const { run, held } = scene({ p: code });
      await run([{ ...writeOf("delete", "p"), type: "delete", uid: "p-uid", ...version }]);
      t.same(held, code === "NotFound" ? ["no d/p p-uid"] : [], code);
    }
  }
});

t.test("writes at once are all sent, whatever becomes of the others", async (t) => {
  const { run, sent, events } = scene({ b: "Forbidden" });
  const all = ["a", "b", "c"].map((name) => ({ ...writeOf("create", name), succeeded: undefined }));
  const ended = await run([
    { type: "writes", pace: "at once", writes: all as WriteEffect[], counted: say("Made", "{count} made") },
    say("Next"),
  ]);
  t.equal(ended, "Forbidden");
  t.same(sent, ["create a", "create b", "create c"]);
  t.same(events, ["Normal Failed no: Forbidden it is", "Normal Made 2 made"]);
});

t.test("a slow start stops at the first batch that has a failure", async (t) => {
  const { run, sent } = scene({ b: "Forbidden" });
  const all = ["a", "b", "c", "d"].map((name) => writeOf("create", name));
  t.equal(await run([{ type: "writes", pace: "slow start", writes: all }]), "Forbidden");
  t.same(sent, ["create a", "create b", "create c"]);
});

t.test("background effects do not keep the pass waiting, and a failed attempt is held back", async (t) => {
  const attempt = (name: string): Effect => ({
    type: "background",
    attempt: name,
    effects: [writeOf("patch", "p"), writeOf("patch", "q")],
  });
  const { run, sent, executor, queue } = scene({ q: "Forbidden" });
  t.equal(await run([attempt("1")]), undefined);
  t.ok(executor.isBusy("o"));
  await executor.drained();
  t.notOk(executor.isBusy("o"));
  t.same(sent, ["patch p", "patch q"]);
  t.equal(queue.depth, 1, "its end enqueues the object");
  await run([attempt("1")]);
  t.equal(sent.length, 2, "the same attempt waits");
  await run([attempt("2")]);
  await executor.drained();
  t.equal(sent.length, 4, "another one does not");
  executor.forget("o");
  await run([attempt("2")]);
  await executor.drained();
  t.equal(sent.length, 6, "nor does that of another object");
});

t.test(
  "attempts: a later one only after a refusal that it answers to, and what follows the one that succeeded",
  async (t) => {
    const attempts: Effect = {
      type: "attempts",
      attempts: [
        { effect: quiet("create", "a"), next: [say("First")] },
        { effect: quiet("patch", "b"), after: ["AlreadyExists", "NotFound"], next: [say("Second")] },
        { effect: quiet("delete", "c"), after: ["Invalid"], next: [say("Third")] },
        { effect: say("Blocked"), after: ["Forbidden"] },
      ],
    };
    for (const [answers, sent, events, ended] of [
      [{}, ["create a"], ["First"], undefined],
      [{ a: "AlreadyExists" }, ["create a", "patch b"], ["Second"], undefined],
      [{ a: "Invalid" }, ["create a", "delete c"], ["Third"], undefined],
      [{ a: "NotFound", b: "Invalid" }, ["create a", "patch b", "delete c"], ["Third"], undefined],
      [{ a: "Invalid", c: "Forbidden" }, ["create a", "delete c"], ["Blocked"], undefined],
      [{ a: "Timeout" }, ["create a"], [], "Timeout"],
      [{ a: "AlreadyExists", b: "Conflict" }, ["create a", "patch b"], [], "Conflict"],
    ] as const) {
      const s = scene(answers);
      t.equal(await s.run([attempts]), ended);
      t.same(s.sent, sent);
      t.same(
        s.events,
        events.map((reason) => `Normal ${reason} m`),
      );
    }
  },
);
