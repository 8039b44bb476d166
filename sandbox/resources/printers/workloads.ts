/** Tables of the built-in workloads and of what limits them. */
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, listAt, numberAt, objectsAt, textAt, valueAt } from "../../json.ts";
import { ageOf, at, type Cell, column, humanDuration, integer, type Printer, wide } from "../printer.ts";
import { labelText, selectorCell, simple, templateColumns } from "./parts.ts";

const number = (object: StoredObject, ...path: readonly string[]): number => numberAt(object, ...path) ?? 0;
const count = (...path: readonly string[]): Cell => {
  return (object) => number(object, ...path);
};
const countText = (...path: readonly string[]): Cell => {
  return (object) => String(number(object, ...path));
};
const readyOfWanted: Cell = (object) =>
  `${number(object, "status", "readyReplicas")}/${number(object, "spec", "replicas")}`;
const template = templateColumns("spec", "template");
const templateAndSelector = [...template, column("Selector", "Labels of its pods.", selectorCell, wide)];

const replicaSets = simple(
  [
    column("Desired", "Pods wanted.", count("spec", "replicas"), integer),
    column("Current", "Pods that exist.", count("status", "replicas"), integer),
    column("Ready", "Pods that are ready.", count("status", "readyReplicas"), integer),
  ],
  templateAndSelector,
);

export const workloadPrinters: Readonly<Record<string, Printer>> = {
  replicationcontrollers: replicaSets,
  "replicasets.apps": replicaSets,
  "deployments.apps": simple(
    [
      column("Ready", "Ready pods of those wanted.", readyOfWanted),
      column("Up-to-date", "Pods of the newest template.", countText("status", "updatedReplicas")),
      column("Available", "Pods that are ready for long enough.", countText("status", "availableReplicas")),
    ],
    templateAndSelector,
  ),
  "statefulsets.apps": simple([column("Ready", "Ready pods of those wanted.", readyOfWanted)], template),
  "daemonsets.apps": simple(
    [
      column("Desired", "Nodes that should run a pod.", count("status", "desiredNumberScheduled"), integer),
      column("Current", "Nodes that run one.", count("status", "currentNumberScheduled"), integer),
      column("Ready", "Pods that are ready.", count("status", "numberReady"), integer),
      column(
        "Up-to-date",
        "Pods of the newest template.",
        count("status", "updatedNumberScheduled"),
        integer,
      ),
      column(
        "Available",
        "Pods that are ready for long enough.",
        count("status", "numberAvailable"),
        integer,
      ),
      column("Node Selector", "Labels of its nodes.", (object) =>
        labelText(fieldsAt(object, "spec", "template", "spec", "nodeSelector")),
      ),
    ],
    templateAndSelector,
  ),
  "controllerrevisions.apps": simple([
    column("Controller", "Whose revision it is.", ownerText),
    column("Revision", "Number of the revision.", countText("revision")),
  ]),
  "jobs.batch": simple(
    [
      column("Status", "How far the job is.", jobStatus),
      column("Completions", "Finished pods of those wanted.", completions),
      column("Duration", "How long it ran.", duration),
    ],
    templateAndSelector,
  ),
  "cronjobs.batch": simple(
    [
      column("Schedule", "When jobs start.", at("spec", "schedule")),
      column("Timezone", "Of the schedule.", (object) => textAt(object, "spec", "timeZone") || "<none>"),
      column(
        "Suspend",
        "Whether it rests.",
        (object) => (valueAt(object, "spec", "suspend") === true ? "True" : "False"),
        { type: "boolean" },
      ),
      column("Active", "Jobs that run now.", (object) => listAt(object, "status", "active").length, integer),
      column("Last Schedule", "Since the last start.", (object, now) => {
        const last = textAt(object, "status", "lastScheduleTime");
        return last === "" ? "<none>" : ageOf(last, now);
      }),
    ],
    [
      ...templateColumns("spec", "jobTemplate", "spec", "template"),
      column("Selector", "Labels of its pods.", () => "<none>", wide),
    ],
  ),
  "poddisruptionbudgets.policy": simple([
    column("Min Available", "Pods that must stay.", (object) =>
      String(valueAt(object, "spec", "minAvailable") ?? "N/A"),
    ),
    column("Max Unavailable", "Pods that may be away.", (object) =>
      String(valueAt(object, "spec", "maxUnavailable") ?? "N/A"),
    ),
    column("Allowed Disruptions", "Pods that may go now.", count("status", "disruptionsAllowed"), integer),
  ]),
  resourcequotas: simple([
    column("Request", "What is used of what may be asked for.", (object) => quotaText(object, false)),
    column("Limit", "The same for limits.", (object) => quotaText(object, true)),
  ]),
  "horizontalpodautoscalers.autoscaling": simple([
    column("Reference", "What is scaled.", (object) => {
      const { kind, name } = fieldsAt(object, "spec", "scaleTargetRef");
      return `${String(kind ?? "")}/${String(name ?? "")}`;
    }),
    column("Targets", "Present and wanted metrics.", targets),
    column("MinPods", "Fewest pods.", (object) =>
      String(valueAt(object, "spec", "minReplicas") ?? "<unset>"),
    ),
    column("MaxPods", "Most pods.", count("spec", "maxReplicas")),
    column("Replicas", "Pods now.", count("status", "currentReplicas")),
  ]),
};

function ownerText(object: StoredObject): string {
  const owner = object.metadata.ownerReferences?.find((one) => one.controller === true);
  if (owner === undefined) return "<none>";
  const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
  return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
}

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

/** `pods: 1/10` for each limited resource. */
function quotaText(quota: StoredObject, limits: boolean): string {
  const used = fieldsAt(quota, "status", "used");
  return Object.entries(fieldsAt(quota, "spec", "hard"))
    .filter(([name]) => name.startsWith("limits.") === limits)
    .map(([name, hard]) => `${name}: ${String(used[name] ?? "0")}/${String(hard)}`)
    .join(", ");
}

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
