import t from "tap";
import { type Client, KubeError } from "../../kube/index.ts";
import { kindDeps } from "../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { cloneSetResource } from "../plan/resources.ts";
import { StatusWriter } from "./status_writer.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A writer of objects `a`, `b`, … at a time that stands still; `answer` is what becomes of a patch, for which there is a place in the
 * window at once, or after `turn`.
 */
function scene(
  answer: (name: string, priority: string, body: object) => Promise<void>,
  turn?: () => Promise<void>,
) {
  const clock = testClock();
  const queued: number[] = [];
  const client: Client = {
    ...fakeServer().client,
    patch: async (resource, { name }, patch, options = {}) => {
      if (turn !== undefined) await turn();
      if (options.isWanted?.() === false) throw new KubeError("Aborted", "not wanted", {});
      await answer(name, options.priority ?? "", options.bodyWhenSent?.() ?? Object(patch.body));
      const metadata = { namespace: "ns", name, uid: name, resourceVersion: "1" };
      return resource.codec.decode(Buffer.from(JSON.stringify({ metadata })), "application/json");
    },
  };
  const deps = kindDeps(cloneSetResource, client, clock);
  const queue = { addAfter: (_key: string, ms: number) => queued.push(ms) };
  const spec = { selector: {}, template: { spec: { containers: [] } } };
  for (const name of ["large", "a", "b", "c", "d"])
    deps.objects.upsert({ metadata: { namespace: "ns", name, uid: name, resourceVersion: "1" }, spec });
  const status = new StatusWriter({ ...deps, queue }, () => 0);
  return {
    queued,
    objects: deps.objects,
    unstored: (name: string) => status.unstored(name),
    pass: (ms: number) => clock.skip(ms),
    offer: (name: string, before: object, after: object, size = 0, important = true, isExact = false) =>
      status.offer(
        { key: `ns/${name}`, uid: name, resourceVersion: "7", isExact },
        before,
        after,
        size,
        important,
      ),
  };
}

/** Writes that are refused until they are accepted. */
function refusing() {
  let refuses = true;
  const sent: string[] = [];
  const writer = scene(async (name) => {
    sent.push(name);
    if (refuses) throw new Error("refused");
  });
  return {
    ...writer,
    sent,
    accept: () => {
      refuses = false;
    },
    /** Lets the write that was started end. */
    offer: async (after: object) => {
      const heldMs = writer.offer("a", {}, after);
      await settled();
      return heldMs;
    },
  };
}

t.test("a workload that the server says is gone is there no more, before a watch tells of it", async (t) => {
  const { offer, objects } = scene(async (name) => {
    const about = { kind: "clonesets", name: name === "a" ? "a" : "another" };
    throw new KubeError("NotFound", "not found", { about });
  });
  for (const name of ["a", "b"]) offer(name, {}, { replicas: 1 });
  await settled();
  t.same(
    ["ns/a", "ns/b"].map((key) => objects.get(key)?.metadata.name),
    [undefined, "b"],
  );
});

t.test(
  "only an exact status, and the end of a job, names the version that it was worked out of",
  async (t) => {
    const sent: object[] = [];
    const { offer, queued } = scene(async (_name, _priority, body) => {
      sent.push(body);
      if ("metadata" in body) throw new KubeError("Conflict", "another version", {});
    });
    const completionTime = "2026-01-01T00:00:00Z";
    offer("a", {}, { desired: 1 });
    offer("b", {}, { desired: 1, completionTime });
    offer("c", { desired: 2, completionTime }, { desired: 1, completionTime });
    offer("d", {}, { desired: 1 }, 0, true, true);
    await settled();
    t.same(sent, [
      { status: { desired: 1 } },
      { metadata: { resourceVersion: "7" }, status: { desired: 1, completionTime } },
      { status: { desired: 1 } },
      { metadata: { resourceVersion: "7" }, status: { desired: 1 } },
    ]);
    t.same(queued, [5, 5], "what was changed meanwhile is looked at soon");
  },
);

t.test("what was offered last is told until it is stored, however it is written", async (t) => {
  const answers = [
    () => {
      throw new Error("refused");
    },
    () => undefined,
    () => undefined,
  ];
  const { offer, unstored, pass } = scene(async () => answers.shift()?.());
  const [one, two] = [{ replicas: 1 }, { replicas: 2 }];
  t.equal(unstored("a"), undefined);
  offer("a", {}, one);
  t.same(unstored("a"), one, "it is being written");
  await settled();
  t.same(unstored("a"), one, "it was refused");
  t.equal(offer("a", {}, two), 5);
  t.same(unstored("a"), two, "it is held back");
  pass(25);
  offer("a", {}, two);
  offer("a", {}, one);
  await settled();
  t.same(unstored("a"), one, "another one was offered while it was written");
  offer("a", one, one);
  t.equal(unstored("a"), undefined, "it is there");
  pass(25);
  offer("a", one, two);
  await settled();
  t.equal(unstored("a"), undefined, "it is stored");
});

t.test("a status that is refused is tried again ever more seldom, whatever else happens", async (t) => {
  const { offer, pass, queued: retries, sent } = refusing();
  for (let round = 0; round < 20; round++) {
    t.equal(await offer({ replicas: round }), undefined);
    t.equal(await offer({ replicas: round + 1 }), retries.at(-1), "held back, also when it is another one");
    t.equal(sent.length, round + 1);
    pass(retries.at(-1) ?? 0);
  }
  t.strictSame(retries.slice(0, 4), [5, 10, 20, 40]);
  t.equal(retries.at(-1), 30_000);
});

t.test("after a write that went well the next failure waits shortly again", async (t) => {
  const { accept, offer, pass, queued, sent } = refusing();
  await offer({ replicas: 1 });
  pass(5);
  accept();
  t.equal(await offer({ replicas: 1 }), undefined);
  t.equal(await offer({ replicas: 2 }), undefined);
  t.equal(sent.length, 3);
  t.strictSame(queued, [5]);
});

t.test("a status that turns back to the stored one while another is written is offered again", async (t) => {
  const answers: (() => void)[] = [];
  const { offer, queued } = scene(() => new Promise((resolve) => answers.push(resolve)));
  const write = async (...offered: object[]): Promise<number> => {
    queued.length = 0;
    for (const after of offered) offer("a", { readyReplicas: 4 }, after);
    answers.at(-1)?.();
    await settled();
    return queued.length;
  };
  t.equal(await write({ readyReplicas: 3 }, { readyReplicas: 4 }), 1);
  t.equal(await write({ readyReplicas: 3 }, { readyReplicas: 2 }), 1);
  t.equal(await write({ readyReplicas: 3 }, { readyReplicas: 4 }, { readyReplicas: 3 }), 0);
});

t.test("the newest status is sent, however long its write has waited for its turn", async (t) => {
  const turns: (() => void)[] = [];
  const sent: object[] = [];
  const { offer, queued } = scene(
    async (_name, _priority, body) => void sent.push(body),
    () => new Promise((resolve) => turns.push(resolve)),
  );
  const write = async (...offered: object[]): Promise<object[]> => {
    for (const after of offered) offer("a", { readyReplicas: 4 }, after);
    turns.at(-1)?.();
    await settled();
    return sent.splice(0);
  };
  t.same(await write({ readyReplicas: 1 }, { readyReplicas: 2 }, { readyReplicas: 3 }), [
    { status: { readyReplicas: 3 } },
  ]);
  t.same(await write({ readyReplicas: 3 }, { readyReplicas: 4 }), [], "it is as it should be again");
  t.same(await write({ readyReplicas: 3 }), [{ status: { readyReplicas: 3 } }], "that is no failure");
  t.same(queued, []);
});

t.test(
  "a few statuses of small workloads take turns with pods, others wait until pods are written",
  async (t) => {
    const priorities: string[] = [];
    const answers: (() => void)[] = [];
    const { offer } = scene((name, priority) => {
      priorities.push(`${name} ${priority}`);
      return new Promise((resolve) => answers.push(resolve));
    });
    const write = (key: string, size: number) => offer(key, {}, { replicas: size }, size, false);
    write("large", 101);
    for (const key of ["a", "b", "c"]) write(key, 100);
    answers[1]?.();
    await settled();
    write("d", 1);
    t.same(priorities, ["large normal", "a high", "b high", "c normal", "d high"]);
  },
);

t.test("the status of an object that is gone, or has another in its place, is not written", async (t) => {
  const sent: string[] = [];
  const { offer } = scene(async (name) => void sent.push(name));
  offer("gone", {}, { replicas: 1 });
  offer("a", {}, { replicas: 1 });
  await settled();
  t.same(sent, ["a"]);
});
