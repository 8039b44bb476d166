import t from "tap";
import type { Clock } from "../../kube/index.ts";
import { StatusWriter } from "./status_writer.ts";

const target = { key: "default/a", uid: "1" };

/** A writer whose patches end as told, at a time that stands still. */
function writer() {
  let elapsed = 0;
  const clock: Clock = {
    now: () => elapsed,
    monotonic: () => elapsed,
    after: () => ({ cancel: () => undefined }),
    sleep: async () => undefined,
  };
  const retries: number[] = [];
  const sent: object[] = [];
  let refuses = true;
  const status = new StatusWriter({
    clock,
    patch: async (_target, body) => {
      sent.push(body);
      if (refuses) throw new Error("refused");
    },
    failed: (_target, _error, retryAfterMs) => retries.push(retryAfterMs),
    written: () => undefined,
  });
  return {
    retries,
    sent,
    accept: () => {
      refuses = false;
    },
    pass: (ms: number) => {
      elapsed += ms;
    },
    /** Lets the write that was started end. */
    offer: async (after: object) => {
      const heldMs = status.offer(target, {}, after, 0, true);
      await new Promise((resolve) => setImmediate(resolve));
      return heldMs;
    },
  };
}

t.test("a status that is refused is tried again ever more seldom, whatever else happens", async (t) => {
  const { offer, pass, retries, sent } = writer();
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
  const { accept, offer, pass, retries, sent } = writer();
  await offer({ replicas: 1 });
  pass(5);
  accept();
  t.equal(await offer({ replicas: 1 }), undefined);
  t.equal(await offer({ replicas: 2 }), undefined);
  t.equal(sent.length, 3);
  t.strictSame(retries, [5]);
});

t.test("a status that turns back to the stored one while another is written is offered again", async (t) => {
  const frozen = { now: () => 0, monotonic: () => 0, sleep: async () => undefined };
  let answer = () => {};
  let written = 0;
  const status = new StatusWriter({
    clock: { ...frozen, after: () => ({ cancel: () => undefined }) },
    patch: () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      }),
    failed: () => undefined,
    written: () => written++,
  });
  const write = async (...offered: object[]): Promise<number> => {
    written = 0;
    for (const after of offered) status.offer(target, { readyReplicas: 4 }, after, 0, true);
    answer();
    await new Promise((resolve) => setImmediate(resolve));
    return written;
  };
  t.equal(await write({ readyReplicas: 3 }, { readyReplicas: 4 }), 1);
  t.equal(await write({ readyReplicas: 3 }, { readyReplicas: 2 }), 1);
  t.equal(await write({ readyReplicas: 3 }, { readyReplicas: 4 }, { readyReplicas: 3 }), 0);
});

t.test(
  "a few statuses of small workloads take turns with pods, others wait until pods are written",
  async (t) => {
    const frozen = { now: () => 0, monotonic: () => 0, sleep: async () => undefined };
    const priorities: string[] = [];
    const answers: (() => void)[] = [];
    const status = new StatusWriter({
      clock: { ...frozen, after: () => ({ cancel: () => undefined }) },
      patch: ({ key }, _body, priority) => {
        priorities.push(`${key} ${priority}`);
        return new Promise<void>((resolve) => answers.push(resolve));
      },
      failed: () => undefined,
      written: () => undefined,
    });
    const offer = (key: string, size: number) =>
      status.offer({ key, uid: key }, {}, { replicas: size }, size, false);
    offer("large", 101);
    for (const key of ["a", "b", "c"]) offer(key, 100);
    answers[1]?.();
    await new Promise((resolve) => setImmediate(resolve));
    offer("d", 1);
    t.same(priorities, ["large normal", "a high", "b high", "c normal", "d high"]);
  },
);
