/** What is kept of the StatefulSets of `apps`: who they are, how many pods they want, which are theirs. */
import {
  isJsonObject,
  type JsonObject,
  type LabelSelector,
  type ObjectMeta,
  own,
} from "../../kube/core/index.ts";
import { projectedJsonCodec, type Resource } from "../../kube/index.ts";

export interface NativeStatefulSet {
  readonly metadata: ObjectMeta;
  readonly replicas: number;
  /** `spec.ordinals.start`. */
  readonly start: number;
  readonly selector: LabelSelector;
}

export const nativeStatefulSetResource: Resource<NativeStatefulSet> = {
  group: "apps",
  version: "v1",
  plural: "statefulsets",
  kind: "StatefulSet",
  namespaced: true,
  codec: projectedJsonCodec<NativeStatefulSet>({
    fromJson: (value) => {
      const spec = member(value, "spec");
      const metadata = member(value, "metadata");
      return {
        metadata: {
          namespace: text(metadata, "namespace"),
          name: text(metadata, "name"),
          uid: text(metadata, "uid"),
          resourceVersion: text(metadata, "resourceVersion"),
          generation: number(metadata, "generation", 0),
          annotations: texts(member(metadata, "annotations")),
          ...(typeof metadata["deletionTimestamp"] === "string"
            ? { deletionTimestamp: metadata["deletionTimestamp"] }
            : {}),
        },
        replicas: number(spec, "replicas", 1),
        start: number(member(spec, "ordinals"), "start", 0),
        // The API server has validated it.
        selector: member(spec, "selector") as LabelSelector,
      };
    },
    identify: ({ metadata }) => ({
      key: `${metadata.namespace ?? ""}/${metadata.name ?? ""}`,
      uid: metadata.uid ?? "",
      version: metadata.resourceVersion ?? "",
    }),
  }),
};

function member(object: JsonObject, key: string): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? value : {};
}

function text(object: JsonObject, key: string): string {
  const value = own(object, key);
  return typeof value === "string" ? value : "";
}

function number(object: JsonObject, key: string, absent: number): number {
  const value = own(object, key);
  return typeof value === "number" ? value : absent;
}

/** Only what this kind reads: applied manifests in annotations are larger than all the rest. */
function texts(annotations: JsonObject): Record<string, string> {
  const entries = Object.entries(annotations).filter(([key]) => key.startsWith("kruise.io/"));
  return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
}
