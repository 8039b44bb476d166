import fc from "fast-check";
import t from "tap";
import { applyJsonPatch, cloneJson, type JsonObject } from "../../kube/core/index.ts";
import { admissionRequest } from "../../testkit/controller/admission_builder.ts";
import { type PodChainOptions, podChain } from "../../testkit/controller/pod_chain.ts";
import type { AdmissionRequest, AdmissionResponse } from "../runtime/admission/request.ts";

/** The readiness gate on all pods. */
const everyPod = "KruisePodReadinessGate=true";

function request(object: JsonObject | undefined, changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return admissionRequest({ operation: "CREATE", name: "", object, ...changes });
}

function pod(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", ...metadata },
    spec: { containers: [{ name: "a", image: "i" }], ...spec },
  };
}

function owned(apiVersion: string): JsonObject {
  return { ownerReferences: [{ apiVersion, kind: "CloneSet", name: "x", uid: "1", controller: true }] };
}

async function admit(
  object: JsonObject,
  changes: PodChainOptions = {},
): Promise<{ answer: AdmissionResponse; pod: JsonObject }> {
  const before = cloneJson(object);
  const answer = await podChain(changes)(request(object));
  t.strictSame(object, before, "the request is not changed");
  return { answer, pod: answer.allowed && answer.patch ? applyJsonPatch(object, [...answer.patch]) : object };
}

t.test("pods of this API's workloads begin without a record of who wrote which field", async (t) => {
  const entry = (operation: string): JsonObject => ({ manager: "m", operation, fieldsV1: { "f:spec": {} } });
  const managed = (metadata: JsonObject, ...operations: string[]): JsonObject =>
    pod({}, { ...metadata, managedFields: operations.map(entry) });
  const kept = async (object: JsonObject, keepManagedFields = false): Promise<boolean> => {
    const { metadata } = (await admit(object, { keepManagedFields })).pod;
    return typeof metadata === "object" && metadata !== null && "managedFields" in metadata;
  };
  const ours = owned("apps.kruise.io/v1beta1");
  t.notOk(await kept(managed(ours, "Update")));
  t.ok(await kept(managed(ours, "Update"), true), "unless the flag keeps it");
  t.ok(await kept(managed(ours, "Apply", "Update")), "or somebody applied");
  t.ok(await kept(managed(owned("apps/v1"), "Update")), "other pods are left alone");
});

t.test("pods of this API's workloads get the readiness gate, once", async (t) => {
  const gate = { conditionType: "KruisePodReady" };
  t.match((await admit(pod({}, owned("apps.kruise.io/v1beta1")))).pod, { spec: { readinessGates: [gate] } });
  t.match((await admit(pod({}, owned("apps.kruise.io/v9")))).pod, { spec: { readinessGates: [gate] } });
  const other = { conditionType: "InPlaceUpdateReady" };
  t.match((await admit(pod({ readinessGates: [other] }, owned("apps.kruise.io/v1alpha1")))).pod, {
    spec: { readinessGates: [other, gate] },
  });
  t.strictSame((await admit(pod({ readinessGates: [gate] }, owned("apps.kruise.io/v1")))).answer, {
    allowed: true,
  });
});

t.test("other pods get it with the gate only", async (t) => {
  t.strictSame((await admit(pod({}, owned("apps/v1")))).answer, { allowed: true });
  t.strictSame((await admit(pod({}, owned("x.apps.kruise.io/v1")))).answer, { allowed: true });
  const uncontrolled = {
    ownerReferences: [{ apiVersion: "apps.kruise.io/v1", kind: "CloneSet", name: "x", uid: "1" }],
  };
  t.strictSame((await admit(pod({}, uncontrolled))).answer, { allowed: true });
  t.match((await admit(pod({}), { gates: everyPod })).pod, {
    spec: { readinessGates: [{ conditionType: "KruisePodReady" }] },
  });
});

function barriers(object: JsonObject): unknown[] {
  return Object(object["spec"]).containers.map(
    (container: JsonObject) => Object(container["env"]).at?.(-1)?.valueFrom?.configMapKeyRef,
  );
}

const containers = (...priorities: (string | undefined)[]) =>
  priorities.map((priority, index) => ({
    name: `c${index}`,
    image: "i",
    env:
      priority === undefined
        ? [{ name: "MODE", value: "x" }]
        : [{ name: "KRUISE_CONTAINER_PRIORITY", value: priority }],
  }));

t.test("ordered containers wait for each other", async (t) => {
  const ordered = { annotations: { "apps.kruise.io/container-launch-priority": "Ordered" } };
  const { pod: admitted } = await admit(pod({ containers: containers("9", "9", undefined) }, ordered));
  t.strictSame(
    barriers(admitted),
    ["p_0", "p_-1", "p_-2"].map((key) => ({ name: "web-barrier", key })),
  );
  t.match(Object(admitted["spec"]).containers[2].env, [
    { name: "MODE" },
    { name: "KRUISE_CONTAINER_BARRIER" },
  ]);
  t.strictSame((await admit(pod({}, ordered))).answer, { allowed: true }, "one container waits for nobody");
  const other = { annotations: { "apps.kruise.io/container-launch-priority": "ordered" } };
  t.strictSame((await admit(pod({ containers: containers(undefined, undefined) }, other))).answer, {
    allowed: true,
  });
});

t.test("weighted containers, and a name where there is none", async (t) => {
  const object = pod({ containers: containers(undefined, "1") }, { name: "", generateName: "web-" });
  const { pod: admitted } = await admit(object);
  const name = Object(admitted["metadata"]).name;
  t.match(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  t.strictSame(
    barriers(admitted),
    ["p_0", "p_1"].map((key) => ({ name: `${name}-barrier`, key })),
  );
  const long = await admit(
    pod({ containers: containers("1", "2") }, { name: "", generateName: "n".repeat(80) }),
  );
  t.equal(Object(long.pod["metadata"]).name.length, 63);
  t.strictSame((await admit(pod({ containers: containers("1", "1") }))).answer, { allowed: true });
  t.strictSame((await admit(pod({ containers: containers(undefined, "0") }))).answer, { allowed: true });
  const repeated = containers("1", undefined);
  repeated[0]?.env.push({ name: "KRUISE_CONTAINER_PRIORITY", value: "5" });
  t.match(barriers((await admit(pod({ containers: repeated }))).pod), [{ key: "p_5" }, { key: "p_0" }]);
});

t.test("a priority that is no number refuses the pod", async (t) => {
  const refusal = (value: string, text: string) => ({
    allowed: false,
    code: 500,
    message: `strconv.Atoi: parsing "${value}": ${text} (container launch priority)`,
  });
  t.strictSame(
    (await admit(pod({ containers: containers("abc", "1") }))).answer,
    refusal("abc", "invalid syntax"),
  );
  t.strictSame(
    (await admit(pod({ containers: containers("1", "99999999999999999999") }))).answer,
    refusal("99999999999999999999", "value out of range"),
  );
  const fromField = [
    { name: "a", env: [{ name: "KRUISE_CONTAINER_PRIORITY", valueFrom: {} }] },
    { name: "b" },
  ];
  t.strictSame((await admit(pod({ containers: fromField }))).answer, refusal("", "invalid syntax"));
});

t.test("steps see what earlier ones wrote, and the patch holds all of it", async (t) => {
  const { pod: admitted } = await admit(
    pod({ containers: containers("1", "2") }, owned("apps.kruise.io/v1beta1")),
  );
  t.match(admitted, { spec: { readinessGates: [{ conditionType: "KruisePodReady" }] } });
  t.match(barriers(admitted), [{ key: "p_1" }, { key: "p_2" }]);
});

t.test("what is no new pod is let through", async (t) => {
  const mutate = podChain({ gates: everyPod });
  t.strictSame(await mutate(request(pod(), { resource: "services" })), { allowed: true });
  t.strictSame(await mutate(request(pod(), { subresource: "binding" })), { allowed: true });
  t.strictSame(await mutate(request(pod(), { operation: "UPDATE" })), { allowed: true });
  t.match(await mutate(request(undefined)), { allowed: false, code: 400 });
});

t.test("any JSON gets an answer, and its patch applies", async (t) => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const junk = fc.record({
    metadata: fc.oneof(
      value,
      fc.record({
        annotations: fc.constant({ "apps.kruise.io/container-launch-priority": "Ordered" }),
        ownerReferences: value,
        generateName: fc.string(),
      }),
    ),
    spec: fc.oneof(
      value,
      fc.record({
        containers: fc.oneof(value, fc.array(fc.oneof(value, fc.record({ env: value })))),
        readinessGates: value,
      }),
    ),
  });
  await fc.assert(
    fc.asyncProperty(junk, async (generated) => {
      const object: JsonObject = JSON.parse(JSON.stringify(generated));
      const { answer, pod: admitted } = await admit(object, { gates: everyPod });
      t.ok(answer.allowed);
      t.type(admitted, "object");
    }),
    { seed: 31, numRuns: 300 },
  );
});
