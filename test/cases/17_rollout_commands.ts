import assert from "node:assert/strict";
import { cloneSet, imagePatch, strategyPatch } from "./manifests.ts";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const firstRevision = "sample-79c667d6cb";
const secondRevision = "sample-68b8b897b7";

export const suite: Suite = {
  number: "17",
  title: "Rollout commands",
  needs: [],
  async run(world) {
    await world.step("1 status and history", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "sample",
          replicas: 3,
          labels: { app: "sample" },
          metadata: { annotations: { "kubernetes.io/change-cause": "first image" } },
          strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
          // The default period: the revision's name depends on it.
          podSpec: { terminationGracePeriodSeconds: 30 },
        }),
      );
      await world.untilAll("sample", 3);
      const status = await command(world, "status");
      assert.equal(status.at(-1), "partitioned roll out complete: 3 new pods have been updated...");
      assert.deepEqual(await history(world), ["1 first image"]);
      assert.deepEqual(await revisions(world), [`${firstRevision} 1`]);
    });
    await world.step("2 status during a rollout", () => statusDuringRollout(world));
    await world.step("3 history", () => checkHistory(world));
    await world.step("4 undo", () => undo(world));
    await world.step("5 undo to a revision", () => undoTo(world));
    await world.step("6 pause and resume", () => pauseAndResume(world));
    await world.step("7 a deleted revision", () => deletedRevision(world));
    await world.step("8 an Advanced StatefulSet", () => advancedStatefulSet(world));
    await world.step("9 restart", () => restart(world));
    world.skip("10", "concerns stock kubectl alone");
  },
};

/** The rollout is held until the command watches: a slow machine would else see only its end. */
async function statusDuringRollout(world: World): Promise<void> {
  await world.patch("sample", "merge", strategyPatch(world.version, { paused: true }));
  await world.patch("sample", "json", [
    { op: "add", path: "/metadata/annotations/kubernetes.io~1change-cause", value: "second image" },
    ...imagePatch("nginx:1.21"),
  ]);
  const release = async () => {
    await world.patch("sample", "merge", strategyPatch(world.version, { paused: false }));
  };
  const { code, stdout, stderr } = await world.refitWhile(
    release,
    "rollout",
    "status",
    "cloneset/sample",
    "-w",
  );
  assert.equal(code, 0, stderr);
  const lines = stdout.trimEnd().split("\n");
  const waiting =
    /^(Waiting for partitioned roll out to finish: [0-2] out of 3 new pods have been updated\.\.\.|Waiting for CloneSet spec update to be observed\.\.\.)$/;
  assert.ok(lines.length >= 2, lines.join("\n"));
  for (const line of lines.slice(0, -1)) assert.match(line, waiting);
  assert.equal(lines.at(-1), "partitioned roll out complete: 3 new pods have been updated...");
}

async function command(world: World, verb: string, ...more: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await world.refit("rollout", verb, "cloneset/sample", ...more);
  assert.equal(code, 0, `rollout ${verb}: ${stdout}${stderr}`);
  return stdout.trimEnd().split("\n");
}

async function failing(world: World, verb: string, ...more: string[]): Promise<string> {
  const { code, stderr } = await world.refit("rollout", verb, "cloneset/sample", ...more);
  assert.notEqual(code, 0, `rollout ${verb} must fail`);
  return stderr.trim();
}

/** Rows of the history with single spaces. */
async function history(world: World): Promise<string[]> {
  const [title, header, ...rows] = await command(world, "history");
  assert.equal(title?.trim(), "cloneset.apps.kruise.io/sample");
  assert.match(header ?? "", /^REVISION {2}CHANGE-CAUSE$/);
  return rows.map((row) => row.trim().replace(/ +/g, " ")).filter((row) => row !== "");
}

async function revisions(world: World): Promise<string[]> {
  return (await world.list("controllerrevisions"))
    .map(({ metadata, revision }) => `${metadata.name} ${revision}`)
    .sort();
}

async function image(world: World): Promise<string | undefined> {
  return (await world.get("sample")).spec?.template?.spec?.containers?.[0]?.image;
}

async function checkHistory(world: World): Promise<void> {
  await world.untilAll("sample", 3);
  assert.deepEqual(await history(world), ["1 first image", "2 second image"]);
  const template = (await command(world, "history", "--revision=1")).join("\n");
  for (const part of [/app=sample/, /\bnginx:/, /nginx:1\.20/]) assert.match(template, part);
  assert.deepEqual(await revisions(world), [`${secondRevision} 2`, `${firstRevision} 1`]);
}

async function undo(world: World): Promise<void> {
  const before = await world.podsOf("sample");
  assert.deepEqual(await command(world, "undo"), ["cloneset.apps.kruise.io/sample rolled back"]);
  await command(world, "status");
  await world.untilAll("sample", 3);
  assert.equal(await image(world), "nginx:1.20");
  const after = await world.podsOf("sample");
  assert.deepEqual(
    after.map((pod) => pod.metadata.uid),
    before.map((pod) => pod.metadata.uid),
  );
  for (const pod of after) assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 2);
  assert.deepEqual((await history(world)).map(numberOf), ["2", "3"]);
  assert.equal((await world.get("sample")).status?.updateRevision, firstRevision);
  assert.deepEqual(await revisions(world), [`${secondRevision} 2`, `${firstRevision} 3`]);
}

function numberOf(row: string): string | undefined {
  return row.split(" ")[0];
}

async function undoTo(world: World): Promise<void> {
  const [line] = await command(world, "undo", "--to-revision=2");
  assert.match(line ?? "", /rolled back$/);
  await world.untilAll("sample", 3);
  assert.deepEqual((await history(world)).map(numberOf), ["3", "4"]);
  const again = await command(world, "undo", "--to-revision=4");
  assert.match(again.join("\n"), /skipped rollback \(current template already matches revision 4\)/);
}

async function pauseAndResume(world: World): Promise<void> {
  assert.deepEqual(await command(world, "pause"), ["cloneset.apps.kruise.io/sample paused"]);
  assert.match(await failing(world, "pause"), /is already paused$/);
  await world.patch("sample", "json", imagePatch("nginx:1.22"));
  await world.until("nothing is updated", async () => {
    const { status } = await world.get("sample");
    assert.equal(status?.updatedReplicas, 0);
    assert.notEqual(status?.currentRevision, status?.updateRevision);
  });
  assert.deepEqual(await command(world, "resume"), ["cloneset.apps.kruise.io/sample resumed"]);
  await world.untilAll("sample", 3);
  assert.match(await failing(world, "resume"), /is not paused$/);
}

async function deletedRevision(world: World): Promise<void> {
  const { status } = await world.get("sample");
  const unused = (await world.list("controllerrevisions")).find(
    ({ metadata }) => metadata.name !== status?.updateRevision && metadata.name !== status?.currentRevision,
  );
  if (unused === undefined) throw new Error("every revision is in use");
  await world.remove("controllerrevisions", unused.metadata.name);
  const gone = String(unused.revision);
  assert.ok(!(await history(world)).map(numberOf).includes(gone));
  const { generation } = (await world.get("sample")).metadata;
  const message = await failing(world, "undo", `--to-revision=${gone}`);
  assert.match(message, /unable to find specified revision \d+ in history/);
  assert.equal((await world.get("sample")).metadata.generation, generation);
}

async function advancedStatefulSet(world: World): Promise<void> {
  const sets = new Sets(world);
  const name = "statefulset.apps.kruise.io/web";
  const run = async (verb: string, release = async (): Promise<void> => undefined) => {
    const { code, stdout, stderr } = await world.refitWhile(release, "rollout", verb, name);
    assert.equal(code, 0, `rollout ${verb}: ${stdout}${stderr}`);
    return stdout.trimEnd().split("\n");
  };
  const podSpec = { terminationGracePeriodSeconds: 1 };
  await world.apply(
    statefulSet(world.version, { name: "web", replicas: 3, labels: { app: "nginx" }, podSpec }),
  );
  await sets.untilRow("web 3 3 3 3");
  await sets.patch("web", "merge", { spec: { updateStrategy: { rollingUpdate: { paused: true } } } });
  await sets.toImage("web", "nginx:1.21");
  const lines = await run("status", async () => {
    await sets.roll("web", { paused: false });
  });
  const waiting =
    /^(Waiting for partitioned roll out to finish:[0-2] out of 3 new pods has been updated\.\.\.|Waiting for [1-3] pods to be ready\.\.\.|Waiting for statefulset spec update to be observed\.\.\.)$/;
  for (const line of lines.slice(0, -1)) assert.match(line, waiting);
  const revision = (await sets.get("web")).status?.updateRevision;
  assert.equal(
    lines.at(-1),
    `Advanced StatefulSet rolling update complete 3 pods at revision ${revision}...`,
  );
  const rows = await run("history");
  assert.equal(rows.filter((row) => /^[12]\s/.test(row)).length, 2, rows.join("\n"));
  assert.deepEqual(await run("undo"), ["statefulset.apps.kruise.io/web rolled back"]);
  await run("status");
  assert.deepEqual(Object.values(await sets.images("web")), ["1.20", "1.20", "1.20"]);
  const paused = await world.refit("rollout", "pause", name);
  assert.notEqual(paused.code, 0);
  assert.match(paused.stderr, /pausing is not supported/);
}

async function restart(world: World): Promise<void> {
  const before = await world.podsOf("sample");
  assert.deepEqual(await command(world, "restart"), ["cloneset.apps.kruise.io/sample restarted"]);
  await world.until(
    "all replaced",
    async () => {
      const pods = await world.podsOf("sample");
      assert.equal(pods.length, 3);
      assert.ok(pods.every((pod) => !before.some((old) => old.metadata.uid === pod.metadata.uid)));
      for (const pod of pods) {
        const names = pod.spec?.containers?.[0]?.env?.map((entry) => entry.name);
        assert.ok(names?.includes("RESTARTED_AT"));
      }
      assert.equal(await world.row("sample"), "sample 3 3 3 3 3 3");
    },
    { timeoutMs: 180_000 },
  );
}
