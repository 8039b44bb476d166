/** What revisions of a SidecarSet hold: the part of its spec that new pods get. Spec: sidecarset, rules 12 and 27. */
import { encodeTyped, goJson, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import type { RevisedPart } from "../revised.ts";
import { wireStruct } from "../wire_types.ts";
import type { SidecarSetSpec } from "./schema.ts";

const REVISED = [
  "containers",
  "imagePullSecrets",
  "initContainers",
  "patchPodMetadata",
  "volumes",
] as const satisfies readonly (keyof SidecarSetSpec)[];

export type RevisedSpec = Pick<SidecarSetSpec, (typeof REVISED)[number]>;

export const revisedSidecars: RevisedPart = {
  path: ["spec"],
  type: "RevisedSidecars",
  data: (spec) => {
    const typed = encodeTyped(spec, "RevisedSidecars", wireStruct);
    // What is absent or empty is written as null.
    const members = REVISED.map((name) => [name, typed[name] ?? null]);
    return goJson({ spec: { ...Object.fromEntries(members), $patch: "replace" } }, { sortKeys: true });
  },
};

/** What a revision holds; undefined when its data is not of this form. */
export function revisedSpecOf(data: string): RevisedSpec | undefined {
  try {
    const parsed: unknown = JSON.parse(data);
    const spec = isJsonObject(parsed) ? parsed["spec"] : undefined;
    if (!isJsonObject(spec)) return undefined;
    const revised = Object.fromEntries(REVISED.map((key) => [key, spec[key] ?? undefined]));
    return isRevised(revised) ? revised : undefined;
  } catch {
    return undefined;
  }
}

/** Whether its parts are of the right kind; what is in them was validated when it was the set's. */
function isRevised(revised: JsonObject): revised is RevisedSpec {
  return REVISED.every((key) => {
    const list = revised[key];
    return list === undefined || (Array.isArray(list) && list.every(isJsonObject));
  });
}
