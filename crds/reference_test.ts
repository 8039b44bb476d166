/**
 * Objects of every kind with two versions, converted, against a plain reading of how the versions differ, which shares
 * no code with the conversions. Spec: history 1.2, and what the kinds say of their versions.
 */
import fc from "fast-check";
import t from "tap";
import { isJsonObject, type JsonObject, jsonEqual } from "../kube/core/index.ts";
import { schemaValues, type Words } from "../testkit/schema_values_builder.ts";
import { convertObject, type JsonSchema, type KindDefinition, kinds, versionSchema } from "./index.ts";

type Version = "v1alpha1" | "v1beta1";
type Marks = Readonly<Record<string, readonly string[]>>;

/** Paths are as those of Words. */
interface Reading {
  /** Fields under another name: path in v1alpha1, last name in v1beta1. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields that one version lacks. Those that the functions below do not bring back are lost. */
  readonly alpha?: readonly string[];
  readonly beta?: readonly string[];
  readonly words?: Words;
  /** Labels and annotations that mean something, and values of theirs. */
  readonly labels?: Marks;
  readonly annotations?: Marks;
  /** Only objects of v1alpha1 have these marks. */
  readonly isMarkedInAlphaOnly?: boolean;
  /** What is more than names: changes the result. Throws for what is refused. */
  readonly toBeta?: (beta: JsonObject, alpha: JsonObject) => void;
  readonly toAlpha?: (alpha: JsonObject, beta: JsonObject) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of all kinds
const part = (object: unknown, name: string): any => Object(Object(object)[name]);

/** Sets, or removes where the value is undefined. */
function mark(object: JsonObject, marks: "labels" | "annotations", key: string, value: unknown): void {
  const metadata = part(object, "metadata");
  metadata[marks] = { ...metadata[marks], [key]: value };
}

const rolling = ["partition", "maxUnavailable", "maxSurge", "paused", "priorityStrategy", "scatterStrategy"];
const preDownload = {
  imagePreDownloadParallelism: "apps.kruise.io/image-predownload-parallelism",
  imagePreDownloadTimeoutSeconds: "apps.kruise.io/image-predownload-timeout-seconds",
  imagePreDownloadMinUpdatedReadyPods: "apps.kruise.io/image-predownload-min-updated-ready-pods",
};
const excludeLabel = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete";
const numbers = ["3", "-2", "x", "", "2147483648"];

const cloneSet: Reading = {
  alpha: [
    "spec.scaleStrategy.disablePVCReuse",
    "spec.updateStrategy.inPlaceUpdateStrategy",
    ...rolling.map((name) => `spec.updateStrategy.${name}`),
  ],
  beta: [
    "spec.scaleStrategy.enablePVCReuse",
    "spec.scaleStrategy.excludePreparingDelete",
    "spec.updateStrategy.rollingUpdate",
  ],
  words: {
    "spec.updateStrategy.type": ["", "OnDelete", "ReCreate", "InPlaceIfPossible", "InPlaceOnly", "Other"],
    "spec.updateStrategy.inPlaceUpdateStrategy.gracePeriodSeconds": [0, 5],
    "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds": [0, 5],
  },
  labels: { [excludeLabel]: ["true", "false"] },
  annotations: {
    [preDownload.imagePreDownloadParallelism]: ["3", "20%", ""],
    [preDownload.imagePreDownloadTimeoutSeconds]: numbers,
    [preDownload.imagePreDownloadMinUpdatedReadyPods]: numbers,
  },
  toBeta(beta, alpha) {
    const { labels = {}, annotations = {} } = part(alpha, "metadata");
    const spec = part(beta, "spec");
    const scale = part(part(alpha, "spec"), "scaleStrategy");
    spec.scaleStrategy = { ...spec.scaleStrategy, enablePVCReuse: scale.disablePVCReuse !== true };
    if (labels[excludeLabel] === "true") spec.scaleStrategy.excludePreparingDelete = true;
    const given = part(part(alpha, "spec"), "updateStrategy");
    spec.updateStrategy = { type: "OnDelete" };
    if (given.type === "OnDelete") return;
    const isKnown = ["InPlaceIfPossible", "InPlaceOnly"].includes(given.type);
    const rollingUpdate: JsonObject = { podUpdatePolicy: isKnown ? given.type : "ReCreate" };
    for (const name of rolling) rollingUpdate[name] = given[name];
    const inPlace: JsonObject = { gracePeriodSeconds: given.inPlaceUpdateStrategy?.gracePeriodSeconds };
    for (const [field, annotation] of Object.entries(preDownload)) {
      const text = annotations[annotation];
      if (text === "3" || text === "-2") inPlace[field] = Number(text);
      if (text === "20%") inPlace[field] = text;
    }
    const isSaid = given.inPlaceUpdateStrategy !== undefined || Object.keys(plain(inPlace)).length > 0;
    if (isSaid) rollingUpdate["inPlaceUpdateStrategy"] = inPlace;
    spec.updateStrategy = { type: "RollingUpdate", rollingUpdate };
  },
  toAlpha(alpha, beta) {
    const spec = part(alpha, "spec");
    const scale = part(part(beta, "spec"), "scaleStrategy");
    const disablePVCReuse = scale.enablePVCReuse === true ? undefined : true;
    spec.scaleStrategy = { ...spec.scaleStrategy, disablePVCReuse };
    const given = part(part(beta, "spec"), "updateStrategy");
    spec.updateStrategy = { type: "OnDelete" };
    if (given.type === "OnDelete") return;
    const from = part(given, "rollingUpdate");
    const inPlace = part(from, "inPlaceUpdateStrategy");
    spec.updateStrategy = { type: from.podUpdatePolicy || "ReCreate" };
    for (const name of rolling) spec.updateStrategy[name] = from[name];
    const { gracePeriodSeconds } = inPlace;
    if (gracePeriodSeconds) spec.updateStrategy.inPlaceUpdateStrategy = { gracePeriodSeconds };
    for (const [field, annotation] of Object.entries(preDownload))
      if (inPlace[field] !== undefined) mark(alpha, "annotations", annotation, String(inPlace[field]));
  },
};

const progressive = "daemonset.kruise.io/progressive-create-pod";
const daemonSet: Reading = {
  renamed: { "status.daemonSetHash": "updateRevision" },
  beta: ["spec.scaleStrategy"],
  words: { "spec.updateStrategy.rollingUpdate.rollingUpdateType": ["Surging", "Standard", ""] },
  annotations: { [progressive]: ["true", "false"] },
  toBeta(beta, alpha) {
    const type = part(part(part(beta, "spec"), "updateStrategy"), "rollingUpdate");
    if (type.rollingUpdateType === "Surging") type.rollingUpdateType = "Standard";
    if (part(part(alpha, "metadata"), "annotations")[progressive] === "true")
      part(beta, "spec").scaleStrategy = { partitionedScaling: true };
  },
  toAlpha(alpha, beta) {
    if (part(part(beta, "spec"), "scaleStrategy").partitionedScaling === true)
      mark(alpha, "annotations", progressive, "true");
  },
};

const customVersion = "apps.kruise.io/sidecarset-custom-version";
const sidecarSet: Reading = {
  alpha: ["spec.namespace"],
  beta: ["spec.customVersion"],
  words: { "spec.namespace": ["", "ns1"], "spec.customVersion": ["", "v2"] },
  labels: { [customVersion]: ["", "v3"] },
  toBeta(beta, alpha) {
    const { namespace } = part(alpha, "spec");
    if (namespace)
      part(beta, "spec").namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
    const version = part(part(alpha, "metadata"), "labels")[customVersion];
    if (version) part(beta, "spec").customVersion = version;
    mark(beta, "labels", customVersion, undefined);
  },
  toAlpha(alpha, beta) {
    const version = part(beta, "spec").customVersion;
    if (version) mark(alpha, "labels", customVersion, version);
  },
};

const unitedDeployment: Reading = {
  alpha: ["status.subsetReplicas", "status.updateStatus"],
  beta: ["status.updatedRevision"],
  words: {
    "status.updatedRevision": ["", "r1"],
    "status.subsetStatuses": [
      [],
      [{ name: "" }],
      [{ name: "a", replicas: 1, partition: 2 }, { name: "b" }],
      [{ name: "c", readyReplicas: 1, reservedPods: 2, conditions: [{ type: "Schedulable" }] }],
    ],
  },
  toBeta(beta, alpha) {
    const from = part(alpha, "status");
    const status = part(beta, "status");
    status.updatedRevision = from.updateStatus?.updatedRevision;
    const set = (values: JsonObject = {}, field: string) => {
      for (const [name, value] of Object.entries(values)) {
        const known = (status.subsetStatuses ?? []).find((one: JsonObject) => one["name"] === name);
        if (known !== undefined) known[field] = value;
        else status.subsetStatuses = [...(status.subsetStatuses ?? []), { name, [field]: value }];
      }
    };
    set(from.subsetReplicas, "replicas");
    set(from.updateStatus?.currentPartitions, "partition");
  },
  toAlpha(alpha, beta) {
    const { subsetStatuses = [], updatedRevision = "" } = part(beta, "status");
    const named = subsetStatuses.filter(({ name }: JsonObject) => name);
    if (named.length === 0 && updatedRevision === "") return;
    const mapOf = (field: string) =>
      named.length === 0
        ? undefined
        : Object.fromEntries(named.map((one: JsonObject) => [one["name"], one[field] ?? 0]));
    const status = part(alpha, "status");
    status.subsetReplicas = mapOf("replicas");
    status.updateStatus = {
      updatedRevision: updatedRevision || undefined,
      currentPartitions: mapOf("partition"),
    };
  },
};

const conditionLists = [
  "status.subsetStatuses[].conditions[]",
  "status.versionedSubsetStatuses.*[].conditions[]",
];
const workloadSpread: Reading = {
  renamed: {
    "spec.subsets[].requiredNodeSelectorTerm": "requiredNodeSelector",
    "spec.subsets[].preferredNodeSelectorTerms": "preferredNodeSelector",
  },
  beta: conditionLists.map((path) => `${path}.observedGeneration`),
  words: Object.fromEntries(conditionLists.map((path) => [`${path}.reason`, ["", "Why"]])),
  toBeta(beta) {
    const { subsetStatuses = [], versionedSubsetStatuses = {} } = part(beta, "status");
    for (const { conditions = [] } of [subsetStatuses, ...Object.values(versionedSubsetStatuses)].flat())
      for (const condition of conditions) {
        condition.reason ||= "Unknown";
        // The type of v1beta1 always has it.
        condition.message ??= "";
      }
  },
};

const operations = "kruise.io/pub-protect-operations";
const totalReplicas = "pub.kruise.io/protect-total-replicas";
const ignoredPods = "refit.dev/pub-ignored-pod-selector";
const budget: Reading = {
  beta: ["spec.protectOperations", "spec.protectTotalReplicas", "spec.ignoredPodSelector"],
  words: { "status.observedGeneration": [0, 7] },
  annotations: {
    [operations]: ["DELETE", "EVICT, UPDATE ,,RESIZE", "", " , ", "DELETE,delete"],
    [totalReplicas]: ["5", "-5", "five", "2147483648"],
    [ignoredPods]: ['{"matchLabels":{"a":"b"}}', "{"],
  },
  toBeta(beta, alpha) {
    const annotations = part(part(alpha, "metadata"), "annotations");
    const spec = part(beta, "spec");
    const items = (annotations[operations] ?? "").split(",").map((item: string) => item.trim());
    const named = items.filter((item: string) => item !== "");
    if (named.includes("delete")) throw new Error("refused");
    if (named.length > 0) spec.protectOperations = named;
    const total = annotations[totalReplicas];
    if (total === "five" || total === "2147483648") throw new Error("refused");
    if (total !== undefined) spec.protectTotalReplicas = Number(total);
    if (annotations[ignoredPods] !== undefined && annotations[ignoredPods] !== "{")
      spec.ignoredPodSelector = JSON.parse(annotations[ignoredPods]);
    mark(beta, "annotations", ignoredPods, undefined);
    const status = part(beta, "status");
    if (status.observedGeneration === 0) delete status.observedGeneration;
  },
  toAlpha(alpha, beta) {
    const { protectOperations = [], protectTotalReplicas, ignoredPodSelector } = part(beta, "spec");
    const listed = protectOperations.length === 0 ? undefined : protectOperations.join();
    mark(alpha, "annotations", operations, listed);
    mark(alpha, "annotations", totalReplicas, protectTotalReplicas?.toString());
    mark(alpha, "annotations", ignoredPods, ignoredPodSelector && JSON.stringify(ignoredPodSelector));
    if (isJsonObject(alpha["status"])) alpha["status"]["observedGeneration"] ??= 0;
  },
};

const snapshot = "crr.apps.kruise.io/sync-container-statuses";
const acquired = "crr.apps.kruise.io/unready-acquired";
const second = (time: string) => `${new Date(time).toISOString().slice(0, 19)}Z`;
const recreateRequest: Reading = {
  beta: ["status.containerStatusSnapshot", "status.conditions"],
  words: {
    "status.conditions[].type": ["PreRecreateGrace", "Other"],
    "status.conditions[].lastTransitionTime": ["2026-01-01T00:00:00Z", "2026-02-03T04:05:06.789+02:00"],
  },
  annotations: {
    [snapshot]: ['[{"name":"a","ready":true,"restartCount":1}]', "[]", "[1]", "{}", "["],
    [acquired]: ["2026-01-01T00:00:00Z", "2026-02-03T04:05:06+02:00", "soon", ""],
  },
  isMarkedInAlphaOnly: true,
  toBeta(beta, alpha) {
    const annotations = part(part(alpha, "metadata"), "annotations");
    for (const key of [snapshot, acquired]) mark(beta, "annotations", key, undefined);
    const status: JsonObject = {};
    if (annotations[snapshot]?.startsWith("[{"))
      status["containerStatusSnapshot"] = JSON.parse(annotations[snapshot]);
    if (annotations[acquired]?.startsWith("2026"))
      status["conditions"] = [
        {
          type: "PreRecreateGrace",
          status: "True",
          reason: "PreRecreateGrace",
          message: "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain",
          lastTransitionTime: second(annotations[acquired]),
        },
      ];
    // v1beta1 has no status without a phase.
    if (Object.keys(status).length > 0)
      beta["status"] = { phase: "Pending", ...part(beta, "status"), ...status };
  },
  toAlpha(alpha, beta) {
    const { containerStatusSnapshot: taken, conditions = [] } = part(beta, "status");
    if (taken !== undefined) mark(alpha, "annotations", snapshot, JSON.stringify(taken));
    const grace = conditions.find(
      ({ type, status }: JsonObject) => type === "PreRecreateGrace" && status === "True",
    );
    if (grace !== undefined) mark(alpha, "annotations", acquired, second(grace.lastTransitionTime));
  },
};

const readings: Readonly<Record<string, Reading>> = {
  CloneSet: cloneSet,
  StatefulSet: {
    beta: [
      "spec.lifecycle",
      "spec.ordinals",
      "spec.persistentVolumeClaimRetentionPolicy",
      "spec.reserveOrdinals",
      "spec.scaleStrategy",
      "spec.volumeClaimUpdateStrategy",
      "status.updatedAvailableReplicas",
      "status.updatedReadyReplicas",
      "status.volumeClaims",
    ],
  },
  DaemonSet: daemonSet,
  SidecarSet: sidecarSet,
  UnitedDeployment: unitedDeployment,
  WorkloadSpread: workloadSpread,
  PodUnavailableBudget: budget,
  PersistentPodState: {
    renamed: {
      "spec.requiredPersistentTopology.nodeTopologyKeys": "keys",
      "spec.preferredPersistentTopology[].preference.nodeTopologyKeys": "keys",
    },
  },
  ContainerRecreateRequest: recreateRequest,
  ResourceDistribution: {
    renamed: {
      "spec.targets.namespaceLabelSelector": "namespaceSelector",
      "status.conditions[].failedNamespace": "failedNamespaces",
    },
  },
  // The API server converts these: it writes the version, and drops what the other version lacks.
  BroadcastJob: {},
  AdvancedCronJob: { beta: ["spec.template.imageListPullJobTemplate"] },
  ImagePullJob: {},
  ImageListPullJob: {},
  NodeImage: { beta: ["spec.images.*.pullSecrets[].mode"] },
};

const twoVersions = kinds.filter(({ versions }) => versions.length > 1);

t.test("every kind with two versions is read here", async (t) => {
  t.strictSame(Object.keys(readings).sort(), twoVersions.map(({ kind }) => kind).sort());
});

const plain = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value));

function schemaOf(kind: KindDefinition, version: Version): JsonSchema {
  const found = kind.versions.find((each) => each.name === version);
  return found === undefined ? {} : versionSchema(kind, found);
}

/** Paths of fields that the one schema has and the other has not. */
function surplus(schema: unknown, other: unknown, path = ""): string[] {
  if (!isJsonObject(schema) || !isJsonObject(other)) return [];
  const { properties, items, additionalProperties } = schema;
  const inItems = surplus(items, other["items"], `${path}[]`);
  const inMap = surplus(additionalProperties, other["additionalProperties"], `${path}.*`);
  const fields = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, field]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const known = part(other, "properties")[name];
    return known === undefined ? [at] : surplus(field, known, at);
  });
  return [...inItems, ...inMap, ...fields];
}

const lastOf = (path: string, name: string) => path.replace(/[^.]*$/, name);

/** The object under the names of the other version. */
function renamed(value: unknown, names: ReadonlyMap<string, string | undefined>, path = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names, `${path}[]`));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    // Of the maps that hold objects, by name.
    const step = /(versionedSubsetStatuses|images)$/.test(path) ? "*" : name;
    const at = path === "" ? step : `${path}.${step}`;
    const to = names.has(at) ? names.get(at) : name;
    return to === undefined ? [] : [[to, renamed(inner, names, at)]];
  });
  return Object.fromEntries(entries);
}

/** Maps without entries, and counts of nothing, are not written. */
function comparable(object: JsonObject): JsonObject {
  const copy = plain(object);
  for (const marks of ["labels", "annotations"])
    if (Object.keys(part(part(copy, "metadata"), marks)).length === 0) delete part(copy, "metadata")[marks];
  for (const subset of part(copy, "status").subsetStatuses ?? [])
    for (const field of ["replicas", "partition"]) if (subset[field] === 0) delete subset[field];
  return copy;
}

function expected(kind: KindDefinition, object: JsonObject, to: Version): JsonObject {
  const { renamed: pairs = {}, alpha = [], beta = [], toBeta, toAlpha } = readings[kind.kind] ?? {};
  const names = new Map<string, string | undefined>();
  for (const path of to === "v1beta1" ? alpha : beta) names.set(path, undefined);
  for (const [path, name] of Object.entries(pairs)) {
    if (to === "v1beta1") names.set(path, name);
    else names.set(lastOf(path, name), path.slice(path.lastIndexOf(".") + 1));
  }
  const result = plain(Object(renamed(plain(object), names)));
  result["apiVersion"] = `${kind.group}/${to}`;
  if (to === "v1beta1") toBeta?.(result, object);
  else toAlpha?.(result, object);
  return comparable(result);
}

function marks(pool: Marks = {}): fc.Arbitrary<JsonObject> {
  const values = Object.entries({ ...pool, plain: ["1"] }).map(([key, texts]) => [
    key,
    fc.option(fc.constantFrom(...texts), { nil: undefined, freq: 3 }),
  ]);
  return fc.record(Object.fromEntries(values));
}

function objects(kind: KindDefinition, version: Version): fc.Arbitrary<JsonObject> {
  const { words = {}, labels, annotations, isMarkedInAlphaOnly = false } = readings[kind.kind] ?? {};
  const { properties } = schemaOf(kind, version);
  const { spec, status } = isJsonObject(properties) ? properties : {};
  const values = (schema: unknown, path: string) =>
    schemaValues(isJsonObject(schema) ? schema : {}, words, path);
  const isMarked = version === "v1alpha1" || !isMarkedInAlphaOnly;
  const metadata = fc.record({
    name: fc.constant("a"),
    labels: marks(isMarked ? labels : {}),
    annotations: marks(isMarked ? annotations : {}),
  });
  return fc
    .record({
      metadata,
      spec: values(spec, "spec"),
      status: fc.option(values(status, "status"), { nil: undefined }),
    })
    .map((parts) => plain({ apiVersion: `${kind.group}/${version}`, kind: kind.kind, ...parts }));
}

/** What comes out, or that it is refused. */
function outcomeOf(convert: () => JsonObject): JsonObject {
  try {
    return comparable(convert());
  } catch {
    return { refused: true };
  }
}

for (const kind of twoVersions) {
  const { renamed: pairs = {}, alpha = [], beta = [] } = readings[kind.kind] ?? {};

  t.test(`${kind.kind}: the versions differ in the fields that are named here`, async (t) => {
    const schemas = [schemaOf(kind, "v1alpha1"), schemaOf(kind, "v1beta1")] as const;
    const others = Object.entries(pairs).map(([path, name]) => lastOf(path, name));
    t.strictSame(surplus(...schemas).sort(), [...alpha, ...Object.keys(pairs)].sort());
    t.strictSame(surplus(schemas[1], schemas[0]).sort(), [...beta, ...others].sort());
  });

  if (kind.conversion === "None") continue;
  for (const [from, to] of [
    ["v1alpha1", "v1beta1"],
    ["v1beta1", "v1alpha1"],
  ] as const) {
    t.test(`property: ${kind.kind} ${from} to ${to}, as the rules have it`, async (t) => {
      const property = fc.property(objects(kind, from), (object) => {
        const found = outcomeOf(() => convertObject(plain(object), `${kind.group}/${to}`));
        return jsonEqual(
          found,
          outcomeOf(() => expected(kind, object, to)),
        );
      });
      t.doesNotThrow(() => fc.assert(property, { seed: 23_005, numRuns: 500 }));
    });
  }
}
