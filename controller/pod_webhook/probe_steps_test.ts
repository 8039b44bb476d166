import t from "tap";
import type { PodProbeMarker } from "../../crds/index.ts";
import { applyJsonPatch, type JsonObject } from "../../kube/core/index.ts";
import { admissionRequest } from "../../testkit/controller/admission_builder.ts";
import { type PodChainOptions, podChain } from "../../testkit/controller/pod_chain.ts";

const movesProbes = "EnhancedLivenessProbe=true";
const liveness = (path: string) => ({ httpGet: { path, port: 80 } });

function pod(metadata: JsonObject, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", ...metadata },
    spec: {
      containers: [
        { name: "a", image: "i", livenessProbe: liveness("/<a>") },
        { name: "b", image: "i" },
        { name: "c", image: "i", livenessProbe: liveness("/c") },
      ],
      initContainers: [{ name: "init", image: "i", livenessProbe: liveness("/i"), restartPolicy: "Always" }],
      ...spec,
    },
  };
}

const owned = (kind: string, apiVersion: string) => ({
  ownerReferences: [{ apiVersion, kind, name: "x", uid: "1", controller: true }],
});
const cloneSetPod = (annotations: object) =>
  pod({ ...owned("CloneSet", "apps.kruise.io/v1beta1"), annotations });

async function admit(object: JsonObject, options: PodChainOptions): Promise<JsonObject> {
  const answer = await podChain(options)(admissionRequest({ namespace: "ns", object }));
  if (!answer.allowed) throw new Error(answer.message);
  return applyJsonPatch(object, [...(answer.patch ?? [])]);
}

const annotationsOf = (object: JsonObject) => Object(Object(object["metadata"]).annotations);

t.test("liveness probes move into an annotation where the pod asks for it", async (t) => {
  const asks = { "apps.kruise.io/using-enhanced-liveness": "true" };
  const found = await admit(cloneSetPod(asks), { gates: movesProbes });
  const { containers, initContainers } = Object(found["spec"]);
  t.same(containers, [
    { name: "a", image: "i" },
    { name: "b", image: "i" },
    { name: "c", image: "i" },
  ]);
  t.ok(initContainers[0].livenessProbe, "those of init containers stay");
  t.equal(
    annotationsOf(found)["apps.kruise.io/container-probe-context"],
    '[{"name":"a","livenessProbe":{"httpGet":{"path":"/\\u003ca\\u003e","port":80}}},' +
      '{"name":"c","livenessProbe":{"httpGet":{"path":"/c","port":80}}}]',
  );
});

t.test("probes that only the kubelet can run stay with it", async (t) => {
  const asks = { "apps.kruise.io/using-enhanced-liveness": "true" };
  const containers = [
    { name: "a", image: "i", livenessProbe: { grpc: { port: 80 } } },
    { name: "b", image: "i", livenessProbe: { tcpSocket: { port: 80, host: "other" } } },
    { name: "c", image: "i", livenessProbe: { exec: { command: ["true"] } } },
  ];
  const object = pod({ ...owned("CloneSet", "apps.kruise.io/v1"), annotations: asks }, { containers });
  const found = await admit(object, { gates: movesProbes });
  const kept = Object(found["spec"]).containers.map((one: JsonObject) => one["livenessProbe"] !== undefined);
  t.same(kept, [true, true, false]);
  t.match(annotationsOf(found)["apps.kruise.io/container-probe-context"], /^\[{"name":"c",/);
});

t.test("liveness probes stay without the gate, the annotation, the owner, or a probe", async (t) => {
  const asks = { "apps.kruise.io/using-enhanced-liveness": "true" };
  const moved = async (object: JsonObject, gates = movesProbes) =>
    annotationsOf(await admit(object, { gates }))["apps.kruise.io/container-probe-context"];
  t.equal(await moved(cloneSetPod(asks), "EnhancedLivenessProbe=false"), undefined);
  t.equal(await moved(cloneSetPod({ "apps.kruise.io/using-enhanced-liveness": "True" })), undefined);
  t.equal(await moved(pod({ ...owned("ReplicaSet", "apps/v1"), annotations: asks })), undefined);
  const none = { containers: [{ name: "a", image: "i" }] };
  t.equal(
    await moved(pod({ ...owned("CloneSet", "apps.kruise.io/v1"), annotations: asks }, none)),
    undefined,
  );
});

function marker(
  name: string,
  probes: PodProbeMarker["spec"]["probes"],
  matchLabels: Record<string, string> = { a: "b" },
): PodProbeMarker {
  return { metadata: { name, namespace: "ns" }, spec: { selector: { matchLabels }, probes } };
}

const exec = { exec: { command: ["true"] } };
const policy = [{ state: "Failed", labels: { x: "y" } }];
const all = [
  marker("second", [{ name: "p", containerName: "b", probe: exec, podConditionType: "c1" }]),
  marker("first", [
    { name: "p", containerName: "a", probe: exec, podConditionType: "c1", markerPolicy: policy },
    { name: "p", containerName: "init", probe: exec, podConditionType: "c2" },
    { name: "lost", containerName: "none", probe: exec, podConditionType: "c3" },
    { name: "unshown", containerName: "a", probe: exec, markerPolicy: policy },
  ]),
  marker("other", [{ name: "o", containerName: "a", probe: exec, podConditionType: "c4" }], {
    else: "where",
  }),
];

t.test("probes for pods on nodes without an agent", async (t) => {
  const asked: string[] = [];
  const serverless = {
    markersIn: async (namespace: string) => {
      asked.push(namespace);
      return all;
    },
  };
  const found = annotationsOf(await admit(pod({ labels: { a: "b" } }), { serverless }));
  t.same(asked, ["ns"]);
  t.same(JSON.parse(found["kruise.io/podprobe"]), [
    { name: "p", containerName: "a", probe: exec, podConditionType: "c1" },
    { name: "p", containerName: "init", probe: exec, podConditionType: "c2" },
  ]);
  t.equal(found["kruise.io/podprobemarker-list"], "first");
  const named = { "kruise.io/podprobemarker-list": "other,gone" };
  const chosen = annotationsOf(await admit(pod({ labels: { a: "b" }, annotations: named }), { serverless }));
  t.same(
    JSON.parse(chosen["kruise.io/podprobe"]).map(({ name }: { name: string }) => name),
    ["o"],
  );
  t.equal(chosen["kruise.io/podprobemarker-list"], "other");
  t.same(annotationsOf(await admit(pod({}), { serverless })), {}, "nothing selects it");
  t.same(annotationsOf(await admit(pod({ labels: { a: "b" } }), {})), {}, "without the gate");
});

t.test("markers that cannot be listed refuse the pod", async (t) => {
  const markersIn = () => Promise.reject(new Error("no answer"));
  await t.rejects(admit(pod({}), { serverless: { markersIn } }), { message: "no answer (pod probe marker)" });
});
