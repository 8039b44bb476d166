/** One SidecarSet over the pods of many owners, and pods that are created under several SidecarSets. */
import type { PodObject } from "../../sandbox/index.ts";
import { sidecarSetOfMany, wantsSidecars } from "../../testkit/controller/sidecar_set_builder.ts";
import { BenchError } from "../errors.ts";
import { eachInFlight } from "../in_flight.ts";
import { barePod } from "../measure/limit.ts";
import { runPhase } from "../measure/phase.ts";
import { isTouched, runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { BENCH_LABEL, podObjects, sidecarSets } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { firstImage, secondImage } from "../workloads.ts";
import { creationPhase } from "./admission.ts";
import { budgetOf } from "./one_workload.ts";

const owners = 50;
const setsOfStorm = 5;
const atOnce = 16;
/** In front of `main`, in the pod as in its status, so that the figures of pods are about it. */
const sidecar = "agent";

export const sidecarset: Scenario = {
  name: "sidecarset",
  summary: `a sidecar of the pods of ${owners} CloneSets is updated in place; --pods more are created under ${setsOfStorm} SidecarSets`,
  kinds: ["CloneSet"],
  usualPods: 5_000,
  async run(stage) {
    const { client, namespace, run, settings } = stage;
    const labels = { [BENCH_LABEL]: run };
    const replicas = Math.max(1, Math.floor(settings.pods / owners));
    const names = Array.from({ length: Math.min(owners, settings.pods) }, (_, index) => `bench-${index + 1}`);
    const pods = replicas * names.length;
    await client.create(sidecarSets, undefined, {
      ...sidecarSetHead(namespace, labels),
      spec: {
        // Pods of owners: those of the storm are for its own sets.
        selector: {
          matchLabels: labels,
          matchExpressions: [{ key: wantsSidecars, operator: "DoesNotExist" }],
        },
        namespaceSelector: { matchLabels: labels },
        containers: [{ name: sidecar, image: firstImage }],
        updateStrategy: { maxUnavailable: budgetOf(stage, pods) },
      },
    });
    await untilInjected(stage, {}, [namespace]);
    const created = await runPhase(stage, {
      name: "create",
      pods,
      begin: () =>
        eachInFlight(names, atOnce, (name) =>
          stage.workloads.create({ kind: "CloneSet", name, replicas, maxUnavailable: replicas }),
        ),
      arrived: (pod) => runs(pod, firstImage),
      touched: () => true,
      budget: { replicas, maxPods: replicas },
      facts: () => ({ owners: names.length, "pods each": replicas }),
    });
    return { phases: [created, await updateOfSidecar(stage, pods), await storm(stage)] };
  },
};

export function sidecarSetHead(name: string, labels: Readonly<Record<string, string>>) {
  return { apiVersion: "apps.kruise.io/v1beta1", kind: "SidecarSet", metadata: { name, labels } };
}

/** The set's budget is one for the pods of all owners. */
function updateOfSidecar(stage: Stage, pods: number): Promise<Phase> {
  const { client, namespace, board } = stage;
  const restartsBefore = restartsBeside(board.pods());
  return runPhase(
    { ...stage, kinds: ["SidecarSet"] },
    {
      name: "update of the sidecar",
      pods,
      begin: () =>
        client.patch(
          sidecarSets,
          { name: namespace },
          { type: "json", body: [{ op: "replace", path: "/spec/containers/0/image", value: secondImage }] },
        ),
      arrived: (pod) => runs(pod, secondImage),
      remaining: pods,
      touched: (pod) => isTouched(pod, secondImage),
      budget: { replicas: pods, maxUnavailable: budgetOf(stage, pods) },
      budgetOf: () => namespace,
      facts: () => ({ "restarts of other containers": restartsBeside(board.pods()) - restartsBefore }),
    },
  );
}

function restartsBeside(pods: Iterable<PodObject>): number {
  let restarts = 0;
  for (const { status } of pods)
    for (const { name, restartCount } of status?.containerStatuses ?? [])
      if (name !== sidecar) restarts += restartCount;
  return restarts;
}

async function storm(stage: Stage): Promise<Phase> {
  const { client, namespace, run } = stage;
  const names = Array.from({ length: setsOfStorm }, (_, index) => `${namespace}-${index}`);
  for (const [index, name] of names.entries())
    await client.create(sidecarSets, undefined, sidecarSetOfMany(name, index, { [BENCH_LABEL]: run }));
  const labels = { [wantsSidecars]: "all" };
  await untilInjected(stage, labels, names);
  const phase = await creationPhase(
    { ...stage, kinds: ["SidecarSet"] },
    { name: "storm", namespace, labels },
  );
  let sidecars = 0;
  for (const pod of stage.board.pods())
    if (pod.metadata.labels?.[wantsSidecars] !== undefined) sidecars += pod.spec.containers.length - 1;
  return { ...phase, facts: { ...phase.facts, "sidecars a pod": sidecars / phase.pods } };
}

const knownWithinMs = 30_000;

/** Webhooks hear of sets by their watch: resolves when a pod would get all of them. */
async function untilInjected(
  { client, namespace, run, clock, signal }: Stage,
  labels: Readonly<Record<string, string>>,
  names: readonly string[],
): Promise<void> {
  const until = clock.monotonic() + knownWithinMs;
  for (;;) {
    const { metadata } = await client.create(podObjects, namespace, barePod("tried", run, labels), {
      dryRun: true,
    });
    const injected = metadata.annotations?.["kruise.io/sidecarset-injected-list"]?.split(",") ?? [];
    if (names.every((name) => injected.includes(name))) return;
    if (clock.monotonic() > until)
      throw new BenchError(
        `pods do not get the sidecars of ${names.join(", ")}: is the webhook of the manager called for pods?`,
      );
    await clock.sleep(50, signal);
  }
}
