import t from "tap";
import { nullLog } from "../kube/index.ts";
import { Tasks } from "./tasks.ts";

function tasksOf() {
  const counted: string[] = [];
  const metrics = { unexpectedError: (where: string) => counted.push(where) };
  return { counted, tasks: new Tasks({ log: nullLog, metrics, kind: "pull" }) };
}

/** Work that ends when it is stopped. */
function untilStopped(ended: () => void): (signal: AbortSignal) => Promise<void> {
  return (signal) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        ended();
        reject(signal.reason);
      });
    });
}

t.test("one task a key: another start stops the one before, and stopping ends all", async (t) => {
  const { counted, tasks } = tasksOf();
  const ended: string[] = [];
  for (const name of ["first", "second"])
    tasks.start(
      "a",
      untilStopped(() => ended.push(name)),
    );
  tasks.start(
    "b",
    untilStopped(() => ended.push("b")),
  );
  t.same(ended, ["first"]);
  tasks.stop("unknown");
  await tasks.stopAll();
  t.same(ended, ["first", "second", "b"]);
  t.same(counted, [], "what was stopped is not an error");
});

t.test("stopping waits for what was stopped before, too", async (t) => {
  const { tasks } = tasksOf();
  const work = Promise.withResolvers<void>();
  let isEnded = false;
  tasks.start("a", () => work.promise);
  tasks.stop("a");
  const stopped = tasks.stopAll().then(() => {
    isEnded = true;
  });
  await Promise.resolve();
  t.notOk(isEnded);
  work.resolve();
  await stopped;
  t.ok(isEnded);
});

t.test("an error that nothing expected is counted and leaves the others alone", async (t) => {
  const { counted, tasks } = tasksOf();
  let isStopped = false;
  tasks.start(
    "a",
    untilStopped(() => {
      isStopped = true;
    }),
  );
  tasks.start("b", async () => {
    throw new TypeError("a bug");
  });
  await new Promise(setImmediate);
  t.same(counted, ["pull"]);
  t.notOk(isStopped);
  await tasks.stopAll();
});
