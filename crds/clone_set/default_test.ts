import fc from "fast-check";
import t from "tap";
import {
  applyMergePatch,
  cloneJson,
  isJsonObject,
  type JsonObject,
  jsonEqual,
} from "../../kube/core/index.ts";
import { convertCloneSet } from "./convert.ts";
import { defaultCloneSet } from "./default.ts";
import { cloneSet } from "./schema.ts";

const options = { templateDefaults: true, hostNetworkPorts: false };

function sample(version: string, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "CloneSet",
    metadata: { name: "sample" },
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "main", image: "nginx:1" }] },
      },
      ...spec,
    },
  };
}

t.test("v1alpha1 gets its defaults", async (t) => {
  t.match(defaultCloneSet(sample("v1alpha1"), options), {
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      scaleStrategy: {},
      updateStrategy: { type: "ReCreate", partition: 0, maxUnavailable: "20%", maxSurge: 0 },
      template: {
        spec: {
          restartPolicy: "Always",
          dnsPolicy: "ClusterFirst",
          terminationGracePeriodSeconds: 30,
          containers: [{ imagePullPolicy: "Always", terminationMessagePath: "/dev/termination-log" }],
        },
      },
    },
  });
});

t.test("v1beta1 gets its defaults, at their places", async (t) => {
  const { spec } = defaultCloneSet(sample("v1beta1"), options);
  t.strictSame(Object(spec).updateStrategy, {
    type: "RollingUpdate",
    rollingUpdate: { podUpdatePolicy: "ReCreate", partition: 0, maxUnavailable: "20%", maxSurge: 0 },
  });
});

t.test("OnDelete gets no rollout settings", async (t) => {
  const { spec } = defaultCloneSet(sample("v1beta1", { updateStrategy: { type: "OnDelete" } }), options);
  t.strictSame(Object(spec).updateStrategy, { type: "OnDelete" });
});

t.test("in-place policies get an empty strategy, given values stay", async (t) => {
  const updateStrategy = { type: "InPlaceOnly", maxUnavailable: 0, partition: "50%" };
  t.strictSame(
    Object(defaultCloneSet(sample("v1alpha1", { updateStrategy, replicas: 0 }), options)["spec"])
      .updateStrategy,
    {
      ...updateStrategy,
      inPlaceUpdateStrategy: {},
      maxSurge: 0,
    },
  );
});

t.test(
  "an unchanged object of v1alpha1 stays as its server shows it, however often it is written",
  async () => {
    const strategy = fc.record(
      {
        type: fc.constantFrom("ReCreate", "InPlaceIfPossible", "InPlaceOnly", "OnDelete"),
        inPlaceUpdateStrategy: fc.constantFrom({}, { gracePeriodSeconds: 3 }),
        partition: fc.constantFrom(0, "50%"),
        maxUnavailable: fc.constantFrom("20%", 1),
        maxSurge: fc.constantFrom(0, 1),
      },
      { requiredKeys: [] },
    );
    // Settings of OnDelete other than the defaults are lost to the API, whoever writes them.
    const kept = strategy.map((given) => (given.type === "OnDelete" ? { type: given.type } : given));
    fc.assert(
      fc.property(kept, (updateStrategy) => {
        const written = sample("v1alpha1", { updateStrategy });
        const stored = convertCloneSet(defaultCloneSet(written, options), "v1beta1");
        const shown = convertCloneSet(stored, "v1alpha1");
        const applied = applyMergePatch(shown, { spec: { updateStrategy } });
        const again = isJsonObject(applied)
          ? defaultCloneSet(applied, { ...options, old: shown })
          : undefined;
        return jsonEqual(again, shown);
      }),
      { seed: 20, numRuns: 500 },
    );
  },
);

t.test("templates are left alone with the gate, and on updates that do not change them", async (t) => {
  const object = sample("v1beta1", { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] });
  const gate = defaultCloneSet(object, { ...options, templateDefaults: false });
  t.strictSame(Object(gate["spec"]).template, Object(object["spec"]).template);
  const same = defaultCloneSet(object, { ...options, old: cloneJson(object) });
  t.strictSame(Object(same["spec"]).template, Object(object["spec"]).template);
  const created = defaultCloneSet(object, options);
  t.match(created, {
    spec: { volumeClaimTemplates: [{ metadata: { name: "data" }, status: { phase: "Pending" } }] },
  });
});

t.test("host ports are filled in with their gate only", async (t) => {
  const spec = {
    hostNetwork: true,
    containers: [{ name: "main", image: "a", ports: [{ containerPort: 80 }] }],
  };
  const object = sample("v1beta1", { template: { metadata: { labels: { app: "a" } }, spec } });
  const ports = (hostNetworkPorts: boolean) =>
    Object(defaultCloneSet(object, { ...options, hostNetworkPorts })["spec"]).template.spec.containers[0]
      .ports;
  t.strictSame(ports(false), [{ containerPort: 80, protocol: "TCP" }]);
  t.strictSame(ports(true), [{ containerPort: 80, protocol: "TCP", hostPort: 80 }]);
});

t.test("the given object is not changed", async (t) => {
  const object = sample("v1beta1");
  const before = cloneJson(object);
  defaultCloneSet(object, options);
  t.strictSame(object, before);
});

t.test("defaulting twice is defaulting once", async (t) => {
  const amount = fc.option(fc.oneof(fc.integer(), fc.string()), { nil: undefined });
  const strategy = fc.record({
    type: fc.constantFrom(
      undefined,
      "",
      "ReCreate",
      "InPlaceOnly",
      "InPlaceIfPossible",
      "RollingUpdate",
      "OnDelete",
      "x",
    ),
    partition: amount,
    maxSurge: amount,
    rollingUpdate: fc.option(
      fc.record({ podUpdatePolicy: fc.constantFrom(undefined, "InPlaceOnly"), maxSurge: amount }),
      { nil: undefined },
    ),
  });
  fc.assert(
    fc.property(
      fc.constantFrom("v1alpha1", "v1beta1"),
      strategy,
      fc.boolean(),
      (version, updateStrategy, hostNetwork) => {
        const template = {
          metadata: { labels: { app: "a" } },
          spec: { hostNetwork, containers: [{ name: "m", ports: [{ containerPort: 1 }] }] },
        };
        const object = cloneJson(sample(version, { updateStrategy, template }));
        const once = defaultCloneSet(object, { templateDefaults: true, hostNetworkPorts: true });
        t.strictSame(defaultCloneSet(once, { templateDefaults: true, hostNetworkPorts: true }), once);
      },
    ),
    { seed: 21, numRuns: 300 },
  );
});

t.test("what decodes can be defaulted, whatever it holds", async (t) => {
  const junk = fc.dictionary(
    fc.constantFrom("template", "updateStrategy", "replicas", "volumeClaimTemplates", "x"),
    fc.jsonValue({ maxDepth: 4 }),
  );
  let defaulted = 0;
  fc.assert(
    fc.property(fc.constantFrom("v1alpha1", "v1beta1"), fc.oneof(junk, fc.jsonValue()), (version, spec) => {
      const object: JsonObject = {
        apiVersion: `apps.kruise.io/${version}`,
        kind: "CloneSet",
        metadata: {},
        spec,
      };
      if ("errors" in cloneSet.read(object)) return;
      defaulted++;
      t.type(defaultCloneSet(object, options), "object");
    }),
    { seed: 22, numRuns: 500 },
  );
  t.ok(defaulted > 10, "some junk decodes");
});
