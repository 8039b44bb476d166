/** Secrets with registry credentials, as far as pull jobs look at them. Their data is never logged. */
import type { KubeObject, Labels } from "../kube/core/index.ts";
import { isJsonObject, keyOf } from "../kube/core/index.ts";
import { projectedJsonCodec, type Resource } from "../kube/index.ts";

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
      const metadata = isJsonObject(value["metadata"]) ? value["metadata"] : {};
      return {
        namespace: textOf(metadata["namespace"]),
        name: textOf(metadata["name"]),
        uid: textOf(metadata["uid"]),
        resourceVersion: textOf(metadata["resourceVersion"]),
        labels: textsOf(metadata["labels"]),
        annotations: textsOf(metadata["annotations"]),
        type: textOf(value["type"]),
        data: textsOf(value["data"]),
        deleting: typeof metadata["deletionTimestamp"] === "string",
      };
    },
    identify: ({ namespace, name, uid, resourceVersion }) => ({
      key: keyOf({ namespace, name }),
      uid,
      version: resourceVersion,
    }),
  }),
};

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): Labels {
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** Whether an object carries the finalizer. */
export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}
