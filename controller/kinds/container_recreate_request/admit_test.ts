import fc from "fast-check";
import t from "tap";
import { applyJsonPatch, cloneJson, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { withFaults } from "../../../testkit/kube/fake_faults.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import type { AdmissionRequest, AdmissionResponse } from "../../runtime/admission/request.ts";
import { parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { mutateContainerRecreateRequest } from "./admit.ts";

const hook = { httpGet: { path: "/stop", port: "web" } };
const pod: JsonObject = {
  metadata: { name: "web", namespace: "default", uid: "pod-1" },
  spec: {
    nodeName: "node1",
    terminationGracePeriodSeconds: 7,
    containers: [
      {
        name: "app",
        ports: [{ name: "web", containerPort: 80, protocol: "TCP" }],
        lifecycle: { preStop: hook },
      },
      {
        name: "side",
        ports: [{ containerPort: 81 }],
        lifecycle: { preStop: { exec: { command: ["true"] } } },
      },
      { name: "sleepy", lifecycle: { preStop: { sleep: { seconds: 3 } } } },
      { name: "late" },
      { name: "created" },
    ],
  },
  status: {
    phase: "Running",
    containerStatuses: [
      { name: "app", containerID: "containerd://a", restartCount: 2 },
      { name: "side", containerID: "containerd://s" },
      { name: "sleepy", containerID: "containerd://z", restartCount: 0 },
      { name: "created", containerID: "" },
    ],
  },
};

/** A cluster with the pod, changed so, and its node. */
function cluster(changes: JsonObject = {}, labels: Record<string, string> = {}) {
  const server = fakeServer();
  server.put("pods", JSON.parse(JSON.stringify({ ...pod, ...changes })));
  server.put("nodes", { metadata: { name: "node1", labels } });
  return { client: server.client, options: controllerOptions() };
}

const deps = cluster();

function admissionOf(object: JsonObject, changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return admissionRequest({ operation: "CREATE", object, ...changes });
}

function crr(spec: JsonObject, version = "v1beta1", metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "ContainerRecreateRequest",
    metadata: { name: "one", ...metadata },
    spec: { podName: "web", containers: [{ name: "app" }], ...spec },
  };
}

async function admit(object: JsonObject, changes: Partial<typeof deps> = {}) {
  const before = cloneJson(object);
  const answer = await mutateContainerRecreateRequest({ ...deps, ...changes })(admissionOf(object));
  t.strictSame(object, before, "the request is not changed");
  return {
    answer,
    filled: answer.allowed && answer.patch ? applyJsonPatch(object, [...answer.patch]) : object,
  };
}

const refusal = (code: number, message: string): AdmissionResponse => ({ allowed: false, code, message });

for (const version of ["v1alpha1", "v1beta1"]) {
  t.test(`${version}: what the agent needs is filled in`, async (t) => {
    const containers = [{ name: "side" }, { name: "app" }, { name: "sleepy" }];
    const { filled } = await admit(crr({ containers }, version, { labels: { team: "x" } }));
    t.strictSame(filled["metadata"], {
      name: "one",
      labels: {
        team: "x",
        "crr.apps.kruise.io/pod-uid": "pod-1",
        "crr.apps.kruise.io/node-name": "node1",
        "crr.apps.kruise.io/active": "true",
      },
    });
    t.strictSame(filled["spec"], {
      podName: "web",
      containers: [
        {
          name: "side",
          preStop: { exec: { command: ["true"] } },
          statusContext: { containerID: "containerd://s", restartCount: 0 },
        },
        {
          name: "app",
          preStop: hook,
          ports: [{ name: "web", containerPort: 80, protocol: "TCP" }],
          statusContext: { containerID: "containerd://a", restartCount: 2 },
        },
        { name: "sleepy", preStop: {}, statusContext: { containerID: "containerd://z", restartCount: 0 } },
      ],
      strategy: { failurePolicy: "Fail", terminationGracePeriodSeconds: 7 },
    });
  });
}

t.test("what is set stays", async (t) => {
  const strategy = { failurePolicy: "Ignore", terminationGracePeriodSeconds: 0, orderedRecreate: true };
  const { filled } = await admit(crr({ strategy }));
  t.match(filled, { spec: { strategy } });
});

t.test("nodes without an agent are marked", async (t) => {
  const { filled } = await admit(crr({}), cluster({}, { type: "virtual-kubelet" }));
  t.match(filled, { metadata: { labels: { type: "virtual-kubelet" } } });
});

t.test("refusals in the reference's words", async (t) => {
  const two = [{ name: "app" }, { name: "app" }];
  const cases: readonly [JsonObject, string][] = [
    [{ podName: "" }, "podName can not be empty"],
    [{ podName: null }, "podName can not be empty"],
    [{ containers: [] }, "containers list can not be null"],
    [{ containers: null }, "containers list can not be null"],
    [{ activeDeadlineSeconds: 2 }, "activeDeadlineSeconds can not be less than 3s"],
    [
      { strategy: { terminationGracePeriodSeconds: -1 } },
      "terminationGracePeriodSeconds must be non-negative integer",
    ],
    [
      { strategy: { unreadyGracePeriodSeconds: -1 } },
      "unreadyGracePeriodSeconds must be non-negative integer",
    ],
    [{ strategy: { failurePolicy: "Never" } }, "unknown failurePolicy Never"],
    [{ podName: "other" }, "no found Pod named other"],
    [{ containers: two }, "can not recreate app multi times"],
    [
      { containers: [{ name: "app", preStop: {} }] },
      "preStop, ports, statusContext in container are ready-only fields",
    ],
    [
      { containers: [{ name: "app", statusContext: { containerID: "x", restartCount: 0 } }] },
      "preStop, ports, statusContext in container are ready-only fields",
    ],
    [{ containers: [{ name: "nope" }] }, "container nope not found in Pod"],
    [{ containers: [{ name: "late" }] }, "not found late containerStatus in Pod Status"],
    [
      { containers: [{ name: "created" }] },
      "no containerID in created containerStatus, maybe the container has not been initialized",
    ],
  ];
  for (const version of ["v1alpha1", "v1beta1"]) {
    for (const [spec, message] of cases) {
      t.strictSame((await admit(crr(spec, version))).answer, refusal(400, message));
    }
  }
  t.match((await admit(crr({ podName: 5 }))).answer, { allowed: false, code: 400, message: /podName/ });
  const { spec: _, ...bare } = crr({});
  t.strictSame((await admit(bare)).answer, refusal(400, "podName can not be empty"));
  const options = controllerOptions({ gates: parseFeatureGates("KruiseDaemon=false") });
  t.strictSame(
    (await admit(crr({}), { options })).answer,
    refusal(403, "feature-gate KruiseDaemon is not enabled"),
  );
});

t.test("pods that cannot be restarted in", async (t) => {
  const inactive = refusal(400, "not allowed to recreate containers in an inactive Pod");
  const status = Object(pod["status"]);
  t.strictSame((await admit(crr({}), cluster({ status: { ...status, phase: "Failed" } }))).answer, inactive);
  const deleted = { ...Object(pod["metadata"]), deletionTimestamp: "2026-01-01T00:00:00Z" };
  t.strictSame((await admit(crr({}), cluster({ metadata: deleted }))).answer, inactive);
  const ending = {
    ...status,
    phase: "Succeeded",
    conditions: [{ type: "SidecarTerminated", status: "True" }],
  };
  t.ok((await admit(crr({}), cluster({ status: ending }))).answer.allowed);
  const unscheduled = { spec: { ...Object(pod["spec"]), nodeName: undefined } };
  t.strictSame(
    (await admit(crr({}), cluster(unscheduled))).answer,
    refusal(400, "not allowed to recreate containers in a pending Pod"),
  );
  const before = () => Promise.reject(new Error('nodes "node1" not found'));
  const get = (plural: string) => (plural === "nodes" ? { before } : undefined);
  t.strictSame(
    (await admit(crr({}), { client: withFaults(deps.client, { get }) })).answer,
    refusal(400, 'failed to get Node node1: nodes "node1" not found'),
  );
});

t.test("a request of a pod is not about another one that has taken its name", async (t) => {
  const ownedBy = (owner: JsonObject) => {
    const pod = { apiVersion: "v1", kind: "Pod", name: "web", uid: "pod-1", controller: true };
    return admit(crr({}, "v1beta1", { ownerReferences: [{ ...pod, ...owner }] }));
  };
  t.ok((await ownedBy({})).answer.allowed);
  t.strictSame((await ownedBy({ uid: "pod-0" })).answer, refusal(400, "no found Pod named web of UID pod-0"));
  t.ok((await ownedBy({ uid: "pod-0", name: "other" })).answer.allowed, "whoever else owns it");
  t.ok((await ownedBy({ uid: "pod-0", kind: "Task" })).answer.allowed);
});

t.test("updates change neither spec nor the labels that agents go by", async (t) => {
  const old = (await admit(crr({}))).filled;
  const update = (object: JsonObject, oldObject = old) =>
    mutateContainerRecreateRequest(deps)(admissionOf(object, { operation: "UPDATE", oldObject }));
  const labels = { "crr.apps.kruise.io/pod-uid": "pod-1", "crr.apps.kruise.io/node-name": "node1" };
  const relabelled = (changes: JsonObject) => ({
    ...old,
    metadata: { name: "one", labels: { ...labels, ...changes } },
  });
  t.strictSame(await update(relabelled({})), { allowed: true }, "the active label may go");
  t.strictSame(
    await update(relabelled({ "crr.apps.kruise.io/pod-uid": "pod-2" })),
    refusal(403, "not allowed to update immutable label crr.apps.kruise.io/pod-uid"),
  );
  t.strictSame(
    await update(relabelled({ "crr.apps.kruise.io/node-name": undefined })),
    refusal(403, "not allowed to update immutable label crr.apps.kruise.io/node-name"),
  );
  const respecified = { ...old, spec: { ...Object(old["spec"]), ttlSecondsAfterFinished: 9 } };
  t.strictSame(await update(respecified), refusal(403, "spec of ContainerRecreateRequest is immutable"));
  const annotation = "crr.apps.kruise.io/unready-acquired";
  const annotated = (value: string | undefined) => ({
    ...old,
    metadata: { ...Object(old["metadata"]), annotations: { [annotation]: value } },
  });
  t.strictSame(await update(annotated("2026-01-01T00:00:00Z")), { allowed: true });
  t.strictSame(
    await update(annotated("2027-01-01T00:00:00Z"), annotated("2026-01-01T00:00:00Z")),
    refusal(403, `not allowed to update immutable annotation ${annotation}`),
  );
});

t.test("any JSON gets an answer, and its patch applies", async (t) => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const junk = fc.record({
    metadata: value,
    spec: fc.oneof(
      value,
      fc.record({
        podName: fc.oneof(value, fc.constant("web")),
        containers: fc.oneof(
          value,
          fc.array(fc.oneof(value, fc.record({ name: fc.constantFrom("app", "side") }))),
        ),
        strategy: value,
        activeDeadlineSeconds: value,
      }),
    ),
  });
  await fc.assert(
    fc.asyncProperty(junk, async (generated) => {
      const object: JsonObject = JSON.parse(JSON.stringify({ ...crr({}), ...generated }));
      const { answer, filled } = await admit(object);
      if (answer.allowed) t.match(filled, { metadata: { labels: { "crr.apps.kruise.io/active": "true" } } });
      else t.ok(answer.code === 400 && answer.message !== "");
    }),
    { seed: 47, numRuns: 500 },
  );
});
