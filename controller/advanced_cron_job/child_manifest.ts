/** What an AdvancedCronJob starts. Spec: jobs A4, rule 3. */
import type { AdvancedCronJob } from "../../crds/index.ts";
import { isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { ownerReference } from "../rollout/pod_manifest.ts";
import { type ChildKind, scheduledAtAnnotation } from "./observe.ts";
import { zonedTime } from "./occurrences.ts";

const apiVersions: Readonly<Record<ChildKind, string>> = {
  Job: "batch/v1",
  BroadcastJob: "apps.kruise.io/v1beta1",
  ImageListPullJob: "apps.kruise.io/v1beta1",
};

/** The child for a scheduled time, under a name that only this time can have. */
export function childBody(
  { metadata, spec }: AdvancedCronJob,
  kind: ChildKind,
  scheduledAt: number,
  localZone: string,
): { kind: ChildKind; name: string; body: object } {
  const name = `${metadata.name ?? ""}-${Math.floor(scheduledAt / 1000)}`;
  const template = templateOf(spec.template, kind);
  const templateMetadata = memberOf(template, "metadata");
  const labels = memberOf(templateMetadata, "labels");
  const body = {
    apiVersion: apiVersions[kind],
    kind,
    metadata: {
      name,
      namespace: metadata.namespace ?? "",
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      annotations: {
        ...memberOf(templateMetadata, "annotations"),
        [scheduledAtAnnotation]: zonedTime(scheduledAt, localZone),
      },
      ownerReferences: [ownerReference("AdvancedCronJob", metadata.name ?? "", metadata.uid ?? "")],
    },
    spec: memberOf(template, "spec"),
  };
  return { kind, name, body };
}

function templateOf(template: AdvancedCronJob["spec"]["template"], kind: ChildKind): unknown {
  if (kind === "Job") return template.jobTemplate;
  return kind === "BroadcastJob" ? template.broadcastJobTemplate : template.imageListPullJobTemplate;
}

function memberOf(object: unknown, key: string): JsonObject {
  const value = isJsonObject(object) ? own(object, key) : undefined;
  return isJsonObject(value) ? value : {};
}
