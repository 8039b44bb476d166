import { Writable } from "node:stream";
import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { createProgress } from "./progress.ts";

function output() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join("") };
}

t.test("plain lines without a terminal, and not too many", async (t) => {
  const clock = testClock();
  const { stream, text } = output();
  const progress = createProgress({ write: (line) => stream.write(line) }, stream, clock);
  progress.begin("create", 100);
  for (let done = 0; done < 100; done++) {
    clock.skip(100);
    progress.update(done);
  }
  progress.end();
  progress.end();
  t.same(text().split("\n"), [
    "create: 0/100",
    "create: 19/100",
    "create: 39/100",
    "create: 59/100",
    "create: 79/100",
    "create: 99/100",
    "create: 100/100",
    "",
  ]);
});

t.test("a bar on a terminal", async (t) => {
  const { stream, text } = output();
  const terminal = Object.assign(stream, {
    isTTY: true,
    columns: 90,
    cursorTo: () => true,
    moveCursor: () => true,
  });
  const progress = createProgress(terminal, terminal, testClock());
  progress.begin("rollout", 10);
  progress.update(5);
  progress.end();
  t.match(text(), /rollout +━+─+ {2}5\/10 {2}0\.0 s/);
});
