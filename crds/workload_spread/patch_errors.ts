/** What is wrong with a subset's patch on the pods of its workload. Spec: workloadspread 6. */
import {
  applyStrategicPatch,
  defaultPodTemplate,
  type FieldError,
  formatFieldErrors,
  goJson,
  invalid,
  type JsonObject,
  PatchError,
  validatePodTemplate,
  validateTypes,
} from "../../kube/core/index.ts";
import { member, objectsIn } from "../members.ts";
import type { WorkloadSpreadSubset } from "./schema.ts";

/** Errors of the workload's pod template as the patch of the subset makes it, at `path`. */
export function spreadPatchErrors(
  workload: JsonObject,
  { patch }: WorkloadSpreadSubset,
  path: string,
): FieldError[] {
  const spec = member(workload, "spec");
  const template = member(spec, "template");
  const refused = (why: string) => [invalid(path, goJson(patch), why)];
  let patched: JsonObject;
  try {
    patched = applyStrategicPatch(template, patch ?? {}, "Pod");
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return refused(`failed to merge patch: ${error.message}`);
  }
  const mistyped = validateTypes(patched, "PodTemplateSpec", path);
  if (mistyped.length > 0) return refused(`failed to unmarshal: ${formatFieldErrors(mistyped)}`);
  const claimTemplates = objectsIn(spec, "volumeClaimTemplates")
    .map((claim) => member(claim, "metadata")["name"])
    .filter((name) => typeof name === "string");
  return validatePodTemplate(defaultPodTemplate(patched), path, { claimTemplates });
}
