import fc from "fast-check";
import protobuf from "protobufjs";
import t from "tap";
import {
  core,
  decode,
  encodeFromJson,
  encodeList,
  encodeWatchEvent,
  messageFromJson,
  readListFrame,
  readWatchFrame,
  unwrap,
  WireError,
} from "./index.ts";

const definition = protobuf.loadSync("proto/core/core.proto");

t.test("the generated tables are those of the definition", async (t) => {
  const types = definition.lookup("kubernetes.core");
  if (!(types instanceof protobuf.Namespace)) throw new Error("no package kubernetes.core");
  for (const type of types.nestedArray) {
    if (!(type instanceof protobuf.Type)) continue;
    const table = Object.values(core).find((each) => each.name === type.name);
    t.same(
      table?.fields.map((field) => `${field.number} ${field.name}`),
      type.fieldsArray.map((field) => `${field.id} ${field.name}`),
      type.name,
    );
  }
});

t.test("what is written from JSON, an independent codec reads", async (t) => {
  const bytes = messageFromJson("v1", "Node", {
    metadata: {
      name: "n",
      labels: { a: "ü" },
      creationTimestamp: "2026-01-02T03:04:05Z",
      ownerReferences: [{ apiVersion: "v1", kind: "K", name: "o", uid: "u", controller: true }],
    },
    spec: {
      unschedulable: true,
      taints: [{ key: "k", effect: "NoSchedule", timeAdded: "1969-12-31T23:59:59.5Z" }],
      podCIDR: "not in the table",
    },
    status: { allocatable: { cpu: "2", memory: 1024 } },
  });
  const read = definition
    .lookupType("kubernetes.core.Node")
    .toObject(definition.lookupType("kubernetes.core.Node").decode(bytes), { longs: Number });
  t.same(read, {
    metadata: {
      name: "n",
      labels: { a: "ü" },
      creationTimestamp: { seconds: 1_767_323_045 },
      ownerReferences: [{ apiVersion: "v1", kind: "K", name: "o", uid: "u", controller: true }],
    },
    spec: {
      unschedulable: true,
      taints: [{ key: "k", effect: "NoSchedule", timeAdded: { seconds: -1, nanos: 500_000_000 } }],
    },
    status: { allocatable: { cpu: { string: "2" }, memory: { string: "1024" } } },
  });
});

t.test("embedded JSON and inlined references", async (t) => {
  const revision = decode(
    core.ControllerRevision,
    messageFromJson("apps/v1", "ControllerRevision", {
      metadata: { name: "r" },
      revision: 7,
      data: { spec: { a: [1, null] } },
    }),
  );
  t.equal(revision.revision, 7);
  t.equal(new TextDecoder().decode(revision.data?.raw), '{"spec":{"a":[1,null]}}');
  const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "map", key: "k" } } }];
  const pod = decode(
    core.Pod,
    messageFromJson("v1", "Pod", { metadata: {}, spec: { containers: [{ name: "c", env }] } }),
  );
  t.match(pod.spec?.containers[0]?.env[0]?.valueFrom?.configMapKeyRef, {
    key: "k",
    localObjectReference: { name: "map" },
  });
});

t.test("values of a wrong type are refused with their place", async (t) => {
  const node = (more: object) => () => messageFromJson("v1", "Node", { metadata: { name: "n" }, ...more });
  t.throws(node({ spec: { unschedulable: "yes" } }), {
    name: "WireError",
    message: /NodeSpec\.unschedulable: expected bool/,
  });
  t.throws(node({ spec: { taints: {} } }), /NodeSpec\.taints: not a list/);
  t.throws(node({ status: { allocatable: { cpu: {} } } }), /allocatable\[cpu\]: not a quantity/);
  t.throws(node({ metadata: { creationTimestamp: "yesterday" } }), /not a time/);
  t.throws(() => encodeFromJson("v1", "Endpoints", {}), /no protobuf form/);
});

t.test("envelopes, lists and watch frames are read as they were written", async (t) => {
  const one = unwrap(encodeFromJson("v1", "Namespace", { metadata: { name: "a" } }));
  t.match(one, { apiVersion: "v1", kind: "Namespace" });
  t.equal(decode(core.Namespace, one.raw).metadata?.name, "a");
  const items = ["a", "b"].map((name) => messageFromJson("v1", "Namespace", { metadata: { name } }));
  const list = unwrap(encodeList("v1", "Namespace", { resourceVersion: "5", continue: "c" }, items));
  t.equal(list.kind, "NamespaceList");
  const frame = readListFrame(list.raw);
  t.match(frame, { resourceVersion: "5", continue: "c" });
  t.same(
    frame.items.map((item) => decode(core.Namespace, item).metadata?.name),
    ["a", "b"],
  );
  const event = encodeWatchEvent("ADDED", "v1", "Namespace", { metadata: { name: "a" } });
  t.equal(new DataView(event.buffer).getUint32(0), event.byteLength - 4);
  const read = readWatchFrame(event.subarray(4));
  t.equal(read.type, "ADDED");
  t.match(unwrap(read.object), { kind: "Namespace" });
});

t.test("fuzz: foreign bytes are a WireError or are read, nothing else", async (t) => {
  const good = encodeList("v1", "Namespace", { resourceVersion: "5" }, [
    messageFromJson("v1", "Namespace", { metadata: { name: "a" } }),
  ]);
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.nat(good.byteLength - 1),
      fc.nat(255),
      (noise, at, byte) => {
        const harmed = Uint8Array.from(good);
        harmed[at] = byte;
        const readers: (() => unknown)[] = [
          () => unwrap(noise),
          () => readWatchFrame(noise),
          () => readListFrame(noise),
          () => readListFrame(unwrap(harmed).raw),
        ];
        for (const read of readers) {
          try {
            read();
          } catch (error) {
            if (!(error instanceof WireError)) throw error;
          }
        }
      },
    ),
    { seed: 20_261_123, numRuns: 2000 },
  );
  t.throws(() => unwrap(new Uint8Array(3)), WireError);
});
