/**
 * What admission lets pass because the API does, although no run will ever come or every one will be refused: said as
 * warnings, since nothing else would tell. Spec: jobs A4 rule 14, A6.
 */
import { formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import { defaultBroadcastJob } from "../broadcast_job/default.ts";
import { broadcastJob } from "../broadcast_job/schema.ts";
import { validateBroadcastJob } from "../broadcast_job/validate.ts";
import { member } from "../members.ts";
import { everFires, parseSchedule } from "./schedule.ts";
import type { DecodedAdvancedCronJob } from "./schema.ts";

/** A dash and ten digits of seconds. */
const suffixLength = 11;
const longestName = 63;

export function advancedCronJobWarnings({ object }: DecodedAdvancedCronJob): string[] {
  const warnings: string[] = [];
  const { schedule, timeZone } = object.spec ?? {};
  if (schedule && !everFires(parseSchedule(schedule, timeZone ?? undefined))) {
    warnings.push("spec.schedule: never starts anything: none of its months has any of its days");
  }
  const { jobTemplate, broadcastJobTemplate } = object.spec?.template ?? {};
  const name = object.metadata.name ?? "";
  if ((jobTemplate || broadcastJobTemplate) && name.length + suffixLength > longestName) {
    const most = longestName - suffixLength;
    warnings.push(`metadata.name: longer than ${most} characters: the names of its jobs will be refused`);
  }
  if (jobTemplate) {
    const pod = member(member(member(jobTemplate, "spec"), "template"), "spec");
    const restart = pod["restartPolicy"];
    if (restart !== "Never" && restart !== "OnFailure") {
      warnings.push(
        "spec.template.jobTemplate.spec.template.spec.restartPolicy: neither Never nor OnFailure: every Job will be refused",
      );
    }
  }
  if (broadcastJobTemplate) warnings.push(...broadcastWarnings(broadcastJobTemplate));
  return warnings;
}

function broadcastWarnings(template: { spec?: object }): string[] {
  const job: JsonObject = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "BroadcastJob",
    metadata: { name: "child" },
    spec: template.spec ?? {},
  };
  const decoded = broadcastJob.read(
    defaultBroadcastJob(job, { templateDefaults: true, hostNetworkPorts: false }),
  );
  const errors = "errors" in decoded ? decoded.errors : validateBroadcastJob(decoded);
  if (errors.length === 0) return [];
  return [
    `spec.template.broadcastJobTemplate: every BroadcastJob will be refused: ${formatFieldErrors(errors)}`,
  ];
}
