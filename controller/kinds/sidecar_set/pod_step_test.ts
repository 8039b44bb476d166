import fc from "fast-check";
import t from "tap";
import type { SidecarSet, SidecarSetSpec } from "../../../crds/index.ts";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import {
  Cache,
  type ControllerRevision,
  controllerRevisionResource,
  KubeError,
  type Namespace,
  namespaceResource,
  type Resource,
  seededRandom,
} from "../../../kube/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { frozen } from "../../../testkit/controller/frozen_builder.ts";
import { podChain } from "../../../testkit/controller/pod_chain.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { objectAt, objectsAt } from "../../native/json_fields.ts";
import { sidecarSetResource } from "../../plan/resources.ts";
import { injectionSource } from "./injection/source.ts";

/** Caches that a test fills, in the place of watches. */
function cluster() {
  const caches = new Map<unknown, unknown>();
  const known = <T>(resource: Resource<T>): Cache<T> => {
    const held = caches.get(resource) ?? new Cache<T>(resource.codec);
    caches.set(resource, held);
    // The resource object is the same, hence the type of what it decodes.
    return held as Cache<T>;
  };
  const read: string[] = [];
  const refused: string[] = [];
  const source = injectionSource({
    systemNamespace: "kruise-system",
    informers: {
      caughtUp: async () => undefined,
      cacheOf: (resource, indexes = {}) => {
        const cache = known(resource);
        for (const [name, valuesOf] of Object.entries(indexes)) cache.addIndex(name, valuesOf);
        return cache;
      },
    },
    client: {
      get: async (_, { name }) => {
        read.push(name);
        throw new KubeError("NotFound", `namespace ${name} is not found`);
      },
    },
  });
  let version = 0;
  const sets = known(sidecarSetResource);
  const steps = new Map<string, number>();
  const mutate = podChain({
    clock: testClock(),
    random: seededRandom(5),
    sidecarSets: {
      ...source,
      sortByName: false,
      refused: ({ metadata }, { namespace, reason }) => {
        refused.push(`${metadata.name} ${namespace}: ${reason}`);
      },
    },
    gates: "EnhancedLivenessProbe=true",
    stepTook: (step, tookMs) => steps.set(step, tookMs),
  });
  const review = async (pod: JsonObject, namespace = "shop", more: { dryRun?: boolean } = {}) =>
    mutate(admissionRequest({ operation: "CREATE", namespace, name: "", object: pod, ...more }));
  return {
    read,
    refused,
    steps,
    review,
    namespace(name: string, labels: Record<string, string> = {}) {
      const given: Namespace = {
        ...metadata(name, "", String(++version)),
        labels: { "kubernetes.io/metadata.name": name, ...labels },
      };
      known(namespaceResource).upsert(given);
    },
    revision(given: Partial<ControllerRevision> & { name: string }) {
      known(controllerRevisionResource).upsert({
        ...metadata(given.name, "kruise-system", String(++version)),
        revision: 1,
        data: "",
        ...given,
      });
    },
    set(name: string, spec: SidecarSetSpec, more: Partial<SidecarSet["metadata"]> = {}, status = {}) {
      sets.upsert({
        metadata: { name, uid: name, resourceVersion: String(++version), generation: version, ...more },
        // What the caches hold must not be written to, by any step.
        spec: frozen(spec),
        status: { matchedPods: 0, updatedPods: 0, readyPods: 0, ...status },
      });
    },
    remove: (name: string) => sets.remove(name, name),
    async admit(pod: JsonObject, namespace?: string): Promise<JsonObject> {
      const answer = await review(pod, namespace);
      if (!answer.allowed) throw new Error(answer.message);
      return applyJsonPatch(pod, [...(answer.patch ?? [])]);
    },
  };
}

function metadata(name: string, namespace: string, resourceVersion: string) {
  return {
    namespace,
    name,
    uid: name,
    resourceVersion,
    generation: 1,
    labels: {},
    annotations: {},
    owners: [],
    finalizers: [],
    createdAt: 0,
    deletionAt: undefined,
  };
}

function podOf(labels: Record<string, string> = { app: "web" }, more: JsonObject = {}): JsonObject {
  return {
    metadata: { name: "web", labels },
    spec: { containers: [{ name: "app", image: "app:1" }] },
    ...more,
  };
}

const selector = { matchLabels: { app: "web" } };
const containers = (name: string, image = "sidecar:1") => [{ name, image }];
const namesIn = (pod: JsonObject) => objectsAt(objectAt(pod, "spec"), "containers").map(({ name }) => name);
const imageOf = (pod: JsonObject, name: string) =>
  objectsAt(objectAt(pod, "spec"), "containers").find((one) => one["name"] === name)?.["image"];
const hashesOf = (pod: JsonObject) =>
  JSON.parse(String(objectAt(objectAt(pod, "metadata"), "annotations")["kruise.io/sidecarset-hash"]));

t.test("sets that name their namespaces come first, then the rest, by name", async (t) => {
  const { namespace, set, admit } = cluster();
  namespace("shop", { team: "a" });
  namespace("bank", { team: "b" });
  const only = (values: string[]) => ({
    matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In" as const, values }],
  });
  set("z", { selector, namespaceSelector: only(["shop", "bank"]), containers: containers("z") });
  set("b", { selector, containers: containers("b") });
  set("a", { selector, namespaceSelector: { matchLabels: { team: "a" } }, containers: containers("a") });
  set("other", { selector: { matchLabels: { app: "db" } }, containers: containers("other") });
  t.strictSame(namesIn(await admit(podOf())), ["z", "a", "b", "app"]);
  t.strictSame(namesIn(await admit(podOf(), "bank")), ["z", "b", "app"]);
  t.strictSame(namesIn(await admit(podOf(), "gone")), ["b", "app"], "a namespace that is not known");
});

t.test("a namespace that the cache does not have yet is asked for, if it matters", async (t) => {
  const { set, review, read, admit } = cluster();
  set("a", { selector, namespaceSelector: { matchLabels: { team: "a" } }, containers: containers("a") });
  await review(podOf({ app: "db" }), "new");
  t.strictSame(read, []);
  t.strictSame(namesIn(await admit(podOf(), "new")), ["app"]);
  t.strictSame(read, ["new"]);
});

t.test("no sidecars: a pod that is over, a set that is paused, changed, gone or broken", async (t) => {
  const { set, admit, review, remove, steps } = cluster();
  set("a", { selector, containers: containers("a") });
  t.strictSame(namesIn(await admit(podOf())), ["a", "app"]);
  t.ok(steps.has("sidecar sets"), "what the step took is reported");
  t.strictSame(namesIn(await admit(podOf({ app: "web" }, { status: { phase: "Failed" } }))), ["app"]);
  set("a", { selector, containers: containers("a"), injectionStrategy: { paused: true } });
  t.strictSame(namesIn(await admit(podOf())), ["app"]);
  set("a", { selector: { matchLabels: { app: "db" } }, containers: containers("a") });
  t.strictSame(namesIn(await admit(podOf())), ["app"]);
  set("a", { selector, containers: containers("a") });
  t.strictSame(namesIn(await admit(podOf())), ["a", "app"]);
  remove("a");
  t.strictSame(namesIn(await admit(podOf())), ["app"]);
  set("empty", { selector: {}, containers: containers("a") });
  set("absent", { containers: containers("b") });
  set("malformed", Object({ selector: { matchLabels: { "-/-": "x" } }, containers: containers("c") }));
  t.strictSame(namesIn(await admit(podOf())), ["app"]);
  set("mistyped", Object({ selector, containers: 7 }));
  t.match(await review(podOf()), {
    code: 500,
    message: /^the stored object is malformed: .* \(SidecarSet mistyped\) /,
  });
  t.match(await review(podOf({ app: "db" })), { allowed: true });
});

t.test("a canary stands in for its base", async (t) => {
  const { set, admit } = cluster();
  const canary = {
    annotations: {
      "apps.kruise.io/sidecarset-canary": "true",
      "apps.kruise.io/sidecarset-base": "base",
    },
  };
  const selectors = { matchLabels: { app: "web", version: "canary" } };
  set("base", { selector, containers: containers("mesh", "mesh:1") });
  set("canary", { selector: selectors, containers: containers("mesh", "mesh:2") }, canary);
  const pod = await admit(podOf({ app: "web", version: "canary" }));
  t.strictSame(namesIn(pod), ["mesh", "app"]);
  t.equal(imageOf(pod, "mesh"), "mesh:2");
  t.strictSame(Object.keys(hashesOf(pod)), ["canary"]);
  t.equal(imageOf(await admit(podOf()), "mesh"), "mesh:1");
});

const data = (image: string) =>
  JSON.stringify({
    spec: {
      $patch: "replace",
      containers: containers("mesh", image),
      imagePullSecrets: null,
      initContainers: null,
      patchPodMetadata: null,
      volumes: null,
    },
  });

t.test("a pinned revision is injected with its hashes, the newest one of a version", async (t) => {
  const { set, admit, revision, review } = cluster();
  const of = (version: string) => ({
    labels: { "kruise.io/sidecarset-name": "a", "apps.kruise.io/sidecarset-custom-version": version },
  });
  revision({
    name: "a-1",
    revision: 1,
    data: data("mesh:1"),
    ...of("old"),
    annotations: { "kruise.io/sidecarset-hash": "h1" },
  });
  revision({
    name: "a-2",
    revision: 3,
    data: data("mesh:2"),
    ...of("old"),
    annotations: { "kruise.io/sidecarset-hash": "h2" },
  });
  revision({ name: "a-3", revision: 2, data: data("mesh:3"), ...of("old") });
  revision({ name: "other", data: '{"spec":{"template":{}}}' });
  const pinned = (pin: object, updateStrategy = {}) =>
    set("a", {
      selector,
      updateStrategy,
      containers: containers("mesh", "mesh:9"),
      injectionStrategy: { revision: { policy: "Always", ...pin } },
    });
  pinned({ customVersion: "old" });
  const pod = await admit(podOf());
  t.equal(imageOf(pod, "mesh"), "mesh:2");
  t.match(hashesOf(pod), { a: { hash: "h2", controllerRevision: "a-2", sidecarList: ["mesh"] } });
  pinned({ revisionName: "a-1", customVersion: "old" });
  t.equal(imageOf(await admit(podOf()), "mesh"), "mesh:1");
  pinned({ customVersion: "new" });
  t.match(await review(podOf()), {
    allowed: false,
    code: 500,
    message:
      "the ControllerRevision to inject is not found: none has custom version new (SidecarSet a) (sidecar sets)",
  });
  t.match(await review(podOf({ app: "db" })), { allowed: true }, "others are created all the same");
  pinned({ revisionName: "other" });
  t.match(await review(podOf()), {
    message: "ControllerRevision other holds no sidecars (SidecarSet a) (sidecar sets)",
  });
});

t.test("a set says for which of its faults a pod was refused, unless it was a dry run", async (t) => {
  const { set, review, refused } = cluster();
  set("whole", { selector, containers: containers("side") });
  set("broken", {
    selector,
    containers: [
      {
        name: "mesh",
        image: "mesh:1",
        resourcesPolicy: { targetContainersMode: "sum", resourcesExpr: { requests: { cpu: "cpu/0" } } },
      },
    ],
  });
  const message = "resourcesExpr.requests.cpu: division by zero (container mesh) (SidecarSet broken)";
  t.match(await review(podOf(), "shop", { dryRun: true }), { message: `${message} (sidecar sets)` });
  t.same(refused, []);
  t.match(await review(podOf()), { allowed: false });
  t.same(refused, [`broken shop: ${message}`]);
});

t.test("part of the pods gets the revision: by the update's selector, or by chance", async (t) => {
  const { set, admit, revision } = cluster();
  revision({ name: "a-1", data: data("mesh:1") });
  const partial = (updateStrategy: NonNullable<SidecarSetSpec["updateStrategy"]>) =>
    set("a", {
      selector,
      updateStrategy,
      containers: containers("mesh", "mesh:9"),
      injectionStrategy: { revision: { revisionName: "a-1", policy: "Partial" } },
    });
  const share = async (labels: Record<string, string> = {}) => {
    let old = 0;
    for (let count = 0; count < 400; count++) {
      if (imageOf(await admit(podOf({ app: "web", ...labels })), "mesh") === "mesh:1") old++;
    }
    return old / 400;
  };
  partial({});
  t.equal(await share(), 0);
  partial({ partition: 5 });
  t.equal(await share(), 0, "a number says nothing of a single pod");
  partial({ partition: "30%" });
  t.ok(Math.abs((await share()) - 0.3) < 0.1);
  partial({ selector: { matchLabels: { version: "canary" } } });
  t.equal(await share(), 1);
  t.equal(await share({ version: "canary" }), 0);
  partial({ paused: true });
  t.equal(await share(), 1);
});

t.test("the revision that the controller has made is named, not that of an earlier spec", async (t) => {
  const { set, admit } = cluster();
  set(
    "a",
    { selector, containers: containers("mesh") },
    { generation: 5 },
    { observedGeneration: 5, latestRevision: "a-5" },
  );
  t.equal(hashesOf(await admit(podOf())).a.controllerRevision, "a-5");
  set(
    "a",
    { selector, containers: containers("mesh") },
    { generation: 6 },
    { observedGeneration: 5, latestRevision: "a-5" },
  );
  t.equal(hashesOf(await admit(podOf())).a.controllerRevision, undefined);
  set(
    "a",
    { selector, containers: containers("mesh") },
    { generation: 6 },
    { observedGeneration: 6, latestRevision: "a-6" },
  );
  t.equal(hashesOf(await admit(podOf())).a.controllerRevision, "a-6");
});

t.test("sidecars are numbered by the launch priority that a set asks for", async (t) => {
  const { set, admit } = cluster();
  set("a", {
    selector,
    containers: containers("mesh"),
    patchPodMetadata: [{ annotations: { "apps.kruise.io/container-launch-priority": "Ordered" } }],
  });
  const pod = await admit(podOf());
  const keys = objectsAt(objectAt(pod, "spec"), "containers").map((container) => {
    const barrier = objectsAt(container, "env").find(({ name }) => name === "KRUISE_CONTAINER_BARRIER");
    return objectAt(objectAt(barrier ?? {}, "valueFrom"), "configMapKeyRef")["key"];
  });
  t.strictSame(keys, ["p_0", "p_-1"]);
});

t.test("probes of sidecars are moved, too, and stay those of the set", async (t) => {
  const { set, admit } = cluster();
  const livenessProbe = { exec: { command: ["true"] } };
  set("a", { selector, containers: [{ name: "mesh", image: "mesh:1", livenessProbe }] });
  const owned = podOf(undefined, {
    metadata: {
      name: "web",
      labels: { app: "web" },
      annotations: { "apps.kruise.io/using-enhanced-liveness": "true" },
      ownerReferences: [
        { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet", name: "web", controller: true },
      ],
    },
  });
  const [moved] = objectsAt(objectAt(await admit(owned), "spec"), "containers");
  t.strictSame([moved?.["name"], moved?.["livenessProbe"]], ["mesh", undefined]);
  const [kept] = objectsAt(objectAt(await admit(podOf()), "spec"), "containers");
  t.strictSame(kept?.["livenessProbe"], livenessProbe);
});

t.test("the order in which sets arrive does not matter", async (t) => {
  const names = ["a", "b", "c", "d"];
  const property = fc.asyncProperty(
    fc.shuffledSubarray(names, { minLength: names.length }),
    fc.array(fc.constantFrom(...names), { maxLength: 3 }),
    async (order, changed) => {
      const { set, admit } = cluster();
      const specs = new Map(
        names.map((name): [string, SidecarSetSpec] => [
          name,
          {
            selector,
            containers: containers(name),
            initContainers: containers(`init-${name}`),
            patchPodMetadata: [{ annotations: { "apps.kruise.io/container-launch-priority": "Ordered" } }],
          },
        ]),
      );
      for (const name of [...order, ...changed]) set(name, specs.get(name) ?? {});
      const [pod, again] = [await admit(podOf()), await admit(podOf())];
      t.strictSame(pod, again);
      t.strictSame(namesIn(pod), [...names, "app"]);
    },
  );
  await fc.assert(property, { seed: 3, numRuns: 100 });
});

t.test("whatever is stored as a set, pods that it does not select are created", async (t) => {
  const anything = fc.dictionary(
    fc.constantFrom(
      "selector",
      "namespaceSelector",
      "containers",
      "initContainers",
      "volumes",
      "injectionStrategy",
      "updateStrategy",
      "patchPodMetadata",
    ),
    fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant(selector),
      fc.constant({ matchLabels: { app: 1 } }),
      fc.constant({ matchExpressions: [{ key: "app", operator: "Like" }] }),
    ),
  );
  const property = fc.asyncProperty(anything, async (spec) => {
    const { set, review } = cluster();
    set("strange", Object(spec));
    const answer = await review(podOf({ app: "db" }));
    return answer.allowed && answer.patch === undefined;
  });
  await fc.assert(property, { seed: 4, numRuns: 1000 });
  t.pass("none was refused");
});
