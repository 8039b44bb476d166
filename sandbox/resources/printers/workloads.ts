/** Tables of the built-in workloads and of what limits them. */
import type { StoredObject } from "../../cluster.ts";
import { type Fields, fieldsAt, listAt, numberAt, objectsAt, textAt, valueAt } from "../../json.ts";
import {
  ageColumn,
  ageOf,
  ageOfObject,
  column,
  humanDuration,
  nameColumn,
  type Printer,
} from "../printer.ts";
import { labelText, selectorCell, selectorColumn, simple, templateCells, templateColumns } from "./parts.ts";

const integer = { type: "integer" };
const number = (object: StoredObject, ...path: readonly string[]): number => numberAt(object, ...path) ?? 0;
const template = (object: StoredObject): Fields => fieldsAt(object, "spec", "template");
const wideCells = (object: StoredObject): string[] => [
  ...templateCells(template(object)),
  selectorCell(object),
];

export const deploymentPrinter = simple(
  [
    column("Ready", "Ready pods of those wanted."),
    column("Up-to-date", "Pods of the newest template."),
    column("Available", "Pods that are ready for long enough."),
  ],
  (object) => [
    `${number(object, "status", "readyReplicas")}/${number(object, "spec", "replicas")}`,
    String(number(object, "status", "updatedReplicas")),
    String(number(object, "status", "availableReplicas")),
  ],
  [...templateColumns, selectorColumn],
  wideCells,
);

export const replicaSetPrinter = simple(
  [
    column("Desired", "Pods wanted.", integer),
    column("Current", "Pods that exist.", integer),
    column("Ready", "Pods that are ready.", integer),
  ],
  (object) => [
    number(object, "spec", "replicas"),
    number(object, "status", "replicas"),
    number(object, "status", "readyReplicas"),
  ],
  [...templateColumns, selectorColumn],
  wideCells,
);

export const statefulSetPrinter = simple(
  [column("Ready", "Ready pods of those wanted.")],
  (object) => [`${number(object, "status", "readyReplicas")}/${number(object, "spec", "replicas")}`],
  templateColumns,
  (object) => templateCells(template(object)),
);

export const daemonSetPrinter = simple(
  [
    column("Desired", "Nodes that should run a pod.", integer),
    column("Current", "Nodes that run one.", integer),
    column("Ready", "Pods that are ready.", integer),
    column("Up-to-date", "Pods of the newest template.", integer),
    column("Available", "Pods that are ready for long enough.", integer),
    column("Node Selector", "Labels of its nodes."),
  ],
  (object) => [
    number(object, "status", "desiredNumberScheduled"),
    number(object, "status", "currentNumberScheduled"),
    number(object, "status", "numberReady"),
    number(object, "status", "updatedNumberScheduled"),
    number(object, "status", "numberAvailable"),
    labelText(fieldsAt(template(object), "spec", "nodeSelector")),
  ],
  [...templateColumns, selectorColumn],
  wideCells,
);

export const revisionPrinter = simple(
  [column("Controller", "Whose revision it is."), column("Revision", "Number of the revision.")],
  (object) => [ownerText(object), String(number(object, "revision"))],
);

function ownerText(object: StoredObject): string {
  const owner = object.metadata.ownerReferences?.find((one) => one.controller === true);
  if (owner === undefined) return "<none>";
  const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
  return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
}

export const jobPrinter = simple(
  [
    column("Status", "How far the job is."),
    column("Completions", "Finished pods of those wanted."),
    column("Duration", "How long it ran."),
  ],
  (object, now) => [jobStatus(object), completions(object), duration(object, now)],
  [...templateColumns, selectorColumn],
  wideCells,
);

function jobStatus(job: StoredObject): string {
  const holds = (type: string): boolean =>
    objectsAt(job, "status", "conditions").some((one) => one["type"] === type && one["status"] === "True");
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  if (holds("Suspended")) return "Suspended";
  if (holds("FailureTarget")) return "FailureTarget";
  return holds("SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running";
}

function completions(job: StoredObject): string {
  const done = number(job, "status", "succeeded");
  const wanted = numberAt(job, "spec", "completions");
  if (wanted !== undefined) return `${done}/${wanted}`;
  const parallel = number(job, "spec", "parallelism");
  return parallel > 1 ? `${done}/1 of ${parallel}` : `${done}/1`;
}

function duration(job: StoredObject, now: number): string {
  const start = Date.parse(textAt(job, "status", "startTime"));
  if (Number.isNaN(start)) return "";
  const end = Date.parse(textAt(job, "status", "completionTime"));
  return humanDuration((Number.isNaN(end) ? now : end) - start);
}

export const cronJobPrinter: Printer = {
  columns: [
    nameColumn,
    column("Schedule", "When jobs start."),
    column("Timezone", "Of the schedule."),
    column("Suspend", "Whether it rests.", { type: "boolean" }),
    column("Active", "Jobs that run now.", integer),
    column("Last Schedule", "Since the last start."),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  row(object, now) {
    const last = textAt(object, "status", "lastScheduleTime");
    const job = fieldsAt(object, "spec", "jobTemplate", "spec");
    return [
      object.metadata.name ?? "",
      textAt(object, "spec", "schedule"),
      textAt(object, "spec", "timeZone") || "<none>",
      valueAt(object, "spec", "suspend") === true ? "True" : "False",
      listAt(object, "status", "active").length,
      last === "" ? "<none>" : ageOf(last, now),
      ageOfObject(object, now),
      ...templateCells(fieldsAt(job, "template")),
      "<none>",
    ];
  },
};

export const budgetPrinter = simple(
  [
    column("Min Available", "Pods that must stay."),
    column("Max Unavailable", "Pods that may be away."),
    column("Allowed Disruptions", "Pods that may go now.", integer),
  ],
  (object) => [
    String(valueAt(object, "spec", "minAvailable") ?? "N/A"),
    String(valueAt(object, "spec", "maxUnavailable") ?? "N/A"),
    number(object, "status", "disruptionsAllowed"),
  ],
);

/** `pods: 1/10` for each limited resource. */
export const quotaPrinter = simple(
  [column("Request", "What is used of what may be asked for."), column("Limit", "The same for limits.")],
  (object) => [quotaText(object, false), quotaText(object, true)],
);

function quotaText(quota: StoredObject, limits: boolean): string {
  const used = fieldsAt(quota, "status", "used");
  return Object.entries(fieldsAt(quota, "spec", "hard"))
    .filter(([name]) => name.startsWith("limits.") === limits)
    .map(([name, hard]) => `${name}: ${String(used[name] ?? "0")}/${String(hard)}`)
    .join(", ");
}

export const autoscalerPrinter = simple(
  [
    column("Reference", "What is scaled."),
    column("Targets", "Present and wanted metrics."),
    column("MinPods", "Fewest pods."),
    column("MaxPods", "Most pods."),
    column("Replicas", "Pods now."),
  ],
  (object) => [
    `${textAt(object, "spec", "scaleTargetRef", "kind")}/${textAt(object, "spec", "scaleTargetRef", "name")}`,
    targets(object),
    String(valueAt(object, "spec", "minReplicas") ?? "<unset>"),
    number(object, "spec", "maxReplicas"),
    number(object, "status", "currentReplicas"),
  ],
);

function targets(autoscaler: StoredObject): string {
  const current = objectsAt(autoscaler, "status", "currentMetrics");
  const texts = objectsAt(autoscaler, "spec", "metrics").map((metric, at) => {
    const target = fieldsAt(metric, "resource", "target");
    const name = textAt(metric, "resource", "name") || textAt(metric, "type").toLowerCase();
    const wanted = numberAt(target, "averageUtilization");
    const present = numberAt(current[at], "resource", "current", "averageUtilization");
    const goal =
      wanted === undefined ? textAt(target, "averageValue") || textAt(target, "value") : `${wanted}%`;
    return `${name}: ${present === undefined ? "<unknown>" : `${present}%`}/${goal}`;
  });
  return texts.length === 0 ? "<none>" : texts.join(", ");
}
