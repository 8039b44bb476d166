/** How objects of each kind are read where they come from anybody: in admission and on the command line. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import { advancedCronJob } from "./advanced_cron_job/schema.ts";
import { broadcastJob } from "./broadcast_job/schema.ts";
import { cloneSet } from "./clone_set/schema.ts";
import { containerRecreateRequest } from "./container_recreate_request/schema.ts";
import { daemonSet } from "./daemon_set/schema.ts";
import { ephemeralJob } from "./ephemeral_job/schema.ts";
import { imageListPullJob } from "./image_list_pull_job/schema.ts";
import { imagePullJob } from "./image_pull_job/schema.ts";
import { kindReader } from "./kind_reader.ts";
import { member } from "./members.ts";
import { nodeImage } from "./node_image/schema.ts";
import { persistentPodState } from "./persistent_pod_state/schema.ts";
import { podProbeMarker } from "./pod_probe_marker/schema.ts";
import { podUnavailableBudget } from "./pod_unavailable_budget/schema.ts";
import { statefulSet } from "./stateful_set/schema.ts";

export const cloneSetReader = kindReader(cloneSet, { templateErrors: workloadTemplateErrors });
export const statefulSetReader = kindReader(statefulSet, { templateErrors: workloadTemplateErrors });
export const daemonSetReader = kindReader(daemonSet, { templateErrors: workloadTemplateErrors });
export const broadcastJobReader = kindReader(broadcastJob, { templateErrors: workloadTemplateErrors });
export const advancedCronJobReader = kindReader(advancedCronJob, { templateErrors: cronJobTemplateErrors });
export const containerRecreateRequestReader = kindReader(containerRecreateRequest);
export const ephemeralJobReader = kindReader(ephemeralJob, { complete: true });
export const imageListPullJobReader = kindReader(imageListPullJob);
export const imagePullJobReader = kindReader(imagePullJob);
export const nodeImageReader = kindReader(nodeImage);
export const persistentPodStateReader = kindReader(persistentPodState);
export const podProbeMarkerReader = kindReader(podProbeMarker, { complete: true });
export const podUnavailableBudgetReader = kindReader(podUnavailableBudget);

/** Mistakes of type in `spec.template` and `spec.volumeClaimTemplates`, which schemas leave open. */
function workloadTemplateErrors({ spec }: JsonObject): FieldError[] {
  if (!isJsonObject(spec)) return [];
  const errors = validateTypes(spec["template"], "PodTemplateSpec", "spec.template");
  const path = "spec.volumeClaimTemplates";
  const claims = spec["volumeClaimTemplates"];
  if (Array.isArray(claims)) {
    for (const [index, claim] of claims.entries())
      errors.push(...validateTypes(claim, "PersistentVolumeClaim", `${path}[${index}]`));
  } else if (claims !== undefined && claims !== null) {
    errors.push(required(path, "must be a list"));
  }
  return errors;
}

/** The same of the templates of an AdvancedCronJob; that of an ImageListPullJob is in the schema. */
function cronJobTemplateErrors(object: JsonObject): FieldError[] {
  const template = member(member(object, "spec"), "template");
  const path = "spec.template";
  const pod = member(member(template, "broadcastJobTemplate"), "spec")["template"];
  return [
    ...validateTypes(template["jobTemplate"], "JobTemplateSpec", `${path}.jobTemplate`),
    ...validateTypes(pod, "PodTemplateSpec", `${path}.broadcastJobTemplate.spec.template`),
  ];
}
