/**
 * Secrets and ConfigMaps as far as distributions look at them: whose they are, and a hash of what they hold. Neither data
 * nor annotations are kept, in which appliers repeat the data.
 */
import { createHash } from "node:crypto";
import { contentOf, type DistributedContent, type DistributedKind } from "../../../crds/index.ts";
import { goJson, type JsonObject, type Labels } from "../../../kube/core/index.ts";
import { identifyProjection, projectedJsonCodec, type Resource } from "../../../kube/index.ts";
import { objectAt, textAt } from "../../native/json_fields.ts";
import { controllerIn } from "../../native/owners.ts";

/** An object that has the name of a distributed one, whoever owns it. */
export interface Copy {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** UID of the controlling owner; empty: none. */
  readonly controllerUid: string;
  /** `contentHash` of what it holds. */
  readonly content: string;
  /** Names of its values: what a merge patch has to take away by name. */
  readonly keys: readonly string[];
  readonly binaryKeys: readonly string[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
  /** Nothing selects copies by them. */
  readonly labels: Labels;
}

const noLabels: Labels = {};

/** Lower-case hex; equal for contents that mean the same. */
export function contentHash(content: DistributedContent): string {
  return sha256(goJson(content, { sortKeys: true }));
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function copyResource(kind: DistributedKind, plural: string): Resource<Copy> {
  return {
    group: "",
    version: "v1",
    plural,
    kind,
    namespaced: true,
    codec: projectedJsonCodec<Copy>({
      fromJson: (value) => copyOf(kind, value),
      identify: identifyProjection,
    }),
  };
}

function copyOf(kind: DistributedKind, value: JsonObject): Copy {
  const metadata = objectAt(value, "metadata");
  const content = contentOf(kind, value);
  const { finalizers } = metadata;
  return {
    namespace: textAt(metadata, "namespace"),
    name: textAt(metadata, "name"),
    uid: textAt(metadata, "uid"),
    resourceVersion: textAt(metadata, "resourceVersion"),
    controllerUid: controllerIn(metadata)?.uid ?? "",
    content: contentHash(content),
    keys: Object.keys(content.data ?? {}),
    binaryKeys: Object.keys(content.binaryData ?? {}),
    finalizers: Array.isArray(finalizers) ? finalizers.filter((each) => typeof each === "string") : [],
    deleting: textAt(metadata, "deletionTimestamp") !== "",
    labels: noLabels,
  };
}

export const copyResources: Readonly<Record<DistributedKind, Resource<Copy>>> = {
  Secret: copyResource("Secret", "secrets"),
  ConfigMap: copyResource("ConfigMap", "configmaps"),
};
