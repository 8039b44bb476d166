import fc from "fast-check";
import t from "tap";
import {
  core,
  decode,
  encodeFromJson,
  encodeList,
  encodeWatchEvent,
  messageFromJson,
} from "../../proto/core/index.ts";
import type { WatchEvent } from "../client_types.ts";
import { isKubeError } from "../errors.ts";
import type { Pod } from "../pod.ts";
import { keptVariable } from "./container_reader.ts";
import { createPodResource, podResource } from "./core_resources.ts";
import { quantities, timeOf } from "./metadata.ts";
import { controllerOf } from "./pod_reader.ts";
import { amountsOf } from "./shared_parts.ts";

const seed = 20_261_121;
const protobuf = "application/vnd.kubernetes.protobuf";
const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/);
const text = fc.oneof(word, fc.string({ maxLength: 100 }), fc.constant("größe"));
const time = fc
  .integer({ min: -100, max: 4_000_000_000 })
  .map((seconds) => new Date(seconds * 1000).toISOString().replace(".000", ""));
const labels = fc.dictionary(word, text, { maxKeys: 6 });
const amounts = fc.record(
  {
    limits: fc.dictionary(word, fc.constantFrom("1", "500m", "2Gi"), { maxKeys: 3 }),
    requests: fc.dictionary(word, fc.constantFrom("1", "100m"), { maxKeys: 2 }),
  },
  { requiredKeys: [] },
);
const variable = fc.record(
  {
    name: fc.oneof(word, fc.constantFrom("KRUISE_CONTAINER_PRIORITY", "KRUISE_EJOB_ID")),
    value: text,
    valueFrom: fc.record(
      {
        fieldRef: fc.record({ apiVersion: fc.constant("v1"), fieldPath: text }),
        configMapKeyRef: fc.record({ name: word, key: word, optional: fc.boolean() }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["name"] },
);
const container = fc.record({
  name: word,
  image: fc.constantFrom("nginx:1", "nginx:2"),
  command: fc.array(text, { maxLength: 2 }),
  env: fc.array(variable, { maxLength: 3 }),
  resources: amounts,
  resizePolicy: fc.array(fc.record({ resourceName: fc.constantFrom("cpu", "memory"), restartPolicy: word }), {
    maxLength: 2,
  }),
});
const condition = fc.record({
  type: fc.constantFrom("Ready", "PodScheduled", "InPlaceUpdateReady"),
  status: fc.constantFrom("True", "False"),
  lastProbeTime: fc.constant(null),
  lastTransitionTime: time,
  reason: text,
  message: text,
});
const requirement = fc.record({
  key: fc.constantFrom("metadata.name", "other"),
  operator: fc.constantFrom("In", "NotIn"),
  values: fc.array(word, { maxLength: 2 }),
});
const affinity = fc.record({
  nodeAffinity: fc.record({
    preferredDuringSchedulingIgnoredDuringExecution: fc.constant([{ weight: 1, preference: {} }]),
    requiredDuringSchedulingIgnoredDuringExecution: fc.record({
      nodeSelectorTerms: fc.array(
        fc.record({
          matchExpressions: fc.constant([{ key: "zone", operator: "Exists" }]),
          matchFields: fc.array(requirement, { maxLength: 2 }),
        }),
        { maxLength: 2 },
      ),
    }),
  }),
});
const podJson = fc.record({
  metadata: fc.record(
    {
      name: word,
      namespace: word,
      uid: fc.uuid(),
      resourceVersion: fc.nat().map(String),
      generation: fc.nat(),
      creationTimestamp: time,
      deletionTimestamp: time,
      deletionGracePeriodSeconds: fc.nat(60),
      labels,
      annotations: labels,
      finalizers: fc.array(word, { maxLength: 2 }),
      managedFields: fc.array(fc.record({ manager: word, operation: fc.constantFrom("Apply", "Update") }), {
        maxLength: 3,
      }),
      ownerReferences: fc.array(
        fc.record({
          apiVersion: fc.constantFrom("v1", "apps.kruise.io/v1alpha1"),
          kind: word,
          name: word,
          uid: fc.uuid(),
          controller: fc.boolean(),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: ["name", "namespace", "uid", "resourceVersion"] },
  ),
  spec: fc.record({
    nodeName: fc.constantFrom("", "node-1", "node-2"),
    affinity: fc.option(affinity, { nil: undefined }),
    containers: fc.array(container, { maxLength: 3 }),
    readinessGates: fc.array(fc.record({ conditionType: word }), { maxLength: 2 }),
    volumes: fc.constant([{ name: "v", emptyDir: {} }]),
  }),
  status: fc.record({
    phase: fc.constantFrom("Pending", "Running"),
    podIP: fc.constantFrom("", "10.0.0.1"),
    observedGeneration: fc.nat(),
    conditions: fc.array(condition, { maxLength: 4 }),
    containerStatuses: fc.array(
      fc.record(
        {
          name: word,
          ready: fc.boolean(),
          restartCount: fc.nat(),
          image: word,
          imageID: text,
          containerID: text,
          resources: amounts,
        },
        { requiredKeys: ["name", "ready", "restartCount", "image", "imageID"] },
      ),
      { maxLength: 2 },
    ),
    initContainerStatuses: fc.array(fc.record({ name: word, restartCount: fc.nat({ max: 1000 }) }), {
      maxLength: 3,
    }),
  }),
});

/** The projection as the generated tables would have it: slow, plain, shares nothing. */
function expected(bytes: Uint8Array): Pod {
  const { metadata: meta, spec, status } = decode(core.Pod, bytes);
  if (!meta) throw new Error("no metadata");
  const resources = (from: core.ResourceRequirements) =>
    amountsOf(quantities(from.limits), quantities(from.requests));
  const owner = meta.ownerReferences.findLast((each) => each.controller);
  const observed = status?.observedGeneration ?? 0;
  return {
    namespace: meta.namespace,
    name: meta.name,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    createdAt: timeOf(meta.creationTimestamp) ?? 0,
    deletionAt: timeOf(meta.deletionTimestamp),
    labels: { ...meta.labels },
    annotations: { ...meta.annotations },
    finalizers: meta.finalizers,
    fieldManagers: meta.managedFields.some((each) => each.operation === "Apply")
      ? "applies"
      : meta.managedFields.length > 0
        ? "updates"
        : "none",
    controller: owner && controllerOf(owner),
    nodeName: spec?.nodeName ?? "",
    pinnedTo: spec?.nodeName ? undefined : pinnedTo(spec?.affinity),
    readinessGates: spec?.readinessGates.map((gate) => gate.conditionType) ?? [],
    containers: (spec?.containers ?? []).map((each) => ({
      name: each.name,
      image: each.image,
      resources: each.resources ? resources(each.resources) : {},
      env: each.env.flatMap(
        ({ name, value, valueFrom }) =>
          keptVariable({
            name,
            value,
            fieldPath: valueFrom?.fieldRef?.fieldPath,
            configMapKey: valueFrom?.configMapKeyRef && {
              name: valueFrom.configMapKeyRef.localObjectReference?.name ?? "",
              key: valueFrom.configMapKeyRef.key,
            },
          }) ?? [],
      ),
      resizePolicy: Object.fromEntries(
        each.resizePolicy.map((policy) => [policy.resourceName, policy.restartPolicy]),
      ),
    })),
    phase: status?.phase ?? "",
    conditions: (status?.conditions ?? []).map(
      ({ type, status: value, reason, message, lastTransitionTime }) => ({
        type,
        status: value,
        reason,
        message,
        lastTransitionAt: timeOf(lastTransitionTime) ?? 0,
      }),
    ),
    containerStatuses: (status?.containerStatuses ?? []).map((each) => ({
      name: each.name,
      image: each.image,
      imageID: each.imageID,
      containerID: each.containerID,
      ready: each.ready,
      restartCount: each.restartCount,
      ...(each.resources ? { resources: resources(each.resources) } : {}),
    })),
    initRestarts: (status?.initContainerStatuses ?? []).reduce((sum, each) => sum + each.restartCount, 0),
    podIP: status?.podIP ?? "",
    ...(observed > 0 && observed < meta.generation ? { behind: true as const } : {}),
  };
}

function pinnedTo(from: core.Affinity | undefined): string | undefined {
  const terms = from?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms
    .flatMap((term) => term.matchFields)
    .find(({ key, operator, values }) => key === "metadata.name" && operator === "In" && values.length === 1)
    ?.values[0];
}

const plain = (pod: Pod): unknown => JSON.parse(JSON.stringify(pod));

t.test(
  "property: the hand-written reader sees what the generated tables see, in protobuf and JSON",
  async (t) => {
    // One resource for all runs, so that what it shares between pods is put to the test as well.
    const { codec } = createPodResource();
    fc.assert(
      fc.property(podJson, (json) => {
        const want = plain(expected(messageFromJson("v1", "Pod", json)));
        const fromProtobuf = codec.decode(encodeFromJson("v1", "Pod", json), protobuf);
        const fromJson = codec.decode(Buffer.from(JSON.stringify(json)), "application/json");
        t.same(plain(fromProtobuf), want);
        t.same(plain(fromJson), want);
      }),
      { seed, numRuns: 400 },
    );
  },
);

t.test("equal parts of different pods are one object", async (t) => {
  const { codec } = createPodResource();
  const make = (name: string): Pod =>
    codec.decode(
      encodeFromJson("v1", "Pod", {
        metadata: {
          name,
          namespace: "ns",
          uid: `uid-${name}`,
          ownerReferences: [
            {
              apiVersion: "apps.kruise.io/v1alpha1",
              kind: "CloneSet",
              name: "web",
              uid: "1",
              controller: true,
            },
          ],
          annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
        },
        spec: {
          containers: [
            {
              name: "main",
              image: "nginx",
              volumeMounts: [{ name: `token-${name}` }],
              resources: { limits: { cpu: "1" } },
            },
          ],
          readinessGates: [{ conditionType: "InPlaceUpdateReady" }],
        },
        status: {
          conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
        },
      }),
      protobuf,
    );
  const [one, two] = [make("a"), make("b")];
  t.equal(one.containers, two.containers);
  t.equal(one.controller, two.controller);
  t.equal(one.readinessGates, two.readinessGates);
  t.equal(one.conditions[0], two.conditions[0]);
  t.same(one.controller, { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "1" });
  t.same(one.annotations, {}, "what kubectl apply leaves is not kept");
  t.match(codec.identify(one), { key: "ns/a", uid: "uid-a" });
});

t.test(
  "equal bytes of one version are read once; other contents of that version are not mixed up",
  async (t) => {
    const { codec } = createPodResource();
    const bytes = (version: string, podIP: string) =>
      encodeFromJson("v1", "Pod", {
        metadata: { name: "a", namespace: "ns", uid: "uid-a", resourceVersion: version },
        status: { podIP },
      });
    const answer = codec.decode(bytes("7", "10.0.0.1"), protobuf);
    const [event] = codec.watchDecoder(`${protobuf};stream=watch`).push(
      encodeWatchEvent("MODIFIED", "v1", "Pod", {
        metadata: { name: "a", namespace: "ns", uid: "uid-a", resourceVersion: "7" },
        status: { podIP: "10.0.0.1" },
      }),
    );
    t.ok(
      event?.type === "MODIFIED" && event.object === answer,
      "the event of a write is what it was answered",
    );
    t.equal(codec.decode(bytes("8", "10.0.0.1"), protobuf).resourceVersion, "8");
    t.equal(codec.decode(bytes("7", "10.0.0.2"), protobuf).podIP, "10.0.0.2", "as a dry run would show it");
    t.equal(codec.decode(bytes("7", "10.0.0.1"), protobuf), answer);
    const unversioned = codec.decode(bytes("", "10.0.0.1"), protobuf);
    t.not(
      codec.decode(bytes("", "10.0.0.1"), protobuf),
      unversioned,
      "what has no version is read each time",
    );
  },
);

t.test("lists keep what can be read and name the rest", async (t) => {
  const good = messageFromJson("v1", "Pod", { metadata: { name: "a", namespace: "ns" } });
  const bad = Buffer.concat([
    messageFromJson("v1", "Namespace", { metadata: { name: "b", namespace: "ns" } }),
    Buffer.from([18, 90, 1]),
  ]);
  const body = encodeList("v1", "Pod", { resourceVersion: "12", continue: "more" }, [good, bad]);
  const page = podResource.codec.decodeList(body, protobuf);
  t.equal(page.items.length, 1);
  t.match(page, { resourceVersion: "12", continue: "more" });
  t.equal(page.undecodable.length, 1);
});

t.test("watch frames are found wherever the stream is cut", async (t) => {
  const pod = { metadata: { name: "a", namespace: "ns", resourceVersion: "7" } };
  const stream = Buffer.concat([
    encodeWatchEvent("ADDED", "v1", "Pod", pod),
    encodeWatchEvent("DELETED", "v1", "Pod", pod),
    encodeWatchEvent("BOOKMARK", "v1", "Pod", {
      metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } },
    }),
    encodeWatchEvent("ERROR", "v1", "Status", { code: 410, reason: "Expired", message: "too old" }),
  ]);
  fc.assert(
    fc.property(fc.array(fc.nat(stream.byteLength), { maxLength: 8 }), (cuts) => {
      const decoder = podResource.codec.watchDecoder(`${protobuf};stream=watch`);
      const events: WatchEvent<Pod>[] = [];
      let from = 0;
      for (const cut of [...cuts.sort((a, b) => a - b), stream.byteLength]) {
        events.push(...decoder.push(stream.subarray(from, cut)));
        from = cut;
      }
      return (
        events.map((event) => event.type).join() === "ADDED,DELETED,BOOKMARK,ERROR" &&
        events[2]?.type === "BOOKMARK" &&
        events[2].initialEventsEnd &&
        events[2].resourceVersion === "9" &&
        events[3]?.type === "ERROR" &&
        events[3].code === 410
      );
    }),
    { seed, numRuns: 200 },
  );
  t.pass("in all cuts");
});

t.test("fuzz: corrupt bytes give Decode errors or UNDECODABLE, never anything else", async (t) => {
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(
      podJson,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      fc.nat(),
      (json, flips, cut) => {
        const harm = (bytes: Uint8Array): Buffer => {
          const copy = Buffer.from(bytes);
          for (const [at, byte] of flips) copy[at % copy.byteLength] = byte;
          return copy.subarray(0, copy.byteLength - (cut % 3 === 0 ? cut % copy.byteLength : 0));
        };
        const attempts: (() => unknown)[] = [
          () => podResource.codec.decode(harm(encodeFromJson("v1", "Pod", json)), protobuf),
          () => podResource.codec.decode(harm(Buffer.from(JSON.stringify(json))), "application/json"),
          () =>
            podResource.codec.decodeList(
              harm(encodeList("v1", "Pod", {}, [messageFromJson("v1", "Pod", json)])),
              protobuf,
            ),
          () =>
            podResource.codec.watchDecoder(protobuf).push(harm(encodeWatchEvent("ADDED", "v1", "Pod", json))),
        ];
        for (const attempt of attempts) {
          try {
            attempt();
            outcomes.add("decoded");
          } catch (error) {
            if (!isKubeError(error, "Decode")) throw error;
            outcomes.add("refused");
          }
        }
      },
    ),
    { seed, numRuns: 1500 },
  );
  t.same([...outcomes].sort(), ["decoded", "refused"]);
});

t.test("a frame of absurd length is refused at once, not waited for", async (t) => {
  const decoder = podResource.codec.watchDecoder(protobuf);
  t.throws(() => decoder.push(Buffer.from([0xff, 0xff, 0xff, 0xff])), { code: "Decode" });
});
