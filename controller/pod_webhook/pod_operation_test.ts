import t from "tap";
import type { JsonObject } from "../../kube/core/index.ts";
import { admissionRequest } from "../../testkit/controller/admission_builder.ts";
import type { AdmissionRequest } from "../runtime/admission/request.ts";
import { operationOf } from "./pod_operation.ts";

const container = { name: "main", image: "app:1", resources: { requests: { cpu: "1" } } };

function pod(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name: "web", labels: {}, ...metadata }, spec: { containers: [container], ...spec } };
}

function request(changes: Partial<AdmissionRequest>): AdmissionRequest {
  return admissionRequest({ operation: "UPDATE", ...changes });
}

function update(object: JsonObject, oldObject = pod()) {
  return operationOf(request({ object, oldObject }));
}

t.test("deletions and evictions", async (t) => {
  t.equal(operationOf(request({ operation: "DELETE", oldObject: pod() })), "DELETE");
  t.equal(operationOf(request({ operation: "DELETE" })), undefined);
  t.equal(operationOf(request({ operation: "CREATE", subresource: "eviction", object: {} })), "EVICT");
  t.equal(
    operationOf(request({ operation: "UPDATE", subresource: "status", object: pod(), oldObject: pod() })),
    undefined,
  );
});

t.test("updates of the spec, and the first label that makes a pod unavailable", async (t) => {
  const unavailable = { labels: { "unavailable-pod.kruise.io/x": "1" } };
  t.equal(update(pod({}, { labels: { other: "x" } })), undefined);
  t.equal(update(pod({}, unavailable)), "UPDATE");
  t.equal(
    update(pod({}, unavailable), pod({}, { labels: { "unavailable-pod.kruise.io/y": "1" } })),
    undefined,
  );
  t.equal(update(pod({ containers: [{ ...container, image: "app:2" }] })), "UPDATE");
});

t.test(
  "amounts alone are a resize, unless they restart a container or change the quality of service",
  async (t) => {
    const sized = (resources: JsonObject, more: JsonObject = {}) =>
      pod({ containers: [{ ...container, ...more, resources }] });
    t.equal(update(sized({ requests: { cpu: "2" } })), "RESIZE");
    t.equal(update(sized({ requests: { cpu: "1", memory: "1Gi" } })), "RESIZE");
    t.equal(update(sized({ requests: { cpu: "1", "example.com/gpu": "1" } })), "UPDATE");
    t.equal(update(sized({})), "UPDATE", "best effort from now on");
    const resizePolicy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
    const before = sized({ requests: { cpu: "1" } }, { resizePolicy });
    t.equal(update(sized({ requests: { cpu: "2" } }, { resizePolicy }), before), "UPDATE");
    const isStatic = { annotations: { "kubernetes.io/config.source": "file" } };
    t.equal(update({ ...sized({ requests: { cpu: "2" } }), metadata: isStatic }), "UPDATE");
  },
);
