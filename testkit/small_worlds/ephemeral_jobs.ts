/** Small worlds of one EphemeralJob, or of two: pods that come, go and fail, people who change their mind. Spec: containers 5.4. */
import type { EphemeralJob, EphemeralJobSpec } from "../../crds/index.ts";
import { passOver } from "./ephemeral_pass.ts";
import { jobOf, podOf, withJob, withoutJob, withPod } from "./ephemeral_server.ts";
import type { EphemeralScenario, EphemeralStage } from "./ephemeral_world.ts";
import { put } from "./pull_state.ts";

const SUCCEEDED = ["Succeeded"];

export function ephemeralScenarios(pods: number): EphemeralScenario[] {
  const scenario = (
    name: string,
    stages: [EphemeralStage, ...EphemeralStage[]],
    ends: EphemeralScenario["ends"] = { one: SUCCEEDED },
    { habits = {}, lastsMs = 60_000 }: Partial<EphemeralScenario> = {},
  ): EphemeralScenario => ({
    name: `EphemeralJob ${name}`,
    pods: new Map(
      Array.from({ length: pods }, (_, at) => [`pod-${at + 1}`, podOf(`pod-${at + 1}`, pods - at)]),
    ),
    stages,
    ends,
    habits,
    lastsMs,
    pass: passOver,
  });
  const go = (spec: Partial<EphemeralJobSpec> = {}) => made("go", jobOf("one", spec));
  const all = { parallelism: pods };
  const two = { parallelism: 2 };
  const failed = { one: ["Failed"] };
  const gone = { one: ["gone"] };
  return [
    scenario("one at a time", [go()]),
    scenario("two at a time", [go(two)]),
    scenario("all at once", [go(all)]),
    scenario("with less parallelism", [go(two), changed("less", { parallelism: 1 })]),
    scenario("paused, then resumed", [
      go(),
      changed("a pause", { paused: true }),
      changed("resumed", { paused: false }),
    ]),
    scenario("with a pod that fails", [go(two)], failed, { habits: { "pod-1": "fails" } }),
    scenario("with a pod that cannot run it", [go(two)], failed, { habits: { "pod-1": "cannot run" } }),
    scenario(
      "with a pod that never starts it",
      [go(two)],
      { one: ["Unknown"] },
      {
        habits: { "pod-2": "never starts" },
      },
    ),
    scenario("ended by its deadline", [go({ activeDeadlineSeconds: 20 })], failed, {
      habits: { "pod-1": "hangs" },
    }),
    scenario(
      "ended by its deadline, or before",
      [go({ ...two, activeDeadlineSeconds: 20 }), people("20 s", ({ now }) => ({ now: now + 20_000 }))],
      { one: ["Succeeded", "Failed"] },
    ),
    scenario("with a time to live", [go({ ...two, ttlSecondsAfterFinished: 5 })], gone),
    scenario("in one pod less", [go({ ...two, replicas: pods - 1 })]),
    scenario(
      "in one pod less, then in all",
      [go({ replicas: pods - 1 }), changed("in all", { replicas: pods })],
      { one: ["Succeeded"] },
    ),
    scenario("deleted meanwhile", [go(two), deleted], gone),
    scenario(
      "deleted, and made again",
      [
        go(),
        deleted,
        people("again", ({ jobs }) =>
          jobs.has("one") ? undefined : { jobs: put(jobs, "one", jobOf("one", {}, "again")) },
        ),
      ],
      { one: ["Succeeded", "Waiting"] },
    ),
    scenario("and another one of its containers", [go(), made("another", jobOf("two", {}))], {
      one: ["Succeeded", "Waiting"],
      two: ["Succeeded", "Waiting"],
    }),
    scenario(
      "and another one of other containers",
      [go(), made("another", jobOf("two", { template: { ephemeralContainers: [{ name: "other" }] } }))],
      { one: SUCCEEDED, two: SUCCEEDED },
    ),
    scenario("with somebody's container of its name", [
      go(),
      people("somebody looks into pod-2", (stored) =>
        withPod(stored, "pod-2", { spec: { ephemeralContainers: [{ name: "look" }] } }),
      ),
    ]),
    scenario(
      "with a pod that takes none",
      [go()],
      { one: ["Unknown"] },
      { habits: { "pod-1": "refuses" }, lastsMs: 5000 },
    ),
    scenario("with a pod that goes", [
      go(),
      people("pod-1 goes", (stored) =>
        withPod(stored, "pod-1", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      ),
    ]),
    scenario("with a pod that comes", [
      go(),
      people("a pod comes", (stored) => ({ pods: put(stored.pods, "pod-new", podOf("pod-new", 0)) })),
    ]),
    scenario("with a pod that is replaced", [
      go(),
      people("another pod-1", (stored) => ({ pods: put(stored.pods, "pod-1", podOf("pod-1", 0, "other")) })),
    ]),
    scenario("with a pod that leaves its selector", [
      go(),
      people("pod-1 leaves", (stored) => withPod(stored, "pod-1", { metadata: { labels: { app: "no" } } })),
    ]),
    scenario("with other containers meanwhile", [
      go(),
      changed("others", { template: { ephemeralContainers: [{ name: "other" }] } }),
    ]),
  ];
}

function people(name: string, change: EphemeralStage["change"]): EphemeralStage {
  return { name, change };
}

function made(name: string, job: EphemeralJob): EphemeralStage {
  return people(name, ({ jobs }) => ({ jobs: put(jobs, job.metadata.name ?? "", job) }));
}

function changed(name: string, spec: Partial<EphemeralJobSpec>): EphemeralStage {
  return people(name, (stored) => withJob(stored, "one", { spec }));
}

const deleted = people("deleted", (stored) => withoutJob(stored, "one"));
