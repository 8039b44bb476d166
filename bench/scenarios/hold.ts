/**
 * What a cluster of this size costs a controller that starts before it. Making a hundred thousand pods by requests takes an
 * hour on a small machine and says nothing more, so they are copied into the sandbox's memory while the controller is down.
 */
import type { Cluster, StoredObject } from "../../sandbox/index.ts";
import { BenchError } from "../errors.ts";
import { runPhase, sleep } from "../measure/phase.ts";
import { workloadOf } from "../measure/pod_board.ts";
import { isReady } from "../measure/pod_state.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { createPhase, updatePhase } from "./one_workload.ts";

/** A word that occurs nowhere else in the objects: copies have another one in its place. */
const SAMPLE = "sample-workload";
const CANARY = "canary";
const podsOfNode = 20;
const cloneSets = "clonesets.apps.kruise.io";
const revisions = "controllerrevisions.apps";

export const hold: Scenario = {
  name: "hold",
  summary:
    "the controller starts before --pods pods of CloneSets of --size that are there already (sandbox only)",
  kinds: ["CloneSet"],
  usualPods: 100_000,
  ownManager: true,
  madePods: ({ size }) => size,
  async run(stage) {
    const { restartManager, memory } = stage;
    if (restartManager === undefined || memory === undefined)
      throw new BenchError("hold needs the bench's own sandbox: leave out --kubeconfig");
    const { pods, size } = stage.settings;
    const created = await createPhase(stage, "CloneSet", { name: SAMPLE, replicas: size });
    let readyMs = 0;
    let nodes = 0;
    const held = await runPhase(stage, {
      name: "restart",
      pods,
      begin: async () => {
        readyMs = await restartManager(async () => {
          nodes = await fill(memory, stage, Math.ceil(pods / size) - 1);
        });
        await stage.workloads.create({ kind: "CloneSet", name: CANARY, replicas: 1, maxUnavailable: 1 });
      },
      arrived: (pod) => isReady(pod) && workloadOf(pod) === CANARY,
      wanted: 1,
      touched: (pod) => workloadOf(pod) === CANARY,
      facts: () => ({ "until ready, ms": Math.round(readyMs), "nodes held": nodes }),
    });
    await stage.workloads.delete("CloneSet", CANARY);
    // The budget of the rollout is of the sample alone.
    while (stage.board.size > size) await sleep(stage, 100);
    const updated = await updatePhase(stage, "CloneSet", {
      name: "rollout in place",
      workload: SAMPLE,
      replicas: size,
    });
    return { phases: [created, held, updated] };
  },
};

/** Copies of the sample in a namespace of their own, on nodes of their own; the number of nodes that there are then. */
async function fill(memory: Cluster, stage: Stage, copies: number): Promise<number> {
  const { namespace, run, settings } = stage;
  // Until the server has seen that the watches of the killed controller are closed: each copy would be sent to them.
  await sleep(stage, 500);
  const at = { namespace, name: SAMPLE };
  const sample = memory.get(cloneSets, at);
  const revision = ownedBy(memory.list(revisions, namespace), sample)[0];
  const [node] = memory.list("nodes");
  if (sample === undefined || revision === undefined || node === undefined)
    throw new BenchError("the sample is not there");
  const pods = ownedBy(memory.list("pods", namespace), sample);
  const texts = [revision, ...pods].map((object) => JSON.stringify(object));
  const others = Math.ceil(settings.pods / podsOfNode);
  for (let index = 0; index < others; index++)
    put(
      memory,
      "nodes",
      JSON.stringify(node)
        .replaceAll(node.metadata.name ?? "", `held-${index}`)
        .replaceAll(run, "held"),
    );
  memory.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "bench-held" } });
  for (let index = 0; index < copies; index++) {
    await sleep(stage, 0);
    // Without the run, so that the bench's own nodes and its watch leave them alone.
    let moved = index * pods.length;
    const renamed = (text: string): string =>
      earlier(text, moved++)
        .replaceAll(SAMPLE, `held-${index}`)
        .replaceAll(run, "held")
        .replaceAll(/"hollow-held-\d+"/g, () => `"held-${Math.floor(held++ / podsOfNode)}"`);
    let held = index * pods.length;
    const uid = put(memory, cloneSets, renamed(JSON.stringify(sample))).metadata.uid ?? "";
    const [first, ...rest] = texts.map((text) => renamed(text).replaceAll(sample.metadata.uid ?? "", uid));
    put(memory, revisions, first ?? "");
    for (const text of rest) put(memory, "pods", text);
  }
  return [...memory.list("nodes")].length;
}

/** What happened to it so many seconds earlier: of pods that changed in the same second a controller can share much. */
function earlier(text: string, seconds: number): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/g, (time) =>
    new Date(Date.parse(`${time}Z`) - seconds * 1000).toISOString().slice(0, 19),
  );
}

function ownedBy(objects: Iterable<StoredObject>, owner: StoredObject | undefined): StoredObject[] {
  return [...objects].filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === owner?.metadata.uid),
  );
}

/** As a request and the report that follows it would leave it. */
function put(memory: Cluster, resource: string, text: string): StoredObject {
  const wanted: StoredObject = JSON.parse(text);
  const { status } = wanted;
  delete wanted.metadata.resourceVersion;
  const { namespace, name = "" } = memory.create(resource, wanted).metadata;
  const ref = namespace === undefined ? { name } : { namespace, name };
  const stored = memory.update(resource, ref, (draft) => {
    if (status !== undefined) draft["status"] = status;
  });
  if (stored === undefined) throw new BenchError(`${resource} ${name} is gone`);
  return stored;
}
