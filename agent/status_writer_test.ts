import t from "tap";
import { KubeError } from "../kube/index.ts";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { testLog } from "../testkit/kube/fake_log.ts";
import { StatusWriter } from "./status_writer.ts";

interface Status {
  readonly done: number;
}

function writer() {
  const clock = testClock();
  const tries: number[] = [];
  let fault: KubeError | undefined;
  const statuses = new StatusWriter<Status>({
    clock,
    log: testLog(),
    perSecond: 100,
    async write(status) {
      tries.push(clock.monotonic());
      if (fault) throw fault;
      return status;
    },
  });
  return {
    clock,
    tries,
    statuses,
    fail: (error: KubeError | undefined) => {
      fault = error;
    },
  };
}

t.test("a status that waits for a server that is away is written within seconds of its return", async (t) => {
  const { clock, tries, statuses, fail } = writer();
  fail(new KubeError("Network", "connection refused"));
  statuses.offer({ done: 1 });
  await clock.advance(30 * 60_000);
  statuses.offer({ done: 2 });
  fail(new KubeError("Forbidden", "rights are not read yet", { status: 403 }));
  const before = tries.length;
  await clock.advance(5_500);
  t.ok(tries.length > before, "asked again");
  fail(undefined);
  const back = clock.monotonic();
  await clock.advance(2_000);
  const last = tries.at(-1) ?? 0;
  t.ok(last > back, `written ${last - back} ms after the server was back`);
  const written = tries.length;
  await clock.advance(60_000);
  t.equal(tries.length, written, "once");
  await statuses.stop();
});

t.test("a server that refuses is asked ever more rarely", async (t) => {
  const { clock, tries, statuses, fail } = writer();
  fail(new KubeError("TooManyRequests", "later", { status: 429 }));
  statuses.offer({ done: 1 });
  await clock.advance(300_000);
  const gaps = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  t.same(gaps.slice(0, 4), [500, 1000, 2000, 4000]);
  t.equal(gaps.at(-1), 50_000);
  await statuses.stop();
});

t.test("what others write while a status waits for its next try is taken into account", async (t) => {
  const clock = testClock();
  const bases: unknown[] = [];
  let away = true;
  const statuses = new StatusWriter<Status>({
    clock,
    log: testLog(),
    async write(status, before) {
      if (away) throw new KubeError("Network", "connection refused");
      bases.push(before);
      return status;
    },
  });
  statuses.observed({ done: 0 });
  statuses.offer({ done: 2 });
  await clock.advance(100);
  statuses.observed({ done: 1 });
  away = false;
  await clock.advance(5_000);
  t.same(bases, [{ done: 1 }]);
  await statuses.stop();
});
t.test(
  "writes wait in whole milliseconds: less than a clock can tell would be waited for without end",
  async (t) => {
    const clock = testClock();
    const waits: number[] = [];
    const statuses = new StatusWriter<Status>({
      clock: {
        ...clock,
        monotonic: () => clock.monotonic(),
        sleep: (ms, signal) => {
          waits.push(ms);
          return clock.sleep(ms, signal);
        },
      },
      log: testLog(),
      write: async (status) => status,
    });
    for (let done = 1; done <= 12; done++) {
      statuses.offer({ done });
      await clock.advance(700 / 3);
    }
    t.ok(waits.length > 0);
    t.same(
      waits.filter((ms) => !Number.isInteger(ms)),
      [],
    );
    await statuses.stop();
  },
);
