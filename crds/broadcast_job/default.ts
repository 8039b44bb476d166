/** Defaults that admission writes into a BroadcastJob. Spec: jobs B2, B6. */
import { cloneJson, ensureObject, type JsonObject } from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";
import { defaultTemplateOf, isChanged } from "../pod_templates.ts";

/** Pods at the same time where nothing else is asked for. */
const unlimitedParallelism = 2147483647;

/** A copy with every default; twice changes nothing more. `object`: of either version, with the right types (`broadcastJob.read`). */
export function defaultBroadcastJob(object: JsonObject, options: Defaulting): JsonObject {
  const result = cloneJson(object);
  if (options.old === undefined) delete result["status"];
  const spec = ensureObject(result, "spec");
  fill(spec, "parallelism", unlimitedParallelism);
  fill(ensureObject(spec, "completionPolicy"), "type", "Always");
  fill(ensureObject(spec, "failurePolicy"), "type", "FailFast");
  if (isChanged(spec, "template", options)) defaultTemplateOf(spec, options);
  return result;
}
