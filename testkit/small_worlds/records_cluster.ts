/** What else goes on around a PersistentPodState: the controller of its StatefulSet, admission, the scheduler, kubelets and the collector. */
import type { addPersistentPlacement } from "../../controller/kinds/persistent_pod_state/pod_step.ts";
import { stateOf, targetIndex } from "../../controller/kinds/persistent_pod_state/targets.ts";
import { objectAt, objectsAt, textAt, textsAt } from "../../controller/native/json_fields.ts";
import { persistentPodStateResource } from "../../controller/plan/resources.ts";
import { PodDraft } from "../../controller/runtime/admission/pod_draft.ts";
import type { PersistentPodState } from "../../crds/index.ts";
import type { JsonObject, Labels } from "../../kube/core/index.ts";
import { Cache } from "../../kube/index.ts";
import { admissionRequest } from "../controller/admission_builder.ts";
import { checkAdmission, windowOf } from "./records_rules.ts";
import {
  going,
  isGoing,
  isReady,
  labelsOf,
  NAME,
  NAMESPACE,
  nodeOf,
  ownerOf,
  type Server,
  uidOf,
  withoutPod,
  withPod,
  withRecord,
  withWorkload,
} from "./records_server.ts";

/** What admission makes of a new pod. */
export type Admit = typeof addPersistentPlacement;

/** By name. `record`: the one that admission knows. */
export function* clusterMoves(
  server: Server,
  record: PersistentPodState | undefined,
  admit: Admit,
): Generator<[string, () => Server | Promise<Server>]> {
  const { workload, pods } = server;
  const isLive = workload !== undefined && !isGoing(workload);
  if (isLive)
    for (const name of windowOf(workload))
      if (!pods.has(name))
        yield [
          `${name} is made`,
          async () => withPod(server, name, bound(server, await admitted(workload, name, record, admit))),
        ];
  for (const [name, pod] of pods) {
    if (!name.startsWith(NAME)) continue;
    const next = nextOf(server, name, pod);
    if (next !== undefined) yield [`${name} ${next[0]}`, () => next[1]];
  }
  const owner = server.record?.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
  if (owner !== undefined && owner !== uidOf(workload))
    yield ["the record is collected", () => withRecord(server, undefined)];
  if (
    workload !== undefined &&
    !isLive &&
    ![...pods.values()].some((pod) => ownerOf(pod) === uidOf(workload))
  )
    yield ["the workload is gone", () => withWorkload(server, undefined)];
}

function nextOf(server: Server, name: string, pod: JsonObject): [string, Server] | undefined {
  const { workload, nodes } = server;
  const window = workload === undefined || isGoing(workload) ? [] : windowOf(workload);
  const node = nodes.get(nodeOf(pod));
  if (isGoing(pod)) return ["is gone", withPod(server, name, undefined)];
  if (nodeOf(pod) !== "" && node === undefined)
    return ["is lost with its node", withPod(server, name, undefined)];
  if (ownerOf(pod) === "") {
    if (workload === undefined || !window.includes(name)) return undefined;
    const metadata = { ...objectAt(pod, "metadata"), ownerReferences: [ownerReference(workload)] };
    return ["is adopted", withPod(server, name, { ...pod, metadata })];
  }
  if (ownerOf(pod) !== uidOf(workload)) return ["is collected", withoutPod(server, name)];
  if (!window.includes(name)) return ["is scaled in", withoutPod(server, name)];
  if (isReady(pod)) return undefined;
  if (node !== undefined) return ["is ready", withPod(server, name, ready(pod))];
  const placed = bound(server, pod);
  return nodeOf(placed) === "" ? undefined : ["gets a node", withPod(server, name, placed)];
}

async function admitted(
  workload: JsonObject,
  name: string,
  record: PersistentPodState | undefined,
  admit: Admit,
): Promise<JsonObject> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { app: NAME },
      ownerReferences: [ownerReference(workload)],
    },
    spec: { containers: [] },
  };
  const { identify } = persistentPodStateResource.codec;
  const records = new Cache<PersistentPodState>({ identify, indexes: targetIndex });
  if (record !== undefined) records.upsert(record);
  const draft = new PodDraft(
    admissionRequest({ operation: "CREATE", namespace: NAMESPACE, name, object: pod }),
    pod,
  );
  await admit(draft, async (...target) => stateOf(records, ...target));
  checkAdmission(draft.pod, name, record);
  return draft.pod;
}

export function ownerReference(workload: JsonObject): JsonObject {
  const { apiVersion, kind } = workload;
  return { apiVersion, kind, name: NAME, uid: uidOf(workload), controller: true };
}

export function ready(pod: JsonObject): JsonObject {
  return { ...pod, status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
}

/** On the node that suits it most; without one it waits. Where nodes are alike pods are spread by their ordinal. */
function bound({ nodes }: Server, pod: JsonObject): JsonObject {
  const spec = objectAt(pod, "spec");
  const selector = Object.entries(textsAt(spec, "nodeSelector"));
  const terms = objectsAt(
    objectAt(objectAt(spec, "affinity"), "nodeAffinity"),
    "preferredDuringSchedulingIgnoredDuringExecution",
  );
  const suiting = [...nodes].filter(
    ([, node]) =>
      objectAt(node, "spec")["unschedulable"] !== true &&
      selector.every(([key, value]) => labelsOf(node)[key] === value),
  );
  const scored = suiting.map(([name, node]) => ({
    name,
    score: terms.filter((term) => isMet(objectAt(term, "preference"), labelsOf(node))).length,
  }));
  const best = Math.max(...scored.map(({ score }) => score));
  const names = scored
    .filter(({ score }) => score === best)
    .map(({ name }) => name)
    .sort();
  const ordinal = Number(textAt(objectAt(pod, "metadata"), "name").split("-").at(-1));
  const nodeName = names[ordinal % names.length];
  return nodeName === undefined ? pod : { ...pod, spec: { ...spec, nodeName } };
}

function isMet(preference: JsonObject, labels: Labels): boolean {
  return objectsAt(preference, "matchExpressions").every(
    ({ key, values }) => Array.isArray(values) && values.includes(labels[String(key)]),
  );
}

/** The workload is deleted in the background, after its pods, or without them. */
export function deletedWorkload(server: Server, how: "before its pods" | "after its pods" | "alone"): Server {
  const { workload, pods } = server;
  if (workload === undefined) return server;
  if (how === "after its pods") return withWorkload(server, going(workload));
  const gone = withWorkload(server, undefined);
  if (how === "before its pods") return gone;
  return [...pods].reduce((all, [name, pod]) => {
    const { ownerReferences: _, ...metadata } = objectAt(pod, "metadata");
    return withPod(all, name, { ...pod, metadata });
  }, gone);
}
