import fc from "fast-check";
import t from "tap";
import type { JsonObject } from "../../kube/core/index.ts";
import { SchemaError } from "../errors.ts";
import { convertCloneSet } from "./convert.ts";

const fixed = { seed: 20, numRuns: 300 };
const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "main", image: "nginx:1" }] },
};
const selector = { matchLabels: { app: "a" } };

function alpha(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  const name = { name: "sample", uid: "1", resourceVersion: "7" };
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { ...name, ...metadata },
    spec: { selector, template, ...spec },
  };
}

function beta(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { ...alpha(spec, metadata), apiVersion: "apps.kruise.io/v1beta1" };
}

t.test("v1alpha1 defaults read as v1beta1", async (t) => {
  const updateStrategy = { type: "ReCreate", partition: 0, maxUnavailable: "20%", maxSurge: 0 };
  t.strictSame(
    convertCloneSet(alpha({ updateStrategy }), "v1beta1"),
    beta({
      scaleStrategy: { enablePVCReuse: true },
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "ReCreate", maxSurge: 0, maxUnavailable: "20%", partition: 0 },
      },
    }),
  );
});

t.test("reuse of claims is the negation, both ways", async (t) => {
  const disabled = convertCloneSet(alpha({ scaleStrategy: { disablePVCReuse: true } }), "v1beta1");
  t.match(disabled, { spec: { scaleStrategy: { enablePVCReuse: false } } });
  t.match(convertCloneSet(disabled, "v1alpha1"), { spec: { scaleStrategy: { disablePVCReuse: true } } });
  t.match(convertCloneSet(beta({}), "v1alpha1"), { spec: { scaleStrategy: { disablePVCReuse: true } } });
  t.equal(
    JSON.stringify(convertCloneSet(beta({ scaleStrategy: { enablePVCReuse: true } }), "v1alpha1")).includes(
      "disablePVCReuse",
    ),
    false,
  );
});

t.test("the exclusion label becomes the field and is not written back", async (t) => {
  const label = { "apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true" };
  const converted = convertCloneSet(alpha({}, { labels: label }), "v1beta1");
  t.match(converted, {
    metadata: { labels: label },
    spec: { scaleStrategy: { excludePreparingDelete: true } },
  });
  const back = convertCloneSet(
    beta({ scaleStrategy: { excludePreparingDelete: true, enablePVCReuse: true } }),
    "v1alpha1",
  );
  t.equal(JSON.stringify(back).includes("xclude"), false);
});

t.test("OnDelete loses its rollout settings in both directions", async (t) => {
  const down = convertCloneSet(
    alpha({ updateStrategy: { type: "OnDelete", partition: 3, paused: true } }),
    "v1beta1",
  );
  t.match(down, { spec: { updateStrategy: { type: "OnDelete", rollingUpdate: undefined } } });
  const up = convertCloneSet(
    beta({ updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 3 } } }),
    "v1alpha1",
  );
  t.strictSame(Object(up["spec"]).updateStrategy, { type: "OnDelete" });
});

t.test("an unknown or missing policy becomes ReCreate", async (t) => {
  t.match(convertCloneSet(alpha({ updateStrategy: { type: "Other" } }), "v1beta1"), {
    spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { podUpdatePolicy: "ReCreate" } } },
  });
  t.match(convertCloneSet(beta({}), "v1alpha1"), { spec: { updateStrategy: { type: "ReCreate" } } });
});

t.test("pre-download annotations become fields, unreadable ones are ignored", async (t) => {
  const annotations = {
    "apps.kruise.io/image-predownload-parallelism": "50%",
    "apps.kruise.io/image-predownload-timeout-seconds": "many",
    "apps.kruise.io/image-predownload-min-updated-ready-pods": "2",
  };
  const converted = convertCloneSet(
    alpha({ updateStrategy: { type: "InPlaceOnly" } }, { annotations }),
    "v1beta1",
  );
  t.match(converted, {
    metadata: { annotations },
    spec: {
      updateStrategy: {
        rollingUpdate: {
          inPlaceUpdateStrategy: {
            imagePreDownloadParallelism: "50%",
            imagePreDownloadMinUpdatedReadyPods: 2,
          },
        },
      },
    },
  });
  t.equal(JSON.stringify(converted).includes("TimeoutSeconds"), false);
});

t.test("set pre-download fields overwrite annotations, unset ones leave them", async (t) => {
  const annotations = {
    "apps.kruise.io/image-predownload-parallelism": "1",
    "apps.kruise.io/image-predownload-timeout-seconds": "60",
  };
  const inPlaceUpdateStrategy = { imagePreDownloadParallelism: 5 };
  const object = beta(
    { updateStrategy: { type: "RollingUpdate", rollingUpdate: { inPlaceUpdateStrategy } } },
    { annotations },
  );
  const converted = convertCloneSet(object, "v1alpha1");
  t.match(converted, {
    metadata: {
      annotations: {
        "apps.kruise.io/image-predownload-parallelism": "5",
        "apps.kruise.io/image-predownload-timeout-seconds": "60",
      },
    },
    spec: { updateStrategy: { inPlaceUpdateStrategy: undefined } },
  });
  t.match(object, { metadata: { annotations } }, "the given object is not changed");
});

t.test("other versions are refused", async (t) => {
  t.throws(
    () => convertCloneSet(alpha({}), "v2"),
    new SchemaError("UnsupportedVersion", "unsupported version: v2"),
  );
  t.throws(() => convertCloneSet({ apiVersion: "apps.kruise.io/v9" }, "v1beta1"), {
    code: "UnsupportedVersion",
  });
});

const amount = fc.oneof(
  fc.nat(20),
  fc.nat(100).map((percent) => `${percent}%`),
);
const rollout = {
  maxSurge: amount,
  maxUnavailable: amount,
  partition: amount,
  paused: fc.boolean(),
  scatterStrategy: fc.array(fc.record({ key: fc.string(), value: fc.string() })),
  priorityStrategy: fc.constant({ orderPriority: [{ orderedKey: "o" }] }),
};
const grace = fc.option(fc.record({ gracePeriodSeconds: fc.integer({ min: 1, max: 900 }) }), {
  nil: undefined,
});
const scaling = { podsToDelete: fc.array(fc.string()), maxUnavailable: amount };
const commonSpec = {
  replicas: fc.nat(10),
  minReadySeconds: fc.nat(10),
  lifecycle: fc.constant({ preDelete: { labelsHandler: { a: "b" } } }),
  volumeClaimTemplates: fc.constant([{ metadata: { name: "data" } }]),
};
const policy = fc.constantFrom("ReCreate", "InPlaceIfPossible", "InPlaceOnly");
const drop = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value));

t.test("what v1alpha1 can say survives the way through v1beta1", async () => {
  const spec = fc.record(
    {
      ...commonSpec,
      scaleStrategy: fc.record(
        { ...scaling, disablePVCReuse: fc.constant(true) },
        { requiredKeys: ["podsToDelete"] },
      ),
    },
    { requiredKeys: ["scaleStrategy"] },
  );
  const strategy = fc.record(
    { ...rollout, type: policy, inPlaceUpdateStrategy: grace },
    { requiredKeys: ["type"] },
  );
  fc.assert(
    fc.property(spec, strategy, (spec, updateStrategy) => {
      const object = drop(alpha({ ...spec, updateStrategy }));
      t.strictSame(drop(convertCloneSet(convertCloneSet(object, "v1beta1"), "v1alpha1")), object);
    }),
    fixed,
  );
});

t.test("what both versions can say survives the way through v1alpha1", async () => {
  const rollingUpdate = fc.record(
    { ...rollout, podUpdatePolicy: policy, inPlaceUpdateStrategy: grace },
    { requiredKeys: ["podUpdatePolicy"] },
  );
  const scaleStrategy = fc.record(
    { ...scaling, enablePVCReuse: fc.boolean() },
    { requiredKeys: ["enablePVCReuse"] },
  );
  fc.assert(
    fc.property(
      fc.record(commonSpec, { requiredKeys: [] }),
      scaleStrategy,
      rollingUpdate,
      (spec, scaleStrategy, rollingUpdate) => {
        const object = drop(
          beta({ ...spec, scaleStrategy, updateStrategy: { type: "RollingUpdate", rollingUpdate } }),
        );
        t.strictSame(drop(convertCloneSet(convertCloneSet(object, "v1alpha1"), "v1beta1")), object);
      },
    ),
    fixed,
  );
});

t.test("any JSON converts or is of another version", async () => {
  const junk = fc.dictionary(fc.constantFrom("spec", "metadata", "status"), fc.jsonValue());
  fc.assert(
    fc.property(junk, fc.constantFrom("v1alpha1", "v1beta1"), (object, version) => {
      const other = version === "v1alpha1" ? "v1beta1" : "v1alpha1";
      const converted = convertCloneSet({ ...object, apiVersion: `apps.kruise.io/${version}` }, other);
      t.equal(converted["apiVersion"], `apps.kruise.io/${other}`);
    }),
    fixed,
  );
});
