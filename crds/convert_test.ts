/** Properties of every conversion, over objects made from the schemas; and what is special to a kind. */
import fc from "fast-check";
import t from "tap";
import { isJsonObject, type JsonObject } from "../kube/core/index.ts";
import { schemaValues } from "../testkit/schema_values_builder.ts";
import {
  convertObject,
  type JsonSchema,
  type KindDefinition,
  kinds,
  structuralErrors,
  versionSchema,
} from "./index.ts";

const converted = kinds.filter((kind) => kind.conversion !== "None");

function schemaOf(kind: KindDefinition, version: string): JsonSchema {
  const found = kind.versions.find((each) => each.name === version);
  return found === undefined ? {} : versionSchema(kind, found);
}

function objectOf(kind: KindDefinition, version: string): fc.Arbitrary<JsonObject> {
  const { properties } = schemaOf(kind, version);
  const { spec, status } = isJsonObject(properties) ? properties : {};
  return fc
    .record({
      spec: schemaValues(isJsonObject(spec) ? spec : {}),
      status: fc.option(schemaValues(isJsonObject(status) ? status : {}), { nil: undefined }),
    })
    .map((parts) =>
      plain({
        apiVersion: `${kind.group}/${version}`,
        kind: kind.kind,
        metadata: { name: "a", uid: "u" },
        ...parts,
      }),
    );
}

function plain(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

/** Paths of fields that the schema does not know, so that the API server would drop them. */
function unknownFields(schema: JsonSchema, value: unknown, path = ""): string[] {
  const { properties, items, additionalProperties } = schema;
  if (schema["x-kubernetes-preserve-unknown-fields"] === true || path === ".metadata") return [];
  if (Array.isArray(value))
    return value.flatMap((item) => unknownFields(isJsonObject(items) ? items : {}, item, `${path}[]`));
  if (!isJsonObject(value) || schema["type"] !== "object") return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const known = isJsonObject(properties) ? properties[name] : additionalProperties;
    return isJsonObject(known)
      ? unknownFields(known, field, `${path}.${name}`)
      : known === undefined && isJsonObject(properties)
        ? [`${path}.${name}`]
        : [];
  });
}

/** Subsets are found by name, in maps: none comes twice. */
function distinctSubsets(object: JsonObject): boolean {
  const { subsetStatuses } = isJsonObject(object["status"]) ? object["status"] : {};
  if (!Array.isArray(subsetStatuses)) return true;
  const subsets = subsetStatuses.map((subset: unknown) =>
    isJsonObject(subset) ? subset["name"] : undefined,
  );
  return new Set(subsets).size === subsets.length;
}

const fixed = { seed: 40, numRuns: 200 };

for (const kind of converted) {
  for (const [from, to] of [
    ["v1alpha1", "v1beta1"],
    ["v1beta1", "v1alpha1"],
  ] as const) {
    t.test(`${kind.kind} ${from} to ${to}: right types, known fields, given object untouched`, async (t) => {
      fc.assert(
        fc.property(objectOf(kind, from), (object) => {
          const before = plain(object);
          const result = plain(convertObject(object, `${kind.group}/${to}`));
          t.strictSame(object, before);
          t.match(result, {
            apiVersion: `${kind.group}/${to}`,
            kind: kind.kind,
            metadata: { name: "a", uid: "u" },
          });
          t.strictSame(structuralErrors(schemaOf(kind, to), result, false), []);
          t.strictSame(unknownFields(schemaOf(kind, to), result), []);
        }),
        fixed,
      );
    });
  }

  // Its unknown policies become ReCreate; what survives is in clone_set/convert_test.ts.
  if (kind.kind === "CloneSet") continue;
  t.test(`${kind.kind}: what was converted survives being converted there and back`, async (t) => {
    fc.assert(
      fc.property(objectOf(kind, "v1beta1"), (object) => {
        fc.pre(distinctSubsets(object));
        const alpha = plain(convertObject(object, `${kind.group}/v1alpha1`));
        const beta = plain(convertObject(alpha, `${kind.group}/v1beta1`));
        t.strictSame(plain(convertObject(beta, `${kind.group}/v1alpha1`)), alpha);
      }),
      fixed,
    );
  });
}

function both(
  kind: string,
  alpha: JsonObject,
  beta: JsonObject,
  t: { strictSame(found: unknown, wanted: unknown): unknown },
): void {
  t.strictSame(
    plain(convertObject({ apiVersion: "apps.kruise.io/v1alpha1", kind, ...alpha }, "apps.kruise.io/v1beta1")),
    { apiVersion: "apps.kruise.io/v1beta1", kind, ...beta },
  );
  t.strictSame(
    plain(convertObject({ apiVersion: "apps.kruise.io/v1beta1", kind, ...beta }, "apps.kruise.io/v1alpha1")),
    { apiVersion: "apps.kruise.io/v1alpha1", kind, ...alpha },
  );
}

t.test("DaemonSet: annotation and field, hash and revision, Surging", async (t) => {
  const annotations = { "daemonset.kruise.io/progressive-create-pod": "true" };
  const strategy = { updateStrategy: { rollingUpdate: { rollingUpdateType: "Standard" } } };
  both(
    "DaemonSet",
    { metadata: { annotations }, spec: strategy, status: { daemonSetHash: "h" } },
    {
      metadata: { annotations },
      spec: { ...strategy, scaleStrategy: { partitionedScaling: true } },
      status: { updateRevision: "h" },
    },
    t,
  );
  const surging = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "DaemonSet",
    spec: { updateStrategy: { rollingUpdate: { rollingUpdateType: "Surging" } } },
  };
  t.match(convertObject(surging, "apps.kruise.io/v1beta1"), { spec: strategy });
});

t.test("SidecarSet: label and field; a namespace becomes a selector for good", async (t) => {
  both(
    "SidecarSet",
    { metadata: { labels: { a: "b", "apps.kruise.io/sidecarset-custom-version": "v3" } }, spec: {} },
    { metadata: { labels: { a: "b" } }, spec: { customVersion: "v3" } },
    t,
  );
  const named = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "SidecarSet",
    spec: { namespace: "ns1", namespaceSelector: { matchLabels: { x: "y" } } },
  };
  t.strictSame(convertObject(named, "apps.kruise.io/v1beta1")["spec"], {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ns1" } },
  });
});

t.test("WorkloadSpread, ResourceDistribution, PersistentPodState: renamed fields", async (t) => {
  both(
    "WorkloadSpread",
    {
      spec: {
        subsets: [
          {
            name: "a",
            requiredNodeSelectorTerm: { matchFields: [] },
            preferredNodeSelectorTerms: [{ weight: 1 }],
          },
        ],
      },
    },
    {
      spec: {
        subsets: [
          { name: "a", requiredNodeSelector: { matchFields: [] }, preferredNodeSelector: [{ weight: 1 }] },
        ],
      },
    },
    t,
  );
  both(
    "ResourceDistribution",
    {
      spec: { targets: { namespaceLabelSelector: {} } },
      status: { conditions: [{ type: "T", failedNamespace: ["x"] }] },
    },
    {
      spec: { targets: { namespaceSelector: {} } },
      status: { conditions: [{ type: "T", failedNamespaces: ["x"] }] },
    },
    t,
  );
  both(
    "PersistentPodState",
    {
      spec: {
        requiredPersistentTopology: { nodeTopologyKeys: ["z"] },
        preferredPersistentTopology: [{ weight: 1, preference: { nodeTopologyKeys: ["h"] } }],
      },
    },
    {
      spec: {
        requiredPersistentTopology: { keys: ["z"] },
        preferredPersistentTopology: [{ weight: 1, preference: { keys: ["h"] } }],
      },
    },
    t,
  );
});

t.test("UnitedDeployment: maps by subset and entries", async (t) => {
  both(
    "UnitedDeployment",
    {
      status: {
        subsetStatuses: [{ name: "a", replicas: 2, partition: 1 }],
        subsetReplicas: { a: 2 },
        updateStatus: { updatedRevision: "r", currentPartitions: { a: 1 } },
      },
    },
    { status: { subsetStatuses: [{ name: "a", replicas: 2, partition: 1 }], updatedRevision: "r" } },
    t,
  );
  const missing = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "UnitedDeployment",
    status: { subsetReplicas: { b: 3 } },
  };
  t.strictSame(convertObject(missing, "apps.kruise.io/v1beta1")["status"], {
    subsetStatuses: [{ name: "b", replicas: 3 }],
  });
});

t.test("ContainerRecreateRequest: annotations and status", async (t) => {
  const containerStatusSnapshot = [{ name: "a", ready: true, restartCount: 1 }];
  const condition = {
    type: "PreRecreateGrace",
    status: "True",
    reason: "PreRecreateGrace",
    message: "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const annotations = {
    "crr.apps.kruise.io/sync-container-statuses": JSON.stringify(containerStatusSnapshot),
    "crr.apps.kruise.io/unready-acquired": "2026-01-01T00:00:00Z",
  };
  both(
    "ContainerRecreateRequest",
    { metadata: { annotations }, status: { phase: "Pending" } },
    { metadata: {}, status: { phase: "Pending", containerStatusSnapshot, conditions: [condition] } },
    t,
  );
  const broken = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "ContainerRecreateRequest",
    metadata: {
      annotations: {
        x: "y",
        "crr.apps.kruise.io/sync-container-statuses": "{",
        "crr.apps.kruise.io/unready-acquired": "soon",
      },
    },
  };
  t.strictSame(plain(convertObject(broken, "apps.kruise.io/v1beta1")), {
    ...broken,
    apiVersion: "apps.kruise.io/v1beta1",
    metadata: { annotations: { x: "y" } },
  });
});

t.test("what cannot be converted is refused", async (t) => {
  t.throws(() => convertObject({ apiVersion: "v1", kind: "Pod" }, "apps.kruise.io/v1beta1"), {
    code: "NoConversion",
  });
  t.throws(
    () => convertObject({ apiVersion: "other/v1alpha1", kind: "CloneSet" }, "apps.kruise.io/v1beta1"),
    { code: "NoConversion" },
  );
  t.throws(
    () => convertObject({ apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet" }, "apps.kruise.io/v3"),
    { code: "UnsupportedVersion" },
  );
  t.throws(() => convertObject({}, ""), { code: "NoConversion" });
});

t.test("any JSON converts or is refused", async (t) => {
  const junk = fc.dictionary(fc.constantFrom("spec", "status", "metadata"), fc.jsonValue({ maxDepth: 4 }));
  fc.assert(
    fc.property(
      junk,
      fc.constantFrom(...converted),
      fc.constantFrom("v1alpha1", "v1beta1"),
      (parts, kind, version) => {
        const other = version === "v1alpha1" ? "v1beta1" : "v1alpha1";
        const object = { ...parts, apiVersion: `${kind.group}/${version}`, kind: kind.kind };
        t.equal(convertObject(object, `${kind.group}/${other}`)["apiVersion"], `${kind.group}/${other}`);
      },
    ),
    { seed: 41, numRuns: 500 },
  );
});
