import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { assertSays, nameOf, restartsOf, uidOf } from "./items.ts";
import { imagePatch } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { linesOf, type World } from "./world.ts";

const firstRevision = "sample-79c667d6cb";
const secondRevision = "sample-68b8b897b7";
const sampleName = "cloneset.apps.kruise.io/sample";
const complete = "partitioned roll out complete: 3 new pods have been updated...";

export const suite: Suite = {
  number: "17",
  title: "Rollout commands",
  needs: [],
  async run(world) {
    const sample = new CloneSet(world, "sample");
    await world.step("1 status and history", async () => {
      await sample.start({
        replicas: 3,
        labels: { app: "sample" },
        metadata: { annotations: { "kubernetes.io/change-cause": "first image" } },
        strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
        // The default period: the revision's name depends on it.
        podSpec: { terminationGracePeriodSeconds: 30 },
      });
      assert.equal((await command(world, "status")).at(-1), complete);
      assert.deepEqual(await history(world), ["1 first image"]);
      assert.deepEqual(await revisions(world), [`${firstRevision} 1`]);
    });
    await world.step("2 status during a rollout", () => statusDuringRollout(sample));
    await world.step("3 history", () => checkHistory(sample));
    await world.step("4 undo", () => undo(sample));
    await world.step("5 undo to a revision", () => undoTo(sample));
    await world.step("6 pause and resume", () => pauseAndResume(sample));
    await world.step("7 a deleted revision", () => deletedRevision(sample));
    await world.step("8 an Advanced StatefulSet", () => advancedStatefulSet(world));
    await world.step("9 restart", () => restart(sample));
    world.skip("10", "concerns stock kubectl alone");
  },
};

/** The rollout is held until the command watches: a slow machine would else see only its end. */
async function statusDuringRollout(sample: CloneSet): Promise<void> {
  await sample.strategy({ paused: true });
  await sample.patch("json", [
    { op: "add", path: "/metadata/annotations/kubernetes.io~1change-cause", value: "second image" },
    ...imagePatch("nginx:1.21"),
  ]);
  const words = ["rollout", "status", "cloneset/sample", "-w"];
  const release = async () => void (await sample.strategy({ paused: false }));
  const lines = linesOf(words, await sample.world.refitWhile(release, ...words));
  const waiting =
    /^(Waiting for partitioned roll out to finish: [0-2] out of 3 new pods have been updated\.\.\.|Waiting for CloneSet spec update to be observed\.\.\.)$/;
  assert.ok(lines.length >= 2, lines.join("\n"));
  for (const line of lines.slice(0, -1)) assert.match(line, waiting);
  assert.equal(lines.at(-1), complete);
}

function command(world: World, verb: string, ...more: string[]): Promise<string[]> {
  return world.refitLines("rollout", verb, "cloneset/sample", ...more);
}

function failing(world: World, verb: string, ...more: string[]): Promise<string> {
  return world.refitError("rollout", verb, "cloneset/sample", ...more);
}

/** Numbers and causes of the history; each revision has its image. */
async function history(world: World): Promise<string[]> {
  const [title, header, ...rows] = await command(world, "history");
  assert.equal(title?.trim(), sampleName);
  assert.match(header ?? "", /^REVISION {2}CHANGE-CAUSE +IMAGES$/);
  return rows
    .filter((row) => row !== "")
    .map((row) => {
      const [number, cause, image] = row.trim().split(/ {2,}/);
      assert.match(image ?? "", /^nginx:1\.\d+$/);
      return `${number} ${cause}`;
    });
}

async function numbersOfHistory(world: World): Promise<(string | undefined)[]> {
  return (await history(world)).map((row) => row.split(" ")[0]);
}

async function revisions(world: World): Promise<string[]> {
  return (await world.revisions()).map(({ metadata, revision }) => `${metadata.name} ${revision}`).sort();
}

async function checkHistory(sample: CloneSet): Promise<void> {
  const { world } = sample;
  await sample.untilAll(3);
  assert.deepEqual(await history(world), ["1 first image", "2 second image"]);
  const template = (await command(world, "history", "--revision=1")).join("\n");
  assertSays(template, "app=sample", /\bnginx:/, "nginx:1.20");
  assert.deepEqual(await revisions(world), [`${secondRevision} 2`, `${firstRevision} 1`]);
}

async function undo(sample: CloneSet): Promise<void> {
  const { world } = sample;
  const before = await sample.pods();
  assert.deepEqual(await command(world, "undo"), [`${sampleName} rolled back`]);
  await command(world, "status");
  await sample.untilAll(3);
  assert.equal((await sample.get()).spec?.template?.spec?.containers?.[0]?.image, "nginx:1.20");
  const after = await sample.pods();
  assert.deepEqual(after.map(uidOf), before.map(uidOf));
  assert.deepEqual(after.map(restartsOf), [2, 2, 2]);
  assert.deepEqual(await numbersOfHistory(world), ["2", "3"]);
  assert.equal((await sample.status()).updateRevision, firstRevision);
  assert.deepEqual(await revisions(world), [`${secondRevision} 2`, `${firstRevision} 3`]);
}

async function undoTo(sample: CloneSet): Promise<void> {
  const { world } = sample;
  const [line] = await command(world, "undo", "--to-revision=2");
  assert.match(line ?? "", /rolled back$/);
  await sample.untilAll(3);
  assert.deepEqual(await numbersOfHistory(world), ["3", "4"]);
  const again = await command(world, "undo", "--to-revision=4");
  assertSays(again.join("\n"), "skipped rollback (current template already matches revision 4)");
}

async function pauseAndResume(sample: CloneSet): Promise<void> {
  const { world } = sample;
  assert.deepEqual(await command(world, "pause"), [`${sampleName} paused`]);
  assert.match(await failing(world, "pause"), /is already paused$/);
  await sample.toImage("nginx:1.22");
  await world.until("nothing is updated", async () => {
    const { updatedReplicas, currentRevision, updateRevision } = await sample.status();
    assert.equal(updatedReplicas, 0);
    assert.notEqual(currentRevision, updateRevision);
  });
  assert.deepEqual(await command(world, "resume"), [`${sampleName} resumed`]);
  await sample.untilAll(3);
  assert.match(await failing(world, "resume"), /is not paused$/);
}

async function deletedRevision(sample: CloneSet): Promise<void> {
  const { world } = sample;
  const { updateRevision, currentRevision } = await sample.status();
  const used = [updateRevision, currentRevision];
  const unused = (await world.revisions()).find((revision) => !used.includes(nameOf(revision)));
  if (unused === undefined) throw new Error("every revision is in use");
  await world.remove("controllerrevisions", nameOf(unused));
  const gone = String(unused.revision);
  assert.ok(!(await numbersOfHistory(world)).includes(gone));
  const { generation } = (await sample.get()).metadata;
  const message = await failing(world, "undo", `--to-revision=${gone}`);
  assert.match(message, /unable to find specified revision \d+ in history/);
  assert.equal((await sample.get()).metadata.generation, generation);
}

async function advancedStatefulSet(world: World): Promise<void> {
  const web = new StatefulSet(world, "web");
  const name = "statefulset.apps.kruise.io/web";
  const podSpec = { terminationGracePeriodSeconds: 1 };
  await web.start({ replicas: 3, labels: { app: "nginx" }, podSpec });
  await web.roll({ paused: true });
  await web.toImage("nginx:1.21");
  const words = ["rollout", "status", name];
  const release = async () => void (await web.roll({ paused: false }));
  const lines = linesOf(words, await world.refitWhile(release, ...words));
  const waiting =
    /^(Waiting for partitioned roll out to finish:[0-2] out of 3 new pods has been updated\.\.\.|Waiting for [1-3] pods to be ready\.\.\.|Waiting for statefulset spec update to be observed\.\.\.)$/;
  for (const line of lines.slice(0, -1)) assert.match(line, waiting);
  const { updateRevision } = await web.status();
  assert.equal(
    lines.at(-1),
    `Advanced StatefulSet rolling update complete 3 pods at revision ${updateRevision}...`,
  );
  const rows = await world.refitLines("rollout", "history", name);
  assert.equal(rows.filter((row) => /^[12]\s/.test(row)).length, 2, rows.join("\n"));
  assert.deepEqual(await world.refitLines("rollout", "undo", name), [`${name} rolled back`]);
  await world.refitLines("rollout", "status", name);
  assert.deepEqual(Object.values(await web.tags()), ["1.20", "1.20", "1.20"]);
  assert.deepEqual(await world.refitLines("rollout", "pause", name), [`${name} paused`]);
  assert.match(await world.refitError("rollout", "pause", name), /is already paused$/);
  const { updateStrategy } = (await web.get()).spec ?? {};
  assert.partialDeepStrictEqual(updateStrategy, { rollingUpdate: { paused: true } });
  assert.deepEqual(await world.refitLines("rollout", "resume", name), [`${name} resumed`]);
}

async function restart(sample: CloneSet): Promise<void> {
  const before = await sample.pods();
  assert.deepEqual(await command(sample.world, "restart"), [`${sampleName} restarted`]);
  await sample.untilReplaced(before, { timeoutMs: 180_000 });
  for (const pod of await sample.pods()) {
    const names = pod.spec?.containers?.[0]?.env?.map((entry) => entry.name);
    assert.ok(names?.includes("RESTARTED_AT"));
  }
}
