import { closeSync, openSync } from "node:fs";
import { close, open, url } from "node:inspector";
import t from "tap";
import { collectedHeapMb } from "./inspected_heap.ts";
import { openFiles } from "./open_files.ts";

const numbers = 4_000_000;

t.test("the heap after a collection grows by what is held, and not by what is not", async (t) => {
  open(0, "127.0.0.1");
  t.teardown(() => close());
  const port = Number(new URL(url() ?? "").port);
  const before = await collectedHeapMb(port);
  const held = new Map([["numbers", Array.from({ length: numbers }, () => 0.5)]]);
  const during = await collectedHeapMb(port);
  t.ok(during - before > 10, `${during - before} MB more are held`);
  held.clear();
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
