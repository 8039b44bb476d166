/** What is kept of Deployments, ReplicaSets and Jobs: who they are, whose, and how many pods they want. */
import type { JsonObject, Labels } from "../../kube/core/index.ts";
import {
  type ControllerOf,
  identifyProjection,
  projectedJsonCodec,
  type Resource,
} from "../../kube/index.ts";
import { numberAt, objectAt, textAt } from "./json_fields.ts";
import { controllerIn } from "./owners.ts";

export interface NativeWorkload {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Not kept: selections of these objects are by namespace alone. */
  readonly labels: Labels;
  readonly replicas: number;
  /** Annotation `deployment.kubernetes.io/revision`: equal for a Deployment and the ReplicaSet of its present template. */
  readonly revision: string;
  /** Label `pod-template-hash`. */
  readonly templateHash: string;
  /** The controller has looked at the present generation. */
  readonly observed: boolean;
  readonly terminating: boolean;
  readonly controller: ControllerOf | undefined;
}

export const deploymentResource = nativeWorkload("apps", "deployments", "Deployment");
export const replicaSetResource = nativeWorkload("apps", "replicasets", "ReplicaSet");
/** Its replicas are the pods that may run at a time. */
export const jobResource = nativeWorkload("batch", "jobs", "Job");

function nativeWorkload(group: string, plural: string, kind: string): Resource<NativeWorkload> {
  const size = kind === "Job" ? "parallelism" : "replicas";
  return {
    group,
    version: "v1",
    plural,
    kind,
    namespaced: true,
    codec: projectedJsonCodec<NativeWorkload>({
      fromJson: (value) => read(value, size),
      identify: identifyProjection,
    }),
  };
}

function read(value: JsonObject, size: string): NativeWorkload {
  const metadata = objectAt(value, "metadata");
  return {
    namespace: textAt(metadata, "namespace"),
    name: textAt(metadata, "name"),
    uid: textAt(metadata, "uid"),
    resourceVersion: textAt(metadata, "resourceVersion"),
    labels: {},
    replicas: numberAt(objectAt(value, "spec"), size) ?? 1,
    revision: textAt(objectAt(metadata, "annotations"), "deployment.kubernetes.io/revision"),
    templateHash: textAt(objectAt(metadata, "labels"), "pod-template-hash"),
    observed:
      (numberAt(objectAt(value, "status"), "observedGeneration") ?? 0) >=
      (numberAt(metadata, "generation") ?? 0),
    terminating: textAt(metadata, "deletionTimestamp") !== "",
    controller: controllerIn(metadata),
  };
}
