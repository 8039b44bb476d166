/** Sidecars of jobs' pods end when the job's own containers have. */
import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { conditionOf, nameOf, statusOf } from "./items.ts";
import { BroadcastJob } from "./jobs.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const requests = "containerrecreaterequests.v1beta1.apps.kruise.io";
const end = { name: "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT", value: "true" };
const ignore = { name: "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE", value: "true" };

export const suite: Suite = {
  number: "t01",
  title: "Sidecars end with their job",
  needs: ["agent"],
  gates: "SidecarTerminator=true",
  versions: ["v1beta1"],
  async run(world) {
    await world.step("a job whose sidecar ends well is complete", () => completes(world));
    await world.step("a job that fails ends its sidecars, too, but for those that have ended", () =>
      fails(world),
    );
    await world.step("pods of a BroadcastJob end as those of a Job", () => broadcast(world));
    await world.step("the code of a sidecar that is killed can be ignored", () => ignored(world));
    await world.step("sidecars stay while the job's own container fails and is started again", () =>
      stays(world),
    );
  },
};

/** On `sh` a sidecar ends with 0 when it is told to end; `sleep` as the first process is killed. */
const politely = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];

function job(name: string, command: string[], sidecar: object, more: object = {}): object {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: 1,
          containers: [container("main", "busybox:1.33", { command }), sidecar],
          ...more,
        },
      },
    },
  };
}

async function podOf(world: World, name: string): Promise<Item> {
  const [pod] = await world.list("pods", `job-name=${name}`);
  if (pod === undefined) throw new Error(`no pod of job ${name}`);
  return pod;
}

async function completes(world: World): Promise<void> {
  const sidecar = container("side", "busybox:1.33", { command: politely, env: [end] });
  await world.apply(job("polite", ["sleep", "2"], sidecar));
  await world.until("the job is complete", async () => {
    const object = await world.object("jobs.v1.batch", "polite");
    const complete = conditionOf(object, "Complete");
    assert.equal(complete?.status, "True");
  });
  const pod = await podOf(world, "polite");
  const request = await requestOf(world, pod);
  assert.equal(request.metadata.name, `sidecar-termination-${pod.metadata.uid}`);
  assert.deepEqual(request.spec?.["strategy"], {
    failurePolicy: "Ignore",
    forceRecreate: true,
    terminationGracePeriodSeconds: 1,
  });
  await world.once("an event tells it", async () => {
    const events = await world.events("Pod", pod.metadata.name, "SidecarTerminator");
    assert.deepEqual(events, [
      {
        type: "Normal",
        reason: "SidecarTerminator",
        message: "Kruise SidecarTerminator is trying to terminate sidecar [side] using crr",
        source: "sidecarterminator-controller",
        count: 1,
      },
    ]);
  });
}

async function fails(world: World): Promise<void> {
  const side = container("side", "busybox:1.33", { command: politely, env: [end] });
  const over = container("over", "busybox:1.33", { command: ["true"], env: [end] });
  const main = container("main", "busybox:1.33", { command: ["sh", "-c", "sleep 2; exit 3"] });
  await world.apply(job("bad", [], side, { containers: [main, over, side] }));
  await world.until("the job has failed and its pod is over", async () => {
    const object = await world.object("jobs.v1.batch", "bad");
    const failed = conditionOf(object, "Failed");
    assert.equal(failed?.status, "True");
    assert.equal((await podOf(world, "bad")).status?.phase, "Failed");
  });
  const { spec } = await requestOf(world, await podOf(world, "bad"));
  const named: unknown[] = Object(spec?.["containers"]);
  assert.deepEqual(
    named.map((one) => Object(one).name),
    ["side"],
  );
}

async function broadcast(world: World): Promise<void> {
  const side = container("side", "busybox:1.33", { command: politely, env: [end] });
  const main = container("main", "busybox:1.33", { command: ["sleep", "1"] });
  for (const restartPolicy of ["Never", "OnFailure"] as const) {
    const job = new BroadcastJob(world, `everywhere-${restartPolicy.toLowerCase()}`);
    const shape = { restartPolicy, podSpec: { containers: [main, side] } };
    await job.create({ completionPolicy: { type: "Always" } }, shape);
    await job.untilPhase("completed");
    const status = await job.status();
    assert.equal(status["succeeded"], status["desired"]);
  }
}

async function ignored(world: World): Promise<void> {
  const sidecar = container("side", "busybox:1.33", { command: ["sleep", "10000"], env: [end, ignore] });
  await world.apply(job("deaf", ["sleep", "1"], sidecar));
  await world.until("the pod has succeeded and its sidecar is over", async () => {
    const pod = await podOf(world, "deaf");
    assert.equal(pod.status?.phase, "Succeeded");
    const condition = conditionOf(pod, "SidecarTerminated");
    assert.deepEqual([condition?.status, condition?.message], ["True", "Terminated by Sidecar Terminator"]);
    const side = statusOf(pod, "side");
    assert.ok(Object.hasOwn(Object(side?.["state"]), "terminated"), JSON.stringify(side));
  });
}

async function stays(world: World): Promise<void> {
  const sidecar = container("side", "busybox:1.33", { command: politely, env: [end] });
  const manifest = job("failing", ["sh", "-c", "exit 1"], sidecar, { restartPolicy: "OnFailure" });
  await world.apply({ ...manifest, spec: { ...Object(manifest).spec, backoffLimit: 6 } });
  await world.until("its container was started again", async () => {
    const main = (await podOf(world, "failing")).status?.containerStatuses?.find(
      ({ name }) => name === "main",
    );
    assert.ok((main?.restartCount ?? 0) > 0);
  });
  await world.stays(async () => {
    const pod = await podOf(world, "failing");
    const names = (await world.list(requests)).map(nameOf);
    assert.ok(!names.includes(`sidecar-termination-${pod.metadata.uid}`));
  }, 5_000);
}

async function requestOf(world: World, pod: Item): Promise<Item> {
  const found = (await world.list(requests)).find((request) =>
    request.metadata.ownerReferences?.some(({ uid, controller }) => controller && uid === pod.metadata.uid),
  );
  if (found === undefined) throw new Error(`no request of pod ${pod.metadata.name}`);
  return found;
}
