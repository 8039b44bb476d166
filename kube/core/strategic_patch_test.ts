import fc from "fast-check";
import t from "tap";
import { applyStrategicPatch, coreStruct, coreTypeOf, createStrategicPatch, jsonEqual } from "./index.ts";

const name = fc.constantFrom("a", "b", "c", "d");
const labels = fc.dictionary(name, fc.string(), { noNullPrototype: true });
const unique = <T extends object>(item: fc.Arbitrary<T>, key: (item: T) => unknown) =>
  fc.uniqueArray(item, { selector: key, maxLength: 4 });
const container = fc.record({
  name,
  image: fc.constantFrom("x:1", "x:2"),
  args: fc.array(fc.string(), { maxLength: 2 }),
  env: unique(fc.record({ name, value: fc.string() }), (item) => item.name),
  ports: unique(fc.record({ containerPort: fc.nat(3) }), (item) => item.containerPort),
});
const volume = fc.oneof(
  fc.record({ name, emptyDir: fc.constant({}) }),
  fc.record({ name, configMap: fc.record({ name }) }),
);
const pod = fc.record({
  metadata: fc.record({ labels, finalizers: fc.uniqueArray(name) }),
  spec: fc.record({
    containers: unique(container, (item) => item.name),
    volumes: unique(volume, (item) => item.name),
    tolerations: fc.array(fc.record({ key: name }), { maxLength: 2 }),
    nodeName: fc.option(name, { nil: undefined }),
  }),
});

t.test("the created patch turns the first pod into the second", (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(pod, pod, (before, after) => {
        const kept = JSON.stringify(before);
        const patched = applyStrategicPatch(before, createStrategicPatch(before, after, "Pod"), "Pod");
        return jsonEqual(patched, after) && JSON.stringify(before) === kept;
      }),
      { seed: 17, numRuns: 500 },
    ),
  );
  t.end();
});

t.test("foreign keys and foreign elements stay", (t) => {
  const patch = createStrategicPatch(
    { metadata: { labels: { a: "1", b: "2" } }, spec: { containers: [{ name: "main", image: "x:1" }] } },
    { metadata: { labels: { a: "9" } }, spec: { containers: [{ name: "main", image: "x:2" }] } },
    "Pod",
  );
  t.same(patch, {
    metadata: { labels: { a: "9", b: null } },
    spec: {
      containers: [{ name: "main", image: "x:2" }],
      "$setElementOrder/containers": [{ name: "main" }],
    },
  });
  const live = {
    metadata: { labels: { a: "1", b: "2", mine: "x" } },
    spec: {
      containers: [
        { name: "main", image: "x:1", tty: true },
        { name: "sidecar", image: "s" },
      ],
    },
  };
  t.same(applyStrategicPatch(live, patch, "Pod"), {
    metadata: { labels: { a: "9", mine: "x" } },
    spec: {
      containers: [
        { name: "main", image: "x:2", tty: true },
        { name: "sidecar", image: "s" },
      ],
    },
  });
  t.end();
});

t.test("directives", (t) => {
  const apply = (original: object, patch: object, type = "PodSpec") =>
    applyStrategicPatch(original, patch, type);
  const two = {
    containers: [
      { name: "a", image: "1" },
      { name: "b", image: "2" },
    ],
  };
  t.same(apply(two, { containers: [{ name: "a", $patch: "delete" }] }), {
    containers: [{ name: "b", image: "2" }],
  });
  t.same(apply(two, { containers: [{ name: "c" }, { $patch: "replace" }] }), { containers: [{ name: "c" }] });
  t.same(apply({ ...two, nodeName: "n" }, { $patch: "replace", hostname: "h" }), { hostname: "h" });
  t.same(apply({ securityContext: { runAsUser: 1 } }, { securityContext: { $patch: "delete" } }), {
    securityContext: {},
  });
  t.same(
    apply(
      { finalizers: ["a", "b", "c"] },
      { "$deleteFromPrimitiveList/finalizers": ["b"], finalizers: ["d"] },
      "ObjectMeta",
    ),
    { finalizers: ["d", "a", "c"] },
  );
  t.same(
    apply(
      { containers: [{ name: "b" }, { name: "x" }, { name: "a" }] },
      { "$setElementOrder/containers": [{ name: "a" }, { name: "b" }] },
    ),
    { containers: [{ name: "x" }, { name: "a" }, { name: "b" }] },
  );
  t.same(
    apply(
      { volumes: [{ name: "v", emptyDir: {} }] },
      { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/" } }] },
    ),
    { volumes: [{ name: "v", hostPath: { path: "/" } }] },
  );
  t.same(apply({ tolerations: [{ key: "a" }] }, { tolerations: [{ key: "b" }] }), {
    tolerations: [{ key: "b" }],
  });
  t.same(apply({}, { volumes: [{ name: "v", emptyDir: null }], hostname: null }), {
    volumes: [{ name: "v" }],
  });
  t.end();
});

t.test("a revision's template replaces the live one", (t) => {
  const live = {
    spec: { replicas: 3, template: { metadata: { labels: { a: "1" } }, spec: { nodeName: "n" } } },
  };
  const data = { spec: { template: { $patch: "replace", spec: { containers: [] } } } };
  t.same(applyStrategicPatch(live, data, "StatefulSet"), {
    spec: { replicas: 3, template: { spec: { containers: [] } } },
  });
  t.end();
});

t.test("bad patches are refused with a code", (t) => {
  const code = (original: object, patch: object, type = "PodSpec") => {
    try {
      return JSON.stringify(applyStrategicPatch(original, patch, type));
    } catch (error) {
      return Object(error).code;
    }
  };
  const one = { containers: [{ name: "a" }], nodeSelector: { a: "b" } };
  t.equal(code(one, { containers: [{ image: "x" }] }), "InvalidPatch");
  t.equal(code(one, { containers: ["x"] }), "InvalidPatch");
  t.equal(code(one, { $patch: "explode" }), "InvalidPatch");
  t.equal(code({ foo: {} }, { foo: { a: 1 } }), "InvalidPath");
  t.equal(
    code(one, { "$setElementOrder/containers": [{ name: "b" }], containers: [{ name: "a" }] }),
    "InvalidPatch",
  );
  t.equal(code({ a: 1 }, { $retainKeys: ["b"], c: 1 }), "InvalidPatch");
  t.equal(code(one, {}, "Rollercoaster"), "InvalidPatch");
  t.end();
});

t.test("the table knows the core kinds", (t) => {
  t.equal(coreTypeOf("apps/v1", "Deployment"), "Deployment");
  t.equal(coreTypeOf("v1", "Pod"), "Pod");
  t.equal(coreTypeOf("apps.kruise.io/v1alpha1", "CloneSet"), undefined);
  const ports = coreStruct("Container")?.get("ports");
  t.equal(ports?.mergeKey, "containerPort");
  t.same(ports?.listKeys, ["containerPort", "protocol"]);
  t.equal(coreStruct("Container")?.get("restartPolicyRules")?.in132, false);
  t.end();
});
