/** Defaults that admission writes into an AdvancedCronJob. Spec: jobs A2, A6. */
import {
  cloneJson,
  ensureObject,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  own,
} from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";
import { member } from "../members.ts";
import { defaultTemplateOf } from "../pod_templates.ts";

/** Templates in which a pod template is. */
const podTemplates = ["jobTemplate", "broadcastJobTemplate"] as const;

/** A copy with every default; twice changes nothing more. `object`: of either version, with the right types (`advancedCronJob.read`). */
export function defaultAdvancedCronJob(object: JsonObject, options: Defaulting): JsonObject {
  const result = cloneJson(object);
  const spec = result["spec"];
  if (!isJsonObject(spec)) return result;
  const template = member(spec, "template");
  const images = own(template, "imageListPullJobTemplate");
  fill(spec, "concurrencyPolicy", isJsonObject(images) ? "Replace" : "Allow");
  fill(spec, "paused", false);
  fill(spec, "successfulJobsHistoryLimit", 3);
  fill(spec, "failedJobsHistoryLimit", 1);
  if (isJsonObject(images)) defaultImages(images);
  const before = options.old === undefined ? {} : member(member(options.old, "spec"), "template");
  for (const kind of podTemplates) {
    if (!jsonEqual(own(before, kind), own(template, kind)))
      defaultTemplateOf(member(member(template, kind), "spec"), options);
  }
  return result;
}

/** Only where it does not say when it ends. */
function defaultImages(template: JsonObject): void {
  const spec = own(template, "spec");
  if (!isJsonObject(spec)) return;
  const completion = ensureObject(spec, "completionPolicy");
  if (completion["type"]) return;
  completion["type"] = "Always";
  const pull = ensureObject(spec, "pullPolicy");
  fill(pull, "timeoutSeconds", 600);
  fill(pull, "backoffLimit", 3);
  fill(spec, "imagePullPolicy", "IfNotPresent");
}
