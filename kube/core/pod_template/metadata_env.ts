/** Environment variables that containers take from labels and annotations of their pod. Spec: inplace-update 4.7. */
import type { JsonObject } from "../json.ts";
import type { Labels } from "../types.ts";
import { has, objectAt, objectsAt, textAt } from "./fields.ts";

export interface MetadataReference {
  readonly from: "labels" | "annotations";
  readonly key: string;
}

/** Variables that sidecar injection sets; they never count (rule 22). */
export const ignoredMetadataEnv: ReadonlySet<string> = new Set([
  "SIDECARSET_VERSION",
  "SIDECARSET_VERSION_ALT",
]);

/** What `metadata.labels['key']` or `metadata.annotations['key']` refers to; undefined for any other field path. */
export function metadataReference(fieldPath: string): MetadataReference | undefined {
  const match = /^metadata\.(labels|annotations)\['(.*)'\]$/s.exec(fieldPath);
  if (match === null || match[2] === undefined) return undefined;
  return { from: match[1] === "labels" ? "labels" : "annotations", key: match[2] };
}

/** The variables of a container that refer to metadata, in their order. */
function metadataEnv(container: JsonObject): (MetadataReference & { readonly name: string })[] {
  const found: (MetadataReference & { readonly name: string })[] = [];
  for (const [env] of objectsAt(container, "env")) {
    const name = textAt(env, "name");
    const value = textAt(env, "value");
    if (value !== "" || ignoredMetadataEnv.has(name) || !has(env, "valueFrom")) continue;
    const reference = metadataReference(
      textAt(objectAt(objectAt(env, "valueFrom"), "fieldRef"), "fieldPath"),
    );
    if (reference !== undefined) found.push({ name, ...reference });
  }
  return found;
}

/** The values that these variables have with the given metadata: the input of envHash. */
export function extractMetadataEnv(
  container: JsonObject,
  metadata: { readonly labels?: Labels; readonly annotations?: Labels },
): { name: string; value: string }[] {
  return metadataEnv(container).map(({ name, from, key }) => ({
    name,
    value: textAt({ ...metadata[from] }, key),
  }));
}
