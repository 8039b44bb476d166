import { fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startAllocations } from "./allocations.ts";
import { collectedHeapMb } from "./inspector.ts";
import { openFiles } from "./open_files.ts";

/** A process that answers, and the port of its inspector. */
async function startHolder(t: Test) {
  const holder = fork(join(import.meta.dirname, "../../testkit/bench/memory_holder.ts"), {
    execArgv: ["--inspect=127.0.0.1:0"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  t.teardown(() => holder.kill());
  const answer = async (question: string): Promise<string> => {
    const [[text]] = await Promise.all([once(holder, "message"), holder.send(question)]);
    return String(text);
  };
  return { answer, port: Number(new URL(await answer("where")).port) };
}

t.test("the heap after a collection grows by what is held, and not by what is not", async (t) => {
  const { answer, port } = await startHolder(t);
  const before = await collectedHeapMb(port);
  await answer("hold");
  const during = await collectedHeapMb(port);
  t.ok(during - before > 10, `${during - before} MB more are held`);
  await answer("drop");
  const after = await collectedHeapMb(port);
  t.ok(Math.abs(after - before) < 5, `${after - before} MB more are left`);
});

t.test(
  "what is allocated counts although it is dropped again, and what was allocated before does not",
  async (t) => {
    const { answer, port } = await startHolder(t);
    await answer("hold");
    const idle = await startAllocations(port);
    await answer("nothing");
    const { bytes: none } = await idle.stop();
    const busy = await startAllocations(port);
    for (let round = 0; round < 2; round++) {
      await answer("hold");
      await answer("drop");
    }
    await collectedHeapMb(port);
    const { bytes, profile } = await busy.stop();
    t.ok(none < 2_000_000, `${none} bytes while nothing is done`);
    // Two times four million numbers of eight bytes.
    t.ok(bytes > 60_000_000, `${bytes} bytes for what was held twice`);
    t.match(profile, "memory_holder.ts", "and where");
  },
);

t.test("a file that is left open is counted", async (t) => {
  const before = openFiles(process.pid);
  const left = openSync(import.meta.filename, "r");
  const more = openFiles(process.pid);
  closeSync(left);
  t.equal(more.files - before.files, 1);
  t.equal(more.handles - before.handles, 1);
  t.equal(openFiles(process.pid).files, before.files);
});
