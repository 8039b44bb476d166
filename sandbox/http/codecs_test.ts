import t from "tap";
import { normalize } from "../resources/normal_form.ts";
import { duplicateFields } from "./duplicates.ts";
import { negotiate, parseAccept } from "./negotiate.ts";
import { parsePath } from "./path.ts";
import { decodeMessage, encodeMessage, messageOf } from "./protobuf_codec.ts";

t.test("carries built-in objects through protobuf unchanged", (t) => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "p",
      labels: { a: "b" },
      creationTimestamp: "2026-01-02T03:04:05Z",
      managedFields: [{ manager: "m", operation: "Update", fieldsV1: { "f:spec": {} } }],
    },
    spec: {
      priority: 0,
      volumes: [
        { name: "s", secret: { secretName: "x", items: [{ key: "k", path: "p", mode: 256 }] } },
        { name: "e", emptyDir: { sizeLimit: "1Gi" } },
      ],
      containers: [
        {
          name: "a",
          image: "x",
          env: [{ name: "E", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
          livenessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 3 },
          readinessProbe: { tcpSocket: { port: 80 } },
          resources: { limits: { cpu: "1", memory: "1Gi" } },
        },
      ],
    },
    status: { startTime: "2026-01-02T03:04:05Z" },
  };
  normalize(pod);
  const message = messageOf("v1", "Pod") ?? "";
  const back = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {},
    ...decodeMessage(message, encodeMessage(message, pod)),
  };
  normalize(back);
  t.same(back, pod);
  t.end();
});

t.test("keeps bytes, micro times and texts of numbers", (t) => {
  for (const [apiVersion, kind, value] of [
    ["v1", "Secret", { data: { a: "AAH/" }, type: "Opaque" }],
    [
      "coordination.k8s.io/v1",
      "Lease",
      { spec: { renewTime: "2026-01-02T03:04:05.000006Z", leaseTransitions: 0 } },
    ],
    ["apps/v1", "ControllerRevision", { data: { spec: { $patch: "replace" } }, revision: 3 }],
    ["policy/v1", "PodDisruptionBudget", { spec: { minAvailable: "50%", maxUnavailable: 1 } }],
  ] as const) {
    const message = messageOf(apiVersion, kind) ?? "";
    t.same(decodeMessage(message, encodeMessage(message, value)), value, kind);
  }
  t.end();
});

t.test("refuses protobuf that is none", (t) => {
  const message = messageOf("v1", "Pod") ?? "";
  t.throws(() => decodeMessage(message, Buffer.from([0x0a, 0x7f, 1])), { name: "ProtobufError" });
  t.equal(messageOf("v1", "Nothing"), undefined);
  t.end();
});

t.test("finds members that a text names twice", (t) => {
  t.same(duplicateFields('{"a":{"b":[{"c":1,"c":"}"},{"c":2}],"b":1},"d":"\\"","a":null}'), [
    "a.b[0].c",
    "a.b",
    "a",
  ]);
  t.same(duplicateFields("[1,2]"), []);
  t.end();
});

t.test("takes the first form that can be served", (t) => {
  const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  t.match(negotiate(table, { protobuf: true, transforms: true }), { as: "Table", encoding: "json" });
  const binary = "application/vnd.kubernetes.protobuf,application/json";
  t.match(negotiate(binary, { protobuf: false, transforms: true }), { encoding: "json" });
  t.match(negotiate(binary, { protobuf: true, transforms: true }), { encoding: "protobuf" });
  t.throws(() => negotiate("text/html", { protobuf: true, transforms: true }), { code: 406 });
  t.same(
    parseAccept("a/b;q=0.1, c/d").map((clause) => clause.type),
    ["c/d", "a/b"],
  );
  t.end();
});

t.test("reads paths", (t) => {
  t.match(parsePath("/api/v1/namespaces/x/pods/y/status"), {
    namespace: "x",
    plural: "pods",
    name: "y",
    subresource: "status",
  });
  t.match(parsePath("/api/v1/namespaces/x/finalize"), {
    namespace: "",
    plural: "namespaces",
    name: "x",
    subresource: "finalize",
  });
  t.match(parsePath("/api/v1/namespaces/status/pods"), { namespace: "status", plural: "pods", name: "" });
  t.match(parsePath("/apis/g/v/things/n%2Fm"), { group: "g", version: "v", plural: "things", name: "n/m" });
  t.equal(parsePath("/healthz"), undefined);
  t.end();
});
