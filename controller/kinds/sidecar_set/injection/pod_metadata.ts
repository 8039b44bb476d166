/** Annotations that a SidecarSet gives its pods, at their creation and with each update in place. Spec: sidecarset 15, 16. */
import {
  applyMergePatch,
  goJson,
  isJsonObject,
  isTooDeep,
  type Labels,
  own,
} from "../../../../kube/core/index.ts";
import { InjectionError, type MetadataPatch } from "./sidecars.ts";

/**
 * The annotations with the patches applied; the same object where none changes anything. Throws InjectionError where a
 * value is to be merged as JSON and is none.
 */
export function patchedAnnotations(
  annotations: Labels,
  patches: readonly MetadataPatch[],
  set: string,
): Labels {
  let patched: Record<string, string> | undefined;
  for (const { annotations: wanted = {}, patchPolicy } of patches) {
    for (const [key, value] of Object.entries(wanted)) {
      const found = own(patched ?? annotations, key);
      const present = typeof found === "string" ? found : undefined;
      const next = patchedValue(present, value, patchPolicy, (detail) => {
        throw new InjectionError(`annotation ${key} cannot be merged as JSON: ${detail}`, set);
      });
      if (next === present) continue;
      patched ??= { ...annotations };
      patched[key] = next;
    }
  }
  return patched ?? annotations;
}

function patchedValue(
  present: string | undefined,
  wanted: string,
  policy: string | undefined,
  refuse: (detail: string) => never,
): string {
  if (policy === "Overwrite") return wanted;
  if (policy === "MergePatchJson")
    return present === undefined || present === "" ? wanted : mergedJson(present, wanted, refuse);
  return present ?? wanted;
}

function mergedJson(present: string, patch: string, refuse: (detail: string) => never): string {
  const [target, change] = [parsed(present), parsed(patch)];
  if (target === undefined) return refuse("the pod's value is not JSON");
  if (change === undefined) return refuse("the value of the patch is not JSON");
  if (!isJsonObject(change.value)) return written(change.value);
  return written(applyMergePatch(isJsonObject(target.value) ? target.value : {}, change.value));
}

const encoder = new TextEncoder();

function parsed(text: string): { value: unknown } | undefined {
  if (isTooDeep(encoder.encode(text))) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // Numbers as texts, and texts marked as such: what no float holds, as large IDs, comes out as it went in.
  const marked = text.replace(tokens, (token) =>
    token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`,
  );
  return { value: JSON.parse(marked) };
}

/** Texts and numbers. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** The JSON of a value of `parsed`. */
function written(value: unknown): string {
  return goJson(value, { sortKeys: true }).replace(tokens, (token) =>
    token.startsWith('"n') ? token.slice(2, -1) : `"${token.slice(2)}`,
  );
}
