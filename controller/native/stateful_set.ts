/** What is kept of the StatefulSets of `apps`: who they are, how many pods they want, which are theirs. */
import type { JsonObject, LabelSelector, ObjectMeta } from "../../kube/core/index.ts";
import { projectedJsonCodec, type Resource } from "../../kube/index.ts";
import { numberAt, objectAt, textAt, textsAt } from "./json_fields.ts";

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
      const spec = objectAt(value, "spec");
      const metadata = objectAt(value, "metadata");
      return {
        metadata: {
          namespace: textAt(metadata, "namespace"),
          name: textAt(metadata, "name"),
          uid: textAt(metadata, "uid"),
          resourceVersion: textAt(metadata, "resourceVersion"),
          generation: numberAt(metadata, "generation") ?? 0,
          annotations: annotationsOf(metadata),
          ...(typeof metadata["deletionTimestamp"] === "string"
            ? { deletionTimestamp: metadata["deletionTimestamp"] }
            : {}),
        },
        replicas: numberAt(spec, "replicas") ?? 1,
        start: numberAt(objectAt(spec, "ordinals"), "start") ?? 0,
        // The API server has validated it.
        selector: objectAt(spec, "selector") as LabelSelector,
      };
    },
    identify: ({ metadata }) => ({
      key: `${metadata.namespace ?? ""}/${metadata.name ?? ""}`,
      uid: metadata.uid ?? "",
      version: metadata.resourceVersion ?? "",
    }),
  }),
};

/** Only what this kind reads: applied manifests in annotations are larger than all the rest. */
function annotationsOf(metadata: JsonObject): Record<string, string> {
  const annotations = Object.entries(textsAt(metadata, "annotations"));
  return Object.fromEntries(annotations.filter(([key]) => key.startsWith("kruise.io/")));
}
