/** Built-in kinds with two faces: events of both groups, autoscalers of two versions. */
import { cloneJson } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, fieldsAt, objectsAt, textAt, valueAt } from "../json.ts";

export function convertBuiltin(object: StoredObject, apiVersion: string): StoredObject {
  if (object.apiVersion === apiVersion) return object;
  switch (`${object.apiVersion} ${apiVersion}`) {
    case "v1 events.k8s.io/v1":
      return renamed(object, apiVersion, eventNames);
    case "events.k8s.io/v1 v1":
      return renamed(object, apiVersion, inverse(eventNames));
    case "autoscaling/v2 autoscaling/v1":
      return autoscalerV1(object);
    case "autoscaling/v1 autoscaling/v2":
      return autoscalerV2(object);
    default:
      return { ...object, apiVersion };
  }
}

/** Core name -> name in events.k8s.io. */
const eventNames: Readonly<Record<string, string>> = {
  involvedObject: "regarding",
  message: "note",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
  reportingComponent: "reportingController",
};

function inverse(names: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([from, to]) => [to, from]));
}

function renamed(
  object: StoredObject,
  apiVersion: string,
  names: Readonly<Record<string, string>>,
): StoredObject {
  const copy: StoredObject = { metadata: object.metadata, apiVersion };
  for (const [name, value] of Object.entries(object)) {
    if (name === "apiVersion") continue;
    copy[names[name] ?? name] = value;
  }
  return copy;
}

const cpuUtilization = (metric: Fields): number | undefined => {
  const value = valueAt(metric, "resource", "target", "averageUtilization");
  return textAt(metric, "resource", "name") === "cpu" && typeof value === "number" ? value : undefined;
};

function autoscalerV1(object: StoredObject): StoredObject {
  const { metrics, behavior: _behavior, ...spec } = fieldsAt(cloneJson(object), "spec");
  const target = objectsAt({ metrics }, "metrics")
    .map(cpuUtilization)
    .find((value) => value !== undefined);
  if (target !== undefined) spec["targetCPUUtilizationPercentage"] = target;
  const { currentMetrics: _metrics, conditions: _conditions, ...status } = fieldsAt(object, "status");
  return { ...object, apiVersion: "autoscaling/v1", spec, status };
}

function autoscalerV2(object: StoredObject): StoredObject {
  const { targetCPUUtilizationPercentage: percent, ...spec } = fieldsAt(cloneJson(object), "spec");
  if (typeof percent === "number") {
    const target = { type: "Utilization", averageUtilization: percent };
    spec["metrics"] = [{ type: "Resource", resource: { name: "cpu", target } }];
  }
  return { ...object, apiVersion: "autoscaling/v2", spec };
}
