import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { cloneSet, container, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const jobs = "ephemeraljobs.v1alpha1.apps.kruise.io";

export const suite: Suite = {
  number: "55",
  title: "EphemeralJob: a debugging container in running pods",
  needs: [],
  versions: ["v1alpha1"],
  async run(world) {
    await world.step("1 one pod after the other, nothing else is disturbed", () => looks(world));
    await world.step("3 containers that fail", () => fails(world));
    await world.step("4 nothing fills in a pull policy", () => refusal(world));
    await world.step("5 a name is given once; a paused job gives none", () => namesAndPause(world));
    await world.step("6 a restart of the main container leaves them alone", () => restarts(world));
    await world.step("2 the finished job goes, the containers stay listed", () => goes(world));
    await world.step("7 a deadline ends a job, replicas bound it", () => bounded(world));
  },
};

function job(name: string, command: string[], spec: object = {}, more: object = {}): object {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "EphemeralJob",
    metadata: { name },
    spec: {
      selector: { matchLabels: { case: "patient" } },
      template: {
        ephemeralContainers: [
          {
            name,
            image: "busybox:1.33",
            imagePullPolicy: "IfNotPresent",
            terminationMessagePolicy: "File",
            command,
            ...more,
          },
        ],
      },
      ...spec,
    },
  };
}

async function row(world: World, name: string): Promise<string> {
  return world.row(name, { resource: jobs });
}

function untilRow(world: World, expected: string): Promise<void> {
  const name = expected.split(" ")[0] ?? "";
  return world.until(expected, async () => assert.equal(await row(world, name), expected), {
    timeoutMs: 90_000,
    stableMs: 0,
  });
}

async function looks(world: World): Promise<void> {
  const containers = [container("main", "nginx:1.20")];
  const strategy = { policy: "InPlaceIfPossible" } as const;
  await world.apply(cloneSet(world.version, { name: "patient", replicas: 3, containers, strategy }));
  const before = (await world.untilAll("patient", 3)).map(mainOf);
  const trail = await world.trail(jobs);
  const ttlSecondsAfterFinished = world.seconds(60, 12);
  const made = await world.apply(job("look", ["sleep", "3"], { parallelism: 1, ttlSecondsAfterFinished }));
  await untilRow(world, "look Succeeded 3 3 0 0 0");
  const { header } = await world.printed(jobs);
  assert.deepEqual(header, ["NAME", "STATUS", "MATCH", "SUCCEED", "FAILED", "RUNNING", "WAITING", "AGE"]);
  for (const { object } of await trail.stop()) {
    const { running = 0, waiting = 0 } = { ...object.status };
    assert.ok(Number(running) + Number(waiting) <= 1, `running ${running}, waiting ${waiting}`);
  }
  const pods = await world.livePodsOf("patient");
  assert.deepEqual(pods.map(mainOf), before);
  for (const pod of pods) {
    const [added] = ephemeral(pod);
    assert.equal(added?.name, "look");
    assert.deepEqual(added?.env, [{ name: "KRUISE_EJOB_ID", value: made.metadata.uid }]);
    assert.equal(added?.exitCode, 0);
  }
  const { metadata, status } = await world.api.get(jobs, "look", world.namespace);
  assert.deepEqual(metadata.finalizers, ["apps.kruise.io/ephemeralcontainers-cleanup"]);
  assert.ok(String(status?.["startTime"]) <= String(status?.["completionTime"]));
}

async function goes(world: World): Promise<void> {
  await world.until(
    "look is gone",
    async () => {
      const names = (await world.list(jobs)).map((one) => one.metadata.name);
      assert.ok(!names.includes("look"));
    },
    { timeoutMs: 90_000, stableMs: 0 },
  );
  for (const pod of await world.livePodsOf("patient")) {
    assert.deepEqual(
      ephemeral(pod).map(({ name }) => name),
      ["bad", "look"],
    );
  }
}

async function fails(world: World): Promise<void> {
  await world.apply(job("bad", ["false"], { parallelism: 3 }));
  await untilRow(world, "bad Failed 3 0 3 0 0");
  const { status } = await world.api.get(jobs, "bad", world.namespace);
  const failed = status?.conditions?.find(({ type }) => type === "JobFailed");
  assert.equal(failed?.message, "job failed to run all tasks");
}

async function refusal(world: World): Promise<void> {
  const manifest = job("no-policy", ["true"], {}, { imagePullPolicy: undefined });
  const message = await world.refused(() => world.apply(manifest), 400);
  assert.match(message, /ephemeralContainers\[0\]\.imagePullPolicy: Required value/);
}

async function namesAndPause(world: World): Promise<void> {
  await world.apply(job("look-2", ["sleep", "3"], {}, { name: "look" }));
  await untilRow(world, "look-2 Waiting 0 0 0 0 0");
  const { status } = await world.api.get(jobs, "look-2", world.namespace);
  const empty = status?.conditions?.find(({ type }) => type === "MatchedEmpty");
  assert.equal(empty?.message, "job match no pods");
  await world.apply(job("look-3", ["sleep", "3"], { paused: true }));
  await untilRow(world, "look-3 Paused 3 0 0 0 0");
  await world.stays(async () => {
    for (const pod of await world.livePodsOf("patient")) {
      assert.ok(!ephemeral(pod).some(({ name }) => name === "look-3"));
    }
  });
  await world.remove(jobs, "look-3");
  await world.until("a deleted job goes at once", async () => {
    assert.ok(!(await world.list(jobs)).some((one) => one.metadata.name === "look-3"));
  });
}

async function restarts(world: World): Promise<void> {
  const before = await world.livePodsOf("patient");
  await world.patch("patient", "json", imagePatch("nginx:1.21"));
  await world.untilAllUpdated("patient", 3, "nginx:1.21");
  const after = await world.livePodsOf("patient");
  assert.deepEqual(
    after.map((pod) => pod.metadata.uid),
    before.map((pod) => pod.metadata.uid),
  );
  assert.deepEqual(
    after.map((pod) => pod.status?.containerStatuses?.[0]?.restartCount),
    [1, 1, 1],
  );
  assert.deepEqual(
    after.map((pod) => ephemeral(pod).map(({ id }) => id)),
    before.map((pod) => ephemeral(pod).map(({ id }) => id)),
  );
}

async function bounded(world: World): Promise<void> {
  await world.apply(
    job("two", ["sleep", "1"], {
      replicas: 2,
      parallelism: 2,
      ttlSecondsAfterFinished: 15,
    }),
  );
  await untilRow(world, "two Succeeded 2 2 0 0 0");
  await world.apply(job("endless", ["sleep", "9999"], { parallelism: 3, activeDeadlineSeconds: 12 }));
  await untilRow(world, "endless Failed 3 0 0 3 0");
  const { status } = await world.api.get(jobs, "endless", world.namespace);
  const failed = status?.conditions?.find(({ type }) => type === "JobFailed");
  assert.equal(failed?.reason, "DeadlineExceeded");
  await world.until("two is gone", async () => {
    assert.ok(!(await world.list(jobs)).some((one) => one.metadata.name === "two"));
  });
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

function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
