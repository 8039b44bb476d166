/** What is kept of Deployments and ReplicaSets: who they are, whose, and how many pods they want. */
import type { JsonObject, Labels } from "../../kube/core/index.ts";
import { type ControllerOf, projectedJsonCodec, type Resource } from "../../kube/index.ts";
import { numberAt, objectAt, objectsAt, textAt } from "../json_fields.ts";

export interface NativeWorkload {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Not kept: selections of these objects are by namespace alone. */
  readonly labels: Labels;
  readonly replicas: number;
  readonly terminating: boolean;
  readonly controller: ControllerOf | undefined;
}

export const deploymentResource = nativeWorkload("deployments", "Deployment");
export const replicaSetResource = nativeWorkload("replicasets", "ReplicaSet");

function nativeWorkload(plural: string, kind: string): Resource<NativeWorkload> {
  return {
    group: "apps",
    version: "v1",
    plural,
    kind,
    namespaced: true,
    codec: projectedJsonCodec<NativeWorkload>({
      fromJson: read,
      identify: ({ namespace, name, uid, resourceVersion }) => ({
        key: `${namespace}/${name}`,
        uid,
        version: resourceVersion,
      }),
    }),
  };
}

function read(value: JsonObject): NativeWorkload {
  const metadata = objectAt(value, "metadata");
  return {
    namespace: textAt(metadata, "namespace"),
    name: textAt(metadata, "name"),
    uid: textAt(metadata, "uid"),
    resourceVersion: textAt(metadata, "resourceVersion"),
    labels: {},
    replicas: numberAt(objectAt(value, "spec"), "replicas") ?? 1,
    terminating: textAt(metadata, "deletionTimestamp") !== "",
    controller: controllerIn(metadata),
  };
}

/** The controlling owner in the metadata of any object. */
function controllerIn(metadata: JsonObject): ControllerOf | undefined {
  const owner = objectsAt(metadata, "ownerReferences").find((each) => each["controller"] === true);
  if (owner === undefined) return undefined;
  const [group = "", version] = textAt(owner, "apiVersion").split("/");
  return {
    group: version === undefined ? "" : group,
    kind: textAt(owner, "kind"),
    name: textAt(owner, "name"),
    uid: textAt(owner, "uid"),
  };
}
