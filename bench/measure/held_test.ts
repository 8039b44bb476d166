import { fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { collectedHeapMb } from "./inspected_heap.ts";
import { openFiles } from "./open_files.ts";

t.test("the heap after a collection grows by what is held, and not by what is not", async (t) => {
  const holder = fork(join(import.meta.dirname, "../../testkit/bench/memory_holder.ts"), {
    execArgv: ["--inspect=127.0.0.1:0"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  t.teardown(() => holder.kill());
  const answer = async (question: string): Promise<string> => {
    const [[text]] = await Promise.all([once(holder, "message"), holder.send(question)]);
    return String(text);
  };
  const port = Number(new URL(await answer("where")).port);
  const before = await collectedHeapMb(port);
  await answer("hold");
  const during = await collectedHeapMb(port);
  t.ok(during - before > 10, `${during - before} MB more are held`);
  await answer("drop");
  const after = await collectedHeapMb(port);
  t.ok(Math.abs(after - before) < 5, `${after - before} MB more are left`);
});

t.test("a file that is left open is counted", async (t) => {
  const before = openFiles(process.pid);
  const left = openSync(import.meta.filename, "r");
  const more = openFiles(process.pid);
  closeSync(left);
  t.equal(more.files - before.files, 1);
  t.equal(more.handles - before.handles, 1);
  t.equal(openFiles(process.pid).files, before.files);
});
