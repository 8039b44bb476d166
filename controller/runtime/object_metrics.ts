/**
 * What a kind tells of its objects at `/metrics`, under the names of kube-state-metrics' counterpart for this API. A kind
 * declares a table; the values are read from the caches when they are asked for.
 */
import type { KubeObject, Labels } from "../../kube/core/index.ts";
import {
  labelsText,
  type MetricDescription,
  type MetricFamily,
  type MetricSample,
  metricLabels,
} from "../../kube/index.ts";

/** One gauge of each object of a kind. */
export interface ObjectMetric<T> {
  /** What follows `kruise_<kind>_`. */
  readonly name: string;
  readonly help: string;
  /** Beside those that name the object. */
  readonly labels: readonly string[];
  /** Those of an object; none where it has no such value. */
  readonly samples: (object: T) => readonly ObjectSample[];
}

interface ObjectSample {
  /** Beside those that name the object; absent: none. */
  readonly labels?: Labels;
  readonly value: number;
}

export interface ObjectMetrics<T> {
  readonly table: readonly ObjectMetric<T>[];
  /**
   * Replicas that are not at the update revision though partition and pause let them be. Undefined where the status does not
   * say it, because a selector takes some of them. Absent for kinds that roll nothing out.
   */
  readonly toUpdate?: (object: T) => number | undefined;
}

export function gauge<T>(
  name: string,
  help: string,
  read: (object: T) => number | undefined,
): ObjectMetric<T> {
  return {
    name,
    help,
    labels: [],
    samples: (object) => {
      const value = read(object);
      return value === undefined ? [] : [{ value }];
    },
  };
}

/** A number of the status: what the API leaves out of it is 0. */
export function count<T extends { readonly status?: object }>(
  name: string,
  help: string,
  read: (status: NonNullable<T["status"]>) => number | undefined,
): ObjectMetric<T> {
  return gauge(name, help, ({ status }: T) => (status === undefined ? 0 : (read(status) ?? 0)));
}

/** A gauge that is 1 with a text as its label; none where the object has no such text. */
export function info<T>(
  name: string,
  help: string,
  label: string,
  textOf: (object: T) => string | undefined,
): ObjectMetric<T> {
  return {
    name,
    help,
    labels: [label],
    samples: (object) => {
      const text = textOf(object);
      return text === undefined || text === "" ? [] : [{ labels: { [label]: text }, value: 1 }];
    },
  };
}

export const strategyType = <T>(typeOf: (object: T) => string): ObjectMetric<T> =>
  info("spec_strategy_type", "How pods are updated; always 1.", "strategy_type", typeOf);

export const maxUnavailable = <T>(read: (object: T) => number): ObjectMetric<T> =>
  gauge(
    "spec_strategy_rollingupdate_max_unavailable",
    "Pods that may be unavailable during an update.",
    read,
  );

/** A number of replicas that stay at the old revision, with what the object says in its words; none where it says nothing. */
export function partition<T>(
  givenOf: (object: T) => number | string | undefined | null,
  replicasOf: (object: T) => number,
): ObjectMetric<T> {
  return {
    name: "spec_strategy_partition",
    help: "Replicas that stay at the old revision; the label is the partition as given.",
    labels: ["partition"],
    samples: (object) => {
      const given = givenOf(object);
      if (given === undefined || given === null) return [];
      return [{ labels: { partition: String(given) }, value: replicasOf(object) }];
    },
  };
}

export const created: ObjectMetric<KubeObject> = gauge(
  "created",
  "When the object was created, in seconds since the epoch.",
  ({ metadata }) => Date.parse(metadata.creationTimestamp ?? "") / 1000,
);

export const generation: ObjectMetric<KubeObject> = gauge(
  "metadata_generation",
  "Generation of the object: each change of its spec raises it.",
  ({ metadata }) => metadata.generation,
);

export const labels: ObjectMetric<KubeObject> = {
  name: "labels",
  help: "Labels of the object; always 1.",
  labels: ["label_*"],
  samples: ({ metadata }) => [{ labels: metricLabels(metadata.labels ?? {}), value: 1 }],
};

interface Condition {
  readonly type: string;
  readonly status: string;
}

const conditionStates = ["true", "false", "unknown"];

export const conditions: ObjectMetric<{
  readonly status?: { readonly conditions?: readonly Condition[] | null };
}> = {
  name: "status_condition",
  help: "Conditions of the object: 1 for the status that each has.",
  labels: ["condition", "status"],
  samples: ({ status }) =>
    (status?.conditions ?? []).flatMap(({ type, status: held }) =>
      conditionStates.map((state) => ({
        labels: { condition: type, status: state },
        value: held.toLowerCase() === state ? 1 : 0,
      })),
    ),
};

export const observedGeneration = <T extends { readonly status?: { observedGeneration?: number } }>() =>
  count<T>(
    "status_observed_generation",
    "Generation that the status is about.",
    ({ observedGeneration: observed }) => observed,
  );

const toUpdateFamily = {
  name: "refit_rollout_replicas_to_update",
  help: "Replicas that are not at the update revision though partition and pause let them be.",
};

interface DescribedKind<T> {
  readonly resource: { readonly kind: string; readonly namespaced: boolean };
  readonly metrics?: ObjectMetrics<T>;
}

/** Families of a kind, over the objects that there are now. */
export function objectFamilies<T extends KubeObject>(
  { resource: { kind }, metrics }: DescribedKind<T>,
  objects: Iterable<T>,
): MetricFamily[] {
  if (metrics === undefined) return [];
  const { table, toUpdate } = metrics;
  const named = Array.from(objects, (object) => ({ object, name: nameLabels(kind.toLowerCase(), object) }));
  const families = table.map((metric): MetricFamily => {
    const { help, samples } = metric;
    return { name: nameOf(kind, metric), help, samples: () => samplesOf(named, samples) };
  });
  if (toUpdate === undefined) return families;
  const rollouts = named.map(({ object }) => ({
    object,
    name: `${labelsText({ kind })},${nameLabels("name", object)}`,
  }));
  const { samples } = gauge("", "", toUpdate);
  return [...families, { ...toUpdateFamily, samples: () => samplesOf(rollouts, samples) }];
}

function* samplesOf<T>(
  named: readonly { readonly object: T; readonly name: string }[],
  samples: ObjectMetric<T>["samples"],
): Generator<MetricSample> {
  for (const { object, name } of named) {
    const found = samples(object);
    const [first] = found;
    if (found.length > 1) yield* lastOfEach(found, name);
    else if (first !== undefined) yield { labels: joined(name, first.labels), value: first.value };
  }
}

/** Lists of objects have keys that the API server does not check everywhere: two samples with equal labels break a scrape. */
function lastOfEach(samples: readonly ObjectSample[], name: string): MetricSample[] {
  const values = new Map(samples.map(({ labels: further, value }) => [joined(name, further), value]));
  return [...values].map(([text, value]) => ({ labels: text, value }));
}

function joined(name: string, further: Labels | undefined): string {
  const text = further === undefined ? "" : labelsText(further);
  return text === "" ? name : `${name},${text}`;
}

function nameLabels(label: string, { metadata: { namespace = "", name = "" } }: KubeObject): string {
  return labelsText({ namespace, [label]: name });
}

function nameOf(kind: string, { name }: Pick<ObjectMetric<unknown>, "name">): string {
  return `kruise_${kind.toLowerCase()}_${name}`;
}

/** The families of a kind, for documents. */
export function describeObjectMetrics<T>({ resource, metrics }: DescribedKind<T>): MetricDescription[] {
  const { kind, namespaced } = resource;
  const scope = namespaced ? ["namespace"] : [];
  const type = "gauge";
  const table = (metrics?.table ?? []).map((metric) => ({
    name: nameOf(kind, metric),
    type,
    help: metric.help,
    labels: [...scope, kind.toLowerCase(), ...metric.labels],
  }));
  const rollout = { ...toUpdateFamily, type, labels: ["kind", "namespace", "name"] };
  return metrics?.toUpdate === undefined ? table : [...table, rollout];
}
