/** What an update still under way had not written yet, when a newer one takes its place. Spec: inplace-update 4.3, 4.6. */
import { own } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { finalizersIn, type InPlaceChange, type MetadataPatch, withFinalizers } from "./change.ts";
import { graceState, inPlaceState } from "./state.ts";
import { decodeMetadataPatch } from "./update.ts";

/**
 * The change with what waits in the pod's grace period or for a later batch: the pod's revision label counts that as
 * done already, so the difference between revisions does not hold it. What the change says itself wins, entry by entry.
 */
export function withUnissued(pod: Pod, change: InPlaceChange): InPlaceChange {
  const grace = graceState(pod).value;
  const state = inPlaceState(pod).value;
  if (grace === undefined && state === undefined) return change;
  const patch = joined(decodeMetadataPatch(grace?.metaDataPatch), change.metadataPatch ?? {});
  const waiting = layered(
    ["labels", "annotations"],
    [state?.nextContainerRefMetadata, grace?.containerRefMetadata],
    (map, key) => own(change.metadataPatch?.[map] ?? {}, key) === undefined,
  );
  return {
    images: { ...state?.nextContainerImages, ...grace?.containerImages, ...change.images },
    resources: layered(
      ["limits", "requests"],
      [state?.nextContainerResources, grace?.containerResources, change.resources],
    ),
    refMetadata: layered(["labels", "annotations"], [waiting, change.refMetadata]),
    metadataPatch: Object.keys(patch).length > 0 ? patch : undefined,
  };
}

type ByContainer<Name extends string> = Readonly<
  Record<string, Readonly<Partial<Record<Name, Readonly<Record<string, string>>>>>>
>;

/** By container, the maps of these names with each entry as the last layer says it. Without containers that have none. */
function layered<Name extends string>(
  names: readonly Name[],
  layers: readonly (ByContainer<Name> | undefined)[],
  isWanted: (name: Name, key: string) => boolean = () => true,
): Record<string, Partial<Record<Name, Record<string, string>>>> {
  const containers = new Set(layers.flatMap((layer) => Object.keys(layer ?? {})));
  const result: Record<string, Partial<Record<Name, Record<string, string>>>> = {};
  for (const container of containers) {
    const maps: Partial<Record<Name, Record<string, string>>> = {};
    for (const name of names) {
      const entries = layers.flatMap((layer) => Object.entries(own(layer ?? {}, container)?.[name] ?? {}));
      const wanted = entries.filter(([key]) => isWanted(name, key));
      if (wanted.length > 0) maps[name] = Object.fromEntries(wanted);
    }
    if (Object.keys(maps).length > 0) result[container] = maps;
  }
  return result;
}

function joined(earlier: MetadataPatch, later: MetadataPatch): MetadataPatch {
  const labels = { ...earlier.labels, ...later.labels };
  const annotations = { ...earlier.annotations, ...later.annotations };
  const [before, after] = [finalizersIn(earlier), finalizersIn(later)];
  const maps = {
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
  return withFinalizers(maps, {
    addFinalizers: joinedList(before.addFinalizers, after.addFinalizers, after.removeFinalizers),
    removeFinalizers: joinedList(before.removeFinalizers, after.removeFinalizers, after.addFinalizers),
  });
}

/** `undone`: what the later patch does the contrary with. */
function joinedList(
  earlier: readonly string[],
  later: readonly string[],
  undone: readonly string[],
): readonly string[] {
  return [...new Set([...earlier.filter((each) => !undone.includes(each)), ...later])];
}
