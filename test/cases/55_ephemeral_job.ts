import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { Handle } from "./handle.ts";
import { records, restartsOf, uidOf } from "./items.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const jobs = "ephemeraljobs.v1alpha1.apps.kruise.io";

export const suite: Suite = {
  number: "55",
  title: "EphemeralJob: a debugging container in running pods",
  needs: [],
  versions: ["v1alpha1"],
  async run(world) {
    const clone = new CloneSet(world, "patient");
    await world.step("1 one pod after the other, nothing else is disturbed", () => looks(clone));
    await world.step("3 containers that fail", () => fails(world));
    await world.step("4 nothing fills in a pull policy", () => refusal(world));
    await world.step("5 a name is given once; a paused job gives none", () => namesAndPause(clone));
    await world.step("6 a restart of the main container leaves them alone", () => restarts(clone));
    await world.step("2 the finished job goes, the containers stay listed", () => goes(clone));
    await world.step("7 a deadline ends a job, replicas bound it", () => bounded(world));
  },
};

function jobOf(world: World, name: string): Handle {
  return new Handle(world, "EphemeralJob", name);
}

/** Creates a job that debugs the pods with a container of its name. */
function debug(
  world: World,
  name: string,
  command: string[],
  spec: object = {},
  more: object = {},
): Promise<Item> {
  const added = {
    name,
    image: "busybox:1.33",
    imagePullPolicy: "IfNotPresent",
    terminationMessagePolicy: "File",
    command,
    ...more,
  };
  return jobOf(world, name).apply({
    selector: { matchLabels: { case: "patient" } },
    template: { ephemeralContainers: [added] },
    ...spec,
  });
}

function untilRow(world: World, expected: string): Promise<void> {
  const [name = "", ...row] = expected.split(" ");
  return jobOf(world, name).untilPrinted(row.join(" "), { timeoutMs: 90_000, stableMs: 0 });
}

async function looks(clone: CloneSet): Promise<void> {
  const { world } = clone;
  const containers = [container("main", "nginx:1.20")];
  const strategy = { policy: "InPlaceIfPossible" } as const;
  await clone.create({ replicas: 3, containers, strategy });
  const before = (await clone.untilAll(3)).map(mainOf);
  const trail = await world.trail(jobs);
  const ttlSecondsAfterFinished = world.seconds(60, 12);
  const made = await debug(world, "look", ["sleep", "3"], { parallelism: 1, ttlSecondsAfterFinished });
  await untilRow(world, "look Succeeded 3 3 0 0 0");
  const columns = "NAME STATUS MATCH SUCCEED FAILED RUNNING WAITING AGE";
  assert.equal(await jobOf(world, "look").columns(), columns);
  for (const { object } of await trail.stop()) {
    const { running = 0, waiting = 0 } = { ...object.status };
    assert.ok(Number(running) + Number(waiting) <= 1, `running ${running}, waiting ${waiting}`);
  }
  const pods = await clone.livePods();
  assert.deepEqual(pods.map(mainOf), before);
  for (const pod of pods) {
    const [added] = ephemeral(pod);
    assert.equal(added?.name, "look");
    assert.deepEqual(added?.env, [{ name: "KRUISE_EJOB_ID", value: made.metadata.uid }]);
    assert.equal(added?.exitCode, 0);
  }
  const { metadata, status } = await jobOf(world, "look").get();
  assert.deepEqual(metadata.finalizers, ["apps.kruise.io/ephemeralcontainers-cleanup"]);
  assert.ok(String(status?.["startTime"]) <= String(status?.["completionTime"]));
}

async function goes(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await jobOf(world, "look").untilGone({ timeoutMs: 90_000, stableMs: 0 });
  for (const pod of await clone.livePods()) {
    assert.deepEqual(
      ephemeral(pod).map(({ name }) => name),
      ["bad", "look"],
    );
  }
}

async function fails(world: World): Promise<void> {
  await debug(world, "bad", ["false"], { parallelism: 3 });
  await untilRow(world, "bad Failed 3 0 3 0 0");
  const failed = await jobOf(world, "bad").condition("JobFailed");
  assert.equal(failed?.message, "job failed to run all tasks");
}

async function refusal(world: World): Promise<void> {
  const send = () => debug(world, "no-policy", ["true"], {}, { imagePullPolicy: undefined });
  await world.refuses(400, send, "ephemeralContainers[0].imagePullPolicy: Required value");
}

async function namesAndPause(clone: CloneSet): Promise<void> {
  const { world } = clone;
  await debug(world, "look-2", ["sleep", "3"], {}, { name: "look" });
  await untilRow(world, "look-2 Waiting 0 0 0 0 0");
  const empty = await jobOf(world, "look-2").condition("MatchedEmpty");
  assert.equal(empty?.message, "job match no pods");
  await debug(world, "look-3", ["sleep", "3"], { paused: true });
  await untilRow(world, "look-3 Paused 3 0 0 0 0");
  await world.stays(async () => {
    for (const pod of await clone.livePods()) {
      assert.ok(!ephemeral(pod).some(({ name }) => name === "look-3"));
    }
  });
  await jobOf(world, "look-3").remove();
  await jobOf(world, "look-3").untilGone();
}

async function restarts(clone: CloneSet): Promise<void> {
  const before = await clone.livePods();
  await clone.toImage("nginx:1.21");
  await clone.untilUpdated(3, "nginx:1.21");
  const after = await clone.livePods();
  assert.deepEqual(after.map(uidOf), before.map(uidOf));
  assert.deepEqual(after.map(restartsOf), [1, 1, 1]);
  assert.deepEqual(
    after.map((pod) => ephemeral(pod).map(({ id }) => id)),
    before.map((pod) => ephemeral(pod).map(({ id }) => id)),
  );
}

async function bounded(world: World): Promise<void> {
  await debug(world, "two", ["sleep", "1"], { replicas: 2, parallelism: 2, ttlSecondsAfterFinished: 15 });
  await untilRow(world, "two Succeeded 2 2 0 0 0");
  await debug(world, "endless", ["sleep", "9999"], { parallelism: 3, activeDeadlineSeconds: 12 });
  await untilRow(world, "endless Failed 3 0 0 3 0");
  const failed = await jobOf(world, "endless").condition("JobFailed");
  assert.equal(failed?.reason, "DeadlineExceeded");
  await jobOf(world, "two").untilGone();
}

function mainOf(pod: Item): string {
  const main = pod.status?.containerStatuses?.[0];
  return [pod.metadata.uid, main?.containerID, main?.restartCount].join(" ");
}

interface Added {
  readonly name: string;
  readonly env: unknown;
  readonly id: string;
  readonly exitCode: unknown;
}

function ephemeral(pod: Item): Added[] {
  const states = new Map(
    records(pod.status?.["ephemeralContainerStatuses"]).map((status) => [status["name"], status]),
  );
  const added = records(pod.spec?.["ephemeralContainers"]).map(({ name, env }) => {
    const status = states.get(name);
    const state = isRecord(status?.["state"]) ? status["state"] : {};
    const terminated = isRecord(state["terminated"]) ? state["terminated"] : {};
    const { exitCode } = terminated;
    return { name: String(name), env, id: String(status?.["containerID"] ?? ""), exitCode };
  });
  return added.sort((a, b) => (a.name < b.name ? -1 : 1));
}
