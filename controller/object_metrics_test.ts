import fc from "fast-check";
import t from "tap";
import { kinds as definitions, storageVersion, versionSchema } from "../crds/index.ts";
import { isJsonObject, type KubeObject } from "../kube/core/index.ts";
import { type MetricFamily, metricsText } from "../kube/index.ts";
import { type ParsedFamily, parsedMetrics } from "../testkit/kube/parsed_metrics.ts";
import { schemaValues } from "../testkit/schema_values_builder.ts";
import { mapKinds, objectMetricDescriptions } from "./kinds.ts";
import { objectFamilies } from "./runtime/object_metrics.ts";

interface Served {
  readonly kind: string;
  /** What is served of objects, as a scraper reads it. The objects are JSON of the kind. */
  read(objects: readonly unknown[]): ParsedFamily[];
}

const served: readonly Served[] = mapKinds((kind): Served => {
  const families = (text: string): MetricFamily[] => objectFamilies(kind, JSON.parse(text));
  return {
    kind: kind.resource.kind,
    read: (objects) => parsedMetrics(metricsText(families(JSON.stringify(objects)))),
  };
}).filter(({ kind }) => objectMetricDescriptions().some(({ name }) => name.startsWith(prefixOf(kind))));

function prefixOf(kind: string): string {
  return `kruise_${kind.toLowerCase()}_`;
}

const generation = { metadata_generation: "metadata.generation" };
const observed = { status_observed_generation: "status.observedGeneration" };
const replicas = {
  status_replicas: "status.replicas",
  status_replicas_ready: "status.readyReplicas",
  status_replicas_available: "status.availableReplicas",
  status_replicas_updated: "status.updatedReplicas",
};

/** The field that each number is. */
const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CloneSet: {
    ...generation,
    ...observed,
    ...replicas,
    status_replicas_updated_ready: "status.updatedReadyReplicas",
  },
  StatefulSet: { ...generation, ...observed, ...replicas, status_replicas_current: "status.currentReplicas" },
  DaemonSet: {
    ...generation,
    ...observed,
    status_current_number_scheduled: "status.currentNumberScheduled",
    status_desired_number_scheduled: "status.desiredNumberScheduled",
    status_number_available: "status.numberAvailable",
    status_number_misscheduled: "status.numberMisscheduled",
    status_number_ready: "status.numberReady",
    status_number_unavailable: "status.numberUnavailable",
    status_updated_number_scheduled: "status.updatedNumberScheduled",
  },
  SidecarSet: {
    ...observed,
    spec_metadata_generation: "metadata.generation",
    status_replicas_matched: "status.matchedPods",
    status_replicas_ready: "status.readyPods",
    status_replicas_updated: "status.updatedPods",
    status_replicas_updated_ready: "status.updatedReadyPods",
  },
  BroadcastJob: {
    ...generation,
    status_active: "status.active",
    status_desired: "status.desired",
    status_failed: "status.failed",
    status_succeeded: "status.succeeded",
  },
  WorkloadSpread: generation,
  ContainerRecreateRequest: {},
};

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce((held, key) => (isJsonObject(held) ? held[key] : undefined), value);
}

/** Names that the API allows and names that nobody could store: the text has to stay readable with both. */
const hostile = fc.string({
  unit: fc.constantFrom("a", "B", "-", ".", "/", '"', "\\", "\n", "{", "}", "=", ",", " ", "é", "_"),
  minLength: 1,
});

const metadata = fc.record({
  name: hostile,
  namespace: fc.option(hostile, { nil: undefined }),
  uid: fc.constant("u"),
  generation: fc.nat(99),
  creationTimestamp: fc.constantFrom("2026-01-01T00:00:00Z", null, "no time"),
  labels: fc.option(fc.dictionary(hostile, hostile), { nil: undefined }),
});

function objectsOf(kind: string): fc.Arbitrary<KubeObject[]> {
  const definition = definitions.find((each) => each.kind === kind);
  if (definition === undefined) throw new Error(`${kind} is not defined`);
  const { properties } = versionSchema(definition, storageVersion(definition));
  const { spec, status } = isJsonObject(properties) ? properties : {};
  const object = fc.record({
    metadata,
    spec: schemaValues(isJsonObject(spec) ? spec : {}),
    status: fc.option(schemaValues(isJsonObject(status) ? status : {}), { nil: undefined }),
  });
  const selector = ({ metadata: { namespace, name } }: KubeObject) => JSON.stringify([namespace, name]);
  return fc.uniqueArray(object, { maxLength: 3, selector });
}

t.test("each kind of kruise-state-metrics is served, under the name of its kind", async (t) => {
  t.strictSame(served.map(({ kind }) => kind).sort(), Object.keys(fields).sort());
  const own = objectMetricDescriptions().filter(({ name }) => !name.startsWith("kruise_"));
  t.strictSame(
    own.map(({ name }) => name),
    ["refit_rollout_replicas_to_update"],
  );
});

for (const { kind, read } of served)
  t.test(`${kind}: every number is that of the object's field`, async (t) => {
    const known = new Map(objectMetricDescriptions().map((metric) => [metric.name, metric]));
    fc.assert(
      fc.property(objectsOf(kind), (objects) => {
        const families = read(objects);
        for (const family of families) t.equal(family.help, known.get(family.name)?.help, family.name);
        for (const [name, path] of Object.entries(fields[kind] ?? {})) {
          const samples = families.find((family) => family.name === prefixOf(kind) + name)?.samples ?? [];
          t.strictSame(
            samples.map(({ value }) => value),
            objects.map((object) => at(object, path) ?? 0),
            name,
          );
        }
      }),
      { numRuns: 50 },
    );
  });

for (const { kind, read } of served)
  t.test(`${kind}: every sample names its object, however many pods that has`, async (t) => {
    const label = kind.toLowerCase();
    fc.assert(
      fc.property(objectsOf(kind), (objects) => {
        const named = new Set(objects.map(({ metadata: { name } }) => name));
        for (const { name, samples } of read(objects))
          for (const { labels } of samples) t.ok(named.has(labels[label] ?? labels["name"]), name);
      }),
      { numRuns: 20 },
    );
  });

/** One object's samples of a metric, by its further label. */
function values(kind: string, name: string, object: object): Record<string, number> | number | undefined {
  const found = served
    .find((each) => each.kind === kind)
    ?.read([{ metadata: { name: "web", namespace: "shop" }, ...object }]);
  const samples = found?.find((family) => family.name === name)?.samples ?? [];
  const further = samples.map(({ labels, value }): [string, number] => {
    const { namespace: _, name: __, kind: ___, [kind.toLowerCase()]: ____, ...own } = labels;
    return [Object.values(own).join(" "), value];
  });
  return further.length === 1 && further[0]?.[0] === "" ? further[0][1] : Object.fromEntries(further);
}

t.test("amounts of the strategy are numbers of pods, as the controller counts them", async (t) => {
  const rolling = (rollingUpdate: object) => ({ spec: { replicas: 10, updateStrategy: { rollingUpdate } } });
  const clone = (name: string, object: object) => values("CloneSet", `kruise_cloneset_spec_${name}`, object);
  const budget = "strategy_rollingupdate_max_unavailable";
  t.equal(clone(budget, { spec: {} }), 1, "one of one pod: 20% are rounded up");
  t.equal(clone(budget, rolling({ maxUnavailable: "30%" })), 3);
  t.equal(clone("replicas", { spec: {} }), 1);
  t.equal(clone("strategy_rollingupdate_max_surge", rolling({ maxSurge: "15%" })), 2);
  t.strictSame(clone("strategy_partition", rolling({ partition: "45%" })), { "45%": 5 });
  t.strictSame(clone("strategy_partition", rolling({})), {}, "nothing is said, nothing is served");
  t.strictSame(clone("strategy_type", { spec: { updateStrategy: { type: "OnDelete" } } }), { OnDelete: 1 });
  t.strictSame(clone("strategy_type", rolling({ podUpdatePolicy: "InPlaceOnly" })), { InPlaceOnly: 1 });
  const ordered = { spec: { replicas: 10, updateStrategy: { rollingUpdate: { maxUnavailable: 4 } } } };
  t.equal(values("StatefulSet", `kruise_statefulset_spec_${budget}`, ordered), 1, "one pod after the other");
  const job = (parallelism: unknown) =>
    values("BroadcastJob", "kruise_broadcastjob_spec_parallelism", {
      spec: { parallelism },
      status: { desired: 5 },
    });
  t.equal(job("50%"), 3);
  t.strictSame([job(undefined), job("x")], [{}, {}], "no limit, and no number");
});

t.test("times, labels, conditions, revisions and subsets", async (t) => {
  const clone = (name: string, object: object) =>
    values("CloneSet", `kruise_cloneset_${name}`, { spec: {}, ...object });
  const created = { metadata: { name: "web", creationTimestamp: "2026-01-01T00:00:00Z" } };
  t.equal(clone("created", created), 1_767_225_600);
  t.strictSame(clone("labels", { metadata: { name: "web", labels: { "app/tier": "front" } } }), { front: 1 });
  const conditions = [
    { type: "Progressing", status: "True" },
    { type: "Progressing", status: "False" },
  ];
  t.strictSame(
    clone("status_condition", { status: { conditions } }),
    { "Progressing true": 0, "Progressing false": 1, "Progressing unknown": 0 },
    "of two of a type the last one counts",
  );
  const set = { spec: {}, status: { updateRevision: "web-1" } };
  t.strictSame(values("StatefulSet", "kruise_statefulset_status_update_revision", set), { "web-1": 1 });
  t.strictSame(values("StatefulSet", "kruise_statefulset_status_current_revision", set), {});
  const subsets = [{ name: "zone-a", replicas: 2, missingReplicas: -1 }];
  const spread = {
    spec: {
      subsets: [{ name: "zone-a", maxReplicas: 3 }, { name: "zone-b", maxReplicas: "50%" }, { name: "c" }],
    },
    status: { subsetStatuses: subsets },
  };
  const spreadOf = (name: string) => values("WorkloadSpread", `kruise_workloadspread_${name}`, spread);
  t.strictSame(spreadOf("spec_subsets_max_replicas"), { "zone-a": 3 });
  t.strictSame(spreadOf("status_subset_replicas"), { "zone-a": 2 });
  t.strictSame(spreadOf("status_subset_replicas_missing"), { "zone-a": -1 });
});

t.test("phases of a request and of its containers", async (t) => {
  const request = {
    spec: {},
    status: {
      phase: "Recreating",
      containerRecreateStates: [{ phase: "Succeeded" }, { phase: "Succeeded" }, { phase: "Failed" }],
    },
  };
  const of = (name: string) =>
    values("ContainerRecreateRequest", `kruise_containerrecreaterequest_${name}`, request);
  t.strictSame([of("pending"), of("recreating"), of("completed")], [0, 1, 0]);
  t.strictSame(
    [
      of("containers_pending"),
      of("containers_recreating"),
      of("containers_succeeded"),
      of("containers_failed"),
    ],
    [0, 0, 2, 1],
  );
});

t.test("replicas to update: beyond the partition, unless the rollout is held", async (t) => {
  const toUpdate = (kind: string, spec: object, status: object) =>
    values(kind, "refit_rollout_replicas_to_update", { spec, status });
  const rolling = (rollingUpdate: object, more: object = {}) => ({
    replicas: 10,
    ...more,
    updateStrategy: { rollingUpdate },
  });
  for (const kind of ["CloneSet", "StatefulSet"]) {
    const three = { updatedReplicas: 3 };
    t.equal(toUpdate(kind, rolling({ partition: 2 }), three), 5, kind);
    t.equal(toUpdate(kind, rolling({ partition: 9 }), three), 0, `${kind} as far as it may be`);
    t.equal(toUpdate(kind, rolling({ paused: true }), three), 0, `${kind} paused`);
    t.equal(toUpdate(kind, { replicas: 10, updateStrategy: { type: "OnDelete" } }, three), 0, kind);
  }
  const nodes = { desiredNumberScheduled: 4, updatedNumberScheduled: 1 };
  t.equal(toUpdate("DaemonSet", rolling({ partition: 1 }), nodes), 2);
  t.equal(toUpdate("DaemonSet", rolling({ paused: true }), nodes), 0);
  t.strictSame(
    toUpdate("DaemonSet", rolling({ selector: { matchLabels: { a: "b" } } }), nodes),
    {},
    "not known",
  );
  const pods = { matchedPods: 10, updatedPods: 4 };
  t.equal(toUpdate("SidecarSet", { updateStrategy: { partition: "20%" } }, pods), 4);
  t.equal(toUpdate("SidecarSet", { updateStrategy: { type: "NotUpdate" } }, pods), 0);
  t.equal(toUpdate("SidecarSet", { updateStrategy: { paused: true } }, pods), 0);
  t.strictSame(toUpdate("SidecarSet", { updateStrategy: { selector: {} } }, pods), {}, "not known");
});
