/** Annotations that SidecarSets may write onto pods, as the ConfigMap of this program lists them. Spec: sidecarset 6; platform 5. */
import {
  compileGoRegexp,
  compileSelector,
  isJsonObject,
  type JsonObject,
  own,
  ParseError,
} from "../../kube/core/index.ts";
import { objectsIn } from "../members.ts";
import type { SidecarSet, SidecarSetSpec } from "./schema.ts";

export interface PatchWhitelist {
  /** The value of the ConfigMap's key; undefined where there is none. */
  readonly text: string | undefined;
  /** Gate SidecarSetPatchPodMetadataDefaultsAllowed: what no expression is about is allowed. */
  readonly allowedByDefault: boolean;
}

/**
 * Why the annotations of a SidecarSet are not allowed, in the API's words; undefined if they are. Of those that it wrote `before`
 * nothing is asked: the list may have become shorter since, which excuses no other one.
 */
export function whitelistRefusal(
  { metadata, spec }: Pick<SidecarSet, "metadata" | "spec">,
  { text = "", allowedByDefault }: PatchWhitelist,
  before: SidecarSetSpec | undefined,
): string | undefined {
  const patches = spec.patchPodMetadata ?? [];
  const known = patchedKeys(before);
  const keys = [...patchedKeys(spec)].filter((key) => !known.has(key));
  if (patches.length === 0 || (known.size > 0 && keys.length === 0)) return undefined;
  if (text === "") return allowedByDefault ? undefined : "SidecarSet patch metadata whitelist not found";
  try {
    const expressions = rulesIn(text).flatMap((rule) => expressionsFor(metadata.labels, rule));
    if (expressions.length === 0)
      return allowedByDefault ? undefined : "sidecarSet patch metadata annotation is not allowed";
    const refused = keys.find((key) => !expressions.some((expression) => expression.test(key)));
    return refused === undefined
      ? undefined
      : `sidecarSet patch metadata annotation(${refused}) is not allowed`;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ParseError)
      return `SidecarSet patch metadata whitelist cannot be read: ${error.message}`;
    throw error;
  }
}

function patchedKeys(spec: SidecarSetSpec | undefined): Set<string> {
  return new Set((spec?.patchPodMetadata ?? []).flatMap(({ annotations }) => Object.keys(annotations ?? {})));
}

function rulesIn(text: string): JsonObject[] {
  const whitelist: unknown = JSON.parse(text);
  return isJsonObject(whitelist) ? objectsIn(whitelist, "rules") : [];
}

/** Those of a rule that is about an object with these labels; a rule without a selector is about all. */
function expressionsFor(labels: SidecarSet["metadata"]["labels"], rule: JsonObject) {
  const selector = own(rule, "selector");
  if (isJsonObject(selector) && !compileSelector(selector).matches(labels)) return [];
  const texts = own(rule, "allowedAnnotationKeyExprs");
  if (!Array.isArray(texts)) return [];
  return texts.filter((text) => typeof text === "string").map(compileGoRegexp);
}
