/** What an AdvancedCronJob starts. Spec: jobs A4, rule 3. */

import { type AdvancedCronJob, apiVersionOf, broadcastJob, imageListPullJob } from "../../../crds/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { type ChildKind, scheduledAtAnnotation } from "./observe.ts";
import { zonedTime } from "./occurrences.ts";

export const childApiVersions: Readonly<Record<ChildKind, string>> = {
  Job: "batch/v1",
  BroadcastJob: apiVersionOf(broadcastJob),
  ImageListPullJob: apiVersionOf(imageListPullJob),
};

/** The child for a scheduled time, under a name that only this time can have. */
export function childBody(
  { metadata, spec }: AdvancedCronJob,
  kind: ChildKind,
  scheduledAt: number,
  localZone: string,
): { kind: ChildKind; name: string; body: ObjectBody } {
  const name = `${metadata.name ?? ""}-${Math.floor(scheduledAt / 1000)}`;
  const template = objectAt(spec.template, templateNames[kind]);
  const templateMetadata = objectAt(template, "metadata");
  const labels = objectAt(templateMetadata, "labels");
  const body = {
    apiVersion: childApiVersions[kind],
    kind,
    metadata: {
      name,
      namespace: metadata.namespace ?? "",
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      annotations: {
        ...objectAt(templateMetadata, "annotations"),
        [scheduledAtAnnotation]: zonedTime(scheduledAt, localZone),
      },
      ownerReferences: [ownerReference("AdvancedCronJob", metadata.name ?? "", metadata.uid ?? "")],
    },
    spec: objectAt(template, "spec"),
  };
  return { kind, name, body };
}

const templateNames = {
  Job: "jobTemplate",
  BroadcastJob: "broadcastJobTemplate",
  ImageListPullJob: "imageListPullJobTemplate",
} as const;
