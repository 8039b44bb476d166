import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import {
  eventually,
  pullTask,
  reached,
  readText,
  startFake,
  startNode,
  tagStatus,
  wantImages,
} from "./fixture.ts";

const id = (letter: string): string => `sha256:${letter.repeat(64)}`;

t.test("killed in the middle of a pull: it resumes, and repeats nothing that was done", async (t) => {
  const under = await startNode(t);
  const { runtime } = await startFake(t, under);
  runtime.registry.set("quick:1", { id: id("a") });
  runtime.registry.set("slow:1", { id: id("b"), pullMs: 60_000 });
  await under.agent.start();
  await wantImages(under.api, { quick: { tags: [pullTask("1")] }, slow: { tags: [pullTask("1")] } });
  await reached(under.api, "quick", "1", "Succeeded");
  await reached(under.api, "slow", "1", "Pulling");
  await under.agent.kill();
  const before = runtime.pulls.map(({ image }) => image?.image);
  t.same(before.toSorted(), ["quick:1", "slow:1"]);
  runtime.registry.set("slow:1", { id: id("b") });
  await under.agent.start();
  await reached(under.api, "slow", "1", "Succeeded");
  t.equal((await tagStatus(under.api, "quick", "1"))?.imageID, `quick@${id("a")}`);
  t.same(
    runtime.pulls.slice(before.length).map(({ image }) => image?.image),
    ["slow:1"],
    "what was finished is not pulled again",
  );
});

t.test("the API server goes away: pulls go on, and their results are reported when it is back", async (t) => {
  const under = await startNode(t);
  const { runtime } = await startFake(t, under);
  runtime.registry.set("during:1", { id: id("c"), pullMs: 500 });
  await under.agent.start();
  await wantImages(under.api, { during: { tags: [pullTask("1")] } });
  await reached(under.api, "during", "1", "Pulling");
  await under.gate.shut();
  await eventually("the image is there", async () => runtime.images.has(id("c")));
  t.equal((await under.agent.get("/healthz")).status, 200);
  t.equal((await tagStatus(under.api, "during", "1"))?.phase, "Pulling", "nobody could tell yet");
  await under.gate.open();
  await reached(under.api, "during", "1", "Succeeded");
  t.equal(runtime.pulls.length, 1);
});

t.test(
  "killed without a way to the API server: the result on disk is reported by the next agent",
  async (t) => {
    const under = await startNode(t);
    const { runtime } = await startFake(t, under);
    runtime.registry.set("offline:1", { id: id("d"), pullMs: 500 });
    await under.agent.start();
    await wantImages(under.api, { offline: { tags: [pullTask("1")] } });
    await reached(under.api, "offline", "1", "Pulling");
    await under.gate.shut();
    await eventually("the result is on disk", async () =>
      readText(join(under.stateFolder, "images.json")).includes('"Succeeded"'),
    );
    await under.agent.kill();
    await under.gate.open();
    await under.agent.start();
    await reached(under.api, "offline", "1", "Succeeded");
    t.equal(runtime.pulls.length, 1, "pulled once in all");
  },
);

t.test("torn and foreign state files are passed over", async (t) => {
  const under = await startNode(t);
  const { runtime } = await startFake(t, under);
  runtime.registry.set("kept:1", { id: id("e") });
  await under.agent.start();
  await wantImages(under.api, { kept: { tags: [pullTask("1")] } });
  await reached(under.api, "kept", "1", "Succeeded");
  await eventually("saved", async () => readText(join(under.stateFolder, "images.json")).includes("kept"));
  await under.agent.kill();
  truncateSync(join(under.stateFolder, "images.json"), 40);
  writeFileSync(join(under.stateFolder, "node_image.json"), "\u0000\uffff{{{");
  writeFileSync(join(under.stateFolder, "restarts.json"), '{"no":"header"}');
  await under.agent.start();
  await under.agent.ready();
  t.equal((await tagStatus(under.api, "kept", "1"))?.phase, "Succeeded", "its status is not lost");
  t.equal(runtime.pulls.length, 1);
  t.match(under.agent.log, /a saved state is not used/);
});

t.test("hostile references fail alone, and so do entries that are not what they should be", async (t) => {
  const under = await startNode(t, { unchecked: true });
  const { runtime } = await startFake(t, under);
  runtime.registry.set("good:1", { id: id("f") });
  await under.agent.start();
  const hostile = [
    "../../etc/passwd",
    "$(reboot)",
    "-rf",
    "a\u0000b",
    "UPPER/Case",
    "x".repeat(4096),
    "[::1",
  ];
  await wantImages(under.api, {
    ...Object.fromEntries(hostile.map((name) => [name, { tags: [pullTask("1")] }])),
    nothing: null,
    text: "tags",
    number: { tags: 7 },
    entries: { tags: [null, 1, "one", {}, { tag: 5 }, { tag: "1", version: "no", pullPolicy: [] }] },
    policy: { tags: [pullTask("1", { pullPolicy: { timeoutSeconds: "soon", backoffLimit: {} } })] },
    good: { tags: [pullTask("1")], pullSecrets: "none", sandboxConfig: 3 },
  });
  await reached(under.api, "good", "1", "Succeeded");
  for (const name of hostile) {
    await eventually(`${name.slice(0, 20)} has failed`, async () => {
      const status = await tagStatus(under.api, name, "1");
      return status?.phase === "Failed" && status.message !== "";
    });
  }
  t.equal(under.agent.exitCode(), undefined, "the agent lives");
  await under.agent.ready();
});

t.test("a runtime that accepts and never answers, then one that works", async (t) => {
  const under = await startNode(t);
  const fake = await startFake(t, under);
  fake.faults.set("Version", { kind: "hang" });
  await under.agent.start();
  await eventually("not ready, with a reason", async () => {
    const { status, text } = await under.agent.get("/readyz");
    return status === 503 && text.includes("Version: rpc error: code = DeadlineExceeded");
  });
  t.equal((await under.agent.get("/healthz")).status, 200);
  fake.faults.clear();
  await under.agent.ready();
  fake.runtime.registry.set("after:1", { id: id("9") });
  await wantImages(under.api, { after: { tags: [pullTask("1")] } });
  await reached(under.api, "after", "1", "Succeeded");
  t.equal(fake.runtime.pulls.length, 1);
});

const mayMount = process.platform === "linux" && process.getuid?.() === 0;

t.test("a full disk below the state folder", { skip: mayMount ? false : "needs root" }, async (t) => {
  const disk = mkdtempSync(join(tmpdir(), "refit-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
  const stateFolder = join(disk, "state");
  mkdirSync(stateFolder);
  const under = await startNode(t, { stateFolder });
  t.teardown(() => {
    execFileSync("umount", ["--lazy", disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  const { runtime } = await startFake(t, under);
  for (const name of ["one", "two"]) runtime.registry.set(`${name}:1`, { id: id("7") });
  await under.agent.start();
  await under.agent.ready();
  fill(join(disk, "ballast"));
  await wantImages(under.api, { one: { tags: [pullTask("1")] } });
  await reached(under.api, "one", "1", "Succeeded");
  await eventually("it is said", async () => under.agent.log.includes("could not be saved"));
  t.match(under.agent.log, /ENOSPC/);
  rmSync(join(disk, "ballast"));
  await wantImages(under.api, { one: { tags: [pullTask("1")] }, two: { tags: [pullTask("1")] } });
  await reached(under.api, "two", "1", "Succeeded");
  await eventually("saved again", async () => readText(join(stateFolder, "images.json")).includes("two"));
  await under.agent.kill();
  await under.agent.start();
  await under.agent.ready();
  t.equal(runtime.pulls.length, 2);
});

/** Takes the last byte. */
function fill(path: string): void {
  for (const size of [65_536, 4096, 1]) {
    try {
      for (;;) writeFileSync(path, "x".repeat(size), { flag: "a" });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
}
