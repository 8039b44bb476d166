/** What is kept of Deployments and ReplicaSets: who they are, whose, and how many pods they want. */
import { isJsonObject, type JsonObject, type Labels, own } from "../../kube/core/index.ts";
import { type ControllerOf, projectedJsonCodec, type Resource } from "../../kube/index.ts";

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
  const metadata = member(value, "metadata");
  const replicas = own(member(value, "spec"), "replicas");
  return {
    namespace: text(metadata, "namespace"),
    name: text(metadata, "name"),
    uid: text(metadata, "uid"),
    resourceVersion: text(metadata, "resourceVersion"),
    labels: {},
    replicas: typeof replicas === "number" ? replicas : 1,
    terminating: text(metadata, "deletionTimestamp") !== "",
    controller: controllerIn(metadata),
  };
}

/** The controlling owner in the metadata of any object. */
function controllerIn(metadata: JsonObject): ControllerOf | undefined {
  const owners = own(metadata, "ownerReferences");
  const owner = Array.isArray(owners)
    ? owners.filter(isJsonObject).find((each) => each["controller"] === true)
    : undefined;
  if (owner === undefined) return undefined;
  const [group = "", version] = text(owner, "apiVersion").split("/");
  return {
    group: version === undefined ? "" : group,
    kind: text(owner, "kind"),
    name: text(owner, "name"),
    uid: text(owner, "uid"),
  };
}

function member(object: JsonObject, key: string): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? value : {};
}

function text(object: JsonObject, key: string): string {
  const value = own(object, key);
  return typeof value === "string" ? value : "";
}
