/** Small worlds of one PersistentPodState. Spec: persistentpodstate 4, pod-webhook 4.6. */
import { addPersistentPlacement } from "../../controller/kinds/persistent_pod_state/pod_step.ts";
import { PersistentPodStateReconciler } from "../../controller/kinds/persistent_pod_state/reconcile.ts";
import { objectAt } from "../../controller/native/json_fields.ts";
import type { PersistentPodState, PersistentPodStateSpec } from "../../crds/index.ts";
import type { JsonObject, Labels } from "../../kube/core/index.ts";
import { deletedWorkload, ownerReference, ready } from "./records_cluster.ts";
import { SWITCH, windowOf } from "./records_rules.ts";
import {
  labelsOf,
  NAME,
  nodeOf,
  type Server,
  uidOf,
  withNode,
  withoutPod,
  withPod,
  withRecord,
  withWorkload,
} from "./records_server.ts";
import type { RecordScenario, RecordStage } from "./records_world.ts";

type Topology = Omit<PersistentPodStateSpec, "targetRef">;

const prefersHost: Topology = {
  preferredPersistentTopology: [{ weight: 7, preference: { keys: ["host"] } }],
};
const needsZone: Topology = { requiredPersistentTopology: { keys: ["zone"] } };
const whenDeleted = { persistentPodStateRetentionPolicy: "WhenDeleted" } as const;
const generated = { [SWITCH]: "true", "kruise.io/preferred-persistent-topology": "host" };

export function persistentPodStateScenarios(pods: number): RecordScenario[] {
  const scenario = (name: string, server: Server, ...stages: readonly RecordStage[]): RecordScenario => ({
    name: `PersistentPodState ${name}`,
    server,
    stages,
    make: (deps) => new PersistentPodStateReconciler(deps),
    admit: addPersistentPlacement,
  });
  const set = workloadOf({ replicas: pods });
  const asked = { annotations: generated };
  const fresh = (topology = prefersHost, workload = set) => recording(started(workload, pods), topology);
  const running = (topology = prefersHost, workload = set) => recorded(fresh(topology, workload));
  const moved = [closed("node-0"), deletedPod("web-0")];
  return [
    scenario("of pods that get ready", withStranger(fresh())),
    scenario("of pods of a native set", fresh(prefersHost, native({ replicas: pods }))),
    scenario("of a pod that comes back", running(), deletedPod("web-0")),
    scenario("of a pod that moves", running(), ...moved),
    scenario("of a pod that moves while it is new", fresh(), ...moved),
    scenario("of a pod that waits for its zone", running(needsZone), ...moved, opened("node-0")),
    scenario(
      "with annotations",
      running({ ...prefersHost, persistentPodAnnotations: [{ key: "ip" }] }),
      deletedPod("web-0"),
    ),
    scenario("scaled in", running(), scaled(pods - 1)),
    scenario("scaled in, and out", running(), scaled(pods - 1), scaled(pods)),
    scenario(
      "scaled in, and out, with records that stay",
      running({ ...prefersHost, ...whenDeleted }),
      scaled(pods - 1),
      scaled(pods),
    ),
    scenario("scaled to none, and out", running(), scaled(0), scaled(pods)),
    scenario("with an ordinal that is reserved", running(), specified("reserved", { reserveOrdinals: [0] })),
    scenario(
      "with other keys",
      running(),
      retopologised("other keys", { ...needsZone, preferredPersistentTopology: [] }),
    ),
    scenario(
      "with other keys while a pod is new",
      fresh(),
      retopologised("other keys", needsZone),
      deletedPod("web-0"),
    ),
    scenario("whose workload goes", running(), going("before its pods")),
    scenario("whose workload goes after its pods", running(), going("after its pods")),
    scenario("whose workload is made again", running(), going("before its pods"), again("again", set)),
    scenario(
      "whose workload is made again where others fit",
      running(needsZone),
      closed("node-0"),
      going("before its pods"),
      again("again", set),
    ),
    scenario("whose workload is made again around its pods", running(), going("alone"), again("again", set)),
    scenario(
      "with a node that goes",
      running(),
      people("node-0 goes", (server) => withNode(server, "node-0", undefined)),
    ),
    scenario(
      "with a node that has other labels",
      running(),
      people("another zone", (server) => withNode(server, "node-0", { host: "other" })),
      deletedPod("web-0"),
    ),
    scenario(
      "with a node that comes",
      fresh(needsZone),
      closed("node-0"),
      people("a node comes", (server) => withNode(server, "node-9", { host: "node-9", zone: "zone-9" })),
    ),
    scenario("asked for", recorded(started(set, pods)), annotated("asked for", generated)),
    scenario(
      "asked for, and changed",
      started(workloadOf({ replicas: pods }, asked), pods),
      annotated("other keys", { [SWITCH]: "true", "kruise.io/required-persistent-topology": "zone" }),
    ),
    scenario(
      "asked for, and no more",
      started(workloadOf({ replicas: pods }, asked), pods),
      annotated("no more", {}),
    ),
    scenario(
      "asked for no more, and again",
      made(started(workloadOf({ replicas: pods }, asked), pods)),
      annotated("no more", {}),
      annotated("again", generated),
    ),
    scenario(
      "asked for by a workload that is made again",
      made(started(workloadOf({ replicas: pods }, asked), pods)),
      going("before its pods"),
      again("again", workloadOf({ replicas: pods }, asked)),
    ),
    scenario(
      "of somebody, in the way",
      running(),
      annotated("asked for", generated),
      annotated("no more", {}),
    ),
  ];
}

function people(name: string, change: RecordStage["change"]): RecordStage {
  return { name, change };
}

function workloadOf(
  spec: JsonObject,
  { annotations = {} }: { readonly annotations?: Labels } = {},
): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "StatefulSet",
    metadata: { name: NAME, namespace: "default", generation: 1, annotations: { ...annotations } },
    spec: { selector: { matchLabels: { app: NAME } }, ...spec },
  };
}

function native(spec: JsonObject): JsonObject {
  return { ...workloadOf(spec), apiVersion: "apps/v1" };
}

/** A new workload, and as many nodes as it has pods. */
function started(workload: JsonObject, nodes: number): Server {
  let server: Server = {
    record: undefined,
    workload: undefined,
    pods: new Map(),
    nodes: new Map(),
    version: 0,
    ran: [],
    labels: new Map(),
  };
  for (let at = 0; at < nodes; at++)
    server = withNode(server, `node-${at}`, { host: `node-${at}`, zone: `zone-${at}`, other: "x" });
  return withWorkload(server, identified(workload, "web-1"));
}

function identified(workload: JsonObject, uid: string): JsonObject {
  return { ...workload, metadata: { ...objectAt(workload, "metadata"), uid } };
}

/** A record that somebody wrote. */
function recording(server: Server, topology: Topology): Server {
  const apiVersion = String(server.workload?.["apiVersion"]);
  const spec = { targetRef: { apiVersion, kind: "StatefulSet", name: NAME }, ...topology };
  return withRecord(server, { metadata: {}, spec });
}

/** The record that the annotations ask for. */
function made(server: Server): Server {
  const record = recording(server, {
    preferredPersistentTopology: [{ weight: 100, preference: { keys: ["host"] } }],
  });
  const owner: NonNullable<PersistentPodState["metadata"]["ownerReferences"]>[number] = Object(
    ownerReference(server.workload ?? {}),
  );
  return recorded(
    withRecord(server, {
      metadata: { ownerReferences: [owner] },
      spec: record.record?.spec ?? Object(undefined),
    }),
  );
}

/** All pods are ready, and recorded. */
function recorded(server: Server): Server {
  const { workload } = server;
  if (workload === undefined) return server;
  let next = server;
  for (const [at, name] of windowOf(workload).entries())
    next = withPod(next, name, podOn(`node-${at}`, name, workload));
  const { record } = next;
  if (record === undefined) return next;
  const keys = [
    ...(record.spec.requiredPersistentTopology?.keys ?? []),
    ...(record.spec.preferredPersistentTopology ?? []).flatMap(({ preference }) => preference.keys ?? []),
  ];
  const podStates = Object.fromEntries(
    Array.from(next.pods, ([name, pod]) => {
      const labels = Object.entries(labelsOf(next.nodes.get(nodeOf(pod)) ?? {}));
      const nodeTopologyLabels = Object.fromEntries(labels.filter(([key]) => keys.includes(key)));
      return [name, { nodeName: nodeOf(pod), nodeTopologyLabels }];
    }),
  );
  return withRecord(next, { ...record, status: { observedGeneration: 1, podStates } });
}

function podOn(nodeName: string, name: string, workload: JsonObject): JsonObject {
  const metadata = {
    name,
    labels: { app: NAME },
    annotations: { ip: `ip of ${name}` },
    ownerReferences: [ownerReference(workload)],
  };
  return ready({ apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName, containers: [] } });
}

/** A pod of another workload, which the selector takes for one of this. */
function withStranger(server: Server): Server {
  const other = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { uid: "other" } };
  return withPod(server, "other-0", podOn("node-0", "other-0", other));
}

function deletedPod(name: string): RecordStage {
  return people(`${name} is deleted`, (server) =>
    server.pods.has(name) ? withoutPod(server, name) : undefined,
  );
}

function closed(name: string): RecordStage {
  return people(`${name} is closed`, (server) =>
    withNode(server, name, labelsOf(server.nodes.get(name) ?? {}), true),
  );
}

function opened(name: string): RecordStage {
  return people(`${name} is open`, (server) =>
    withNode(server, name, labelsOf(server.nodes.get(name) ?? {})),
  );
}

function scaled(replicas: number): RecordStage {
  return specified(`${replicas} replicas`, { replicas });
}

function specified(name: string, spec: JsonObject): RecordStage {
  return people(name, (server) => withChanged(server, {}, spec));
}

function annotated(name: string, annotations: Labels): RecordStage {
  return people(name, (server) => withChanged(server, { annotations: { ...annotations } }, {}));
}

function withChanged(server: Server, metadata: JsonObject, spec: JsonObject): Server | undefined {
  const { workload } = server;
  if (workload === undefined) return undefined;
  const before = objectAt(workload, "metadata");
  const generation = Number(before["generation"]) + (Object.keys(spec).length > 0 ? 1 : 0);
  return withWorkload(server, {
    ...workload,
    metadata: { ...before, ...metadata, generation },
    spec: { ...objectAt(workload, "spec"), ...spec },
  });
}

function retopologised(name: string, topology: Topology): RecordStage {
  return people(name, (server) => {
    const { record } = server;
    if (record === undefined) return undefined;
    const { targetRef } = record.spec;
    return withRecord(server, { ...record, spec: { targetRef, ...topology } });
  });
}

function going(how: Parameters<typeof deletedWorkload>[1]): RecordStage {
  return people("the workload is deleted", (server) => deletedWorkload(server, how));
}

function again(name: string, workload: JsonObject): RecordStage {
  return people(name, (server) =>
    uidOf(server.workload) === "" ? withWorkload(server, identified(workload, "web-2")) : undefined,
  );
}
