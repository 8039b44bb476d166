import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import t, { type Test } from "tap";
import { nullLog } from "../../kube/index.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { createStateStore, decodeState, encodeState, filesIn } from "./store.ts";

async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "refit-state-"));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

t.test("reads what it wrote; the latest content wins", async (t) => {
  const path = await folder(t);
  const store = createStateStore(filesIn(path), nullLog);
  t.equal(await store.read("images"), undefined);
  for (let value = 0; value < 20; value++) store.write("images", { value });
  await store.flush();
  t.same(await createStateStore(filesIn(path), nullLog).read("images"), { value: 19 });
});

t.test("a torn file is noticed and its predecessor is used", async (t) => {
  const path = await folder(t);
  const store = createStateStore(filesIn(path), nullLog);
  store.write("images", { value: "first" });
  await store.flush();
  store.write("images", { value: "second" });
  await store.flush();
  const file = join(path, "images.json");
  const whole = await readFile(file);
  for (const size of [0, 10, whole.length - 1]) {
    await writeFile(file, whole);
    await truncate(file, size);
    const log = testLog();
    t.same(await createStateStore(filesIn(path), log).read("images"), { value: "first" });
    t.equal(log.lines.length, 1);
  }
  await writeFile(file, whole);
  t.same(await createStateStore(filesIn(path), nullLog).read("images"), { value: "second" });
});

t.test("a crash between the two renames loses nothing", async (t) => {
  const path = await folder(t);
  await writeFile(join(path, "images.json.old"), encodeState('{"value":"kept"}'));
  t.same(await createStateStore(filesIn(path), nullLog).read("images"), { value: "kept" });
});

t.test("any damage of any byte is noticed", async (t) => {
  const whole = Buffer.from(encodeState('{"images":["a","b"]}'));
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ change;
      return !decodeState(damaged).ok;
    }),
    { seed: 20260101, numRuns: 1000 },
  );
  t.ok(decodeState(whole).ok);
});

t.test("a folder that cannot be written is logged, and the agent goes on", async (t) => {
  const path = await folder(t);
  await writeFile(join(path, "file"), "");
  const log = testLog();
  const store = createStateStore(filesIn(join(path, "file")), log);
  store.write("images", {});
  await store.flush();
  t.match(log.lines[0]?.message, /could not be saved/);
  t.throws(() => store.write("../etc", {}), TypeError);
});
