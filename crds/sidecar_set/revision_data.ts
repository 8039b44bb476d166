/** What revisions of a SidecarSet hold: the part of its spec that new pods get. Spec: sidecarset, rules 12 and 27. */
import { encodeTyped, goJson, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { encodeSidecar } from "./hash.ts";
import type { SidecarSetSpec } from "./schema.ts";

const REVISED = [
  "containers",
  "imagePullSecrets",
  "initContainers",
  "patchPodMetadata",
  "volumes",
] as const satisfies readonly (keyof SidecarSetSpec)[];

export type RevisedSpec = Pick<SidecarSetSpec, (typeof REVISED)[number]>;

/** `data` of the ControllerRevision of a defaulted spec: exactly the reference's bytes, from which its name follows. */
export function sidecarSetRevisionData(spec: RevisedSpec): string {
  const { containers, imagePullSecrets, initContainers, patchPodMetadata, volumes } = spec;
  const revised = {
    $patch: "replace",
    containers: filledList(containers, encodeSidecar),
    imagePullSecrets: filledList(imagePullSecrets, (secret) => encodeTyped(secret, "LocalObjectReference")),
    initContainers: filledList(initContainers, encodeSidecar),
    patchPodMetadata: filledList(patchPodMetadata, ({ annotations, patchPolicy }) => ({
      ...(Object.keys(annotations ?? {}).length > 0 ? { annotations } : {}),
      ...(patchPolicy ? { patchPolicy } : {}),
    })),
    volumes: filledList(volumes, (volume) => encodeTyped(volume, "Volume")),
  };
  return goJson({ spec: revised }, { sortKeys: true });
}

/** What is absent or empty is written as null. */
function filledList<T>(list: readonly T[] | undefined, encode: (item: T) => JsonObject): JsonObject[] | null {
  return list === undefined || list.length === 0 ? null : list.map(encode);
}

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
