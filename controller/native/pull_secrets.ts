/** Secrets with registry credentials, as far as pull jobs look at them. Their data is never logged. */
import type { Labels } from "../../kube/core/index.ts";
import { identifyProjection, projectedJsonCodec, type Resource } from "../../kube/index.ts";
import { objectAt, textAt, textsAt } from "./json_fields.ts";

export interface PullSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly type: string;
  /** Base64, as it is stored. */
  readonly data: Labels;
  readonly deleting: boolean;
}

export const pullSecretResource: Resource<PullSecret> = {
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
  codec: projectedJsonCodec<PullSecret>({
    fromJson: (value) => {
      const metadata = objectAt(value, "metadata");
      return {
        namespace: textAt(metadata, "namespace"),
        name: textAt(metadata, "name"),
        uid: textAt(metadata, "uid"),
        resourceVersion: textAt(metadata, "resourceVersion"),
        labels: textsAt(metadata, "labels"),
        annotations: textsAt(metadata, "annotations"),
        type: textAt(value, "type"),
        data: textsAt(value, "data"),
        deleting: textAt(metadata, "deletionTimestamp") !== "",
      };
    },
    identify: identifyProjection,
  }),
};
