/** Sidecars that SidecarSets have for a new pod. Spec: pod-webhook 4.3. */
import type { Random } from "../../kube/index.ts";
import { injectSidecars } from "../sidecar_set/injection/inject.ts";
import type { InjectionSource } from "../sidecar_set/injection/source.ts";
import { sidecarsFor } from "../sidecar_set/injection/version.ts";
import type { PodDraft } from "./draft.ts";

export interface SidecarSetOptions extends InjectionSource {
  /** Gate EnableSortSidecarContainerByName. */
  sortByName: boolean;
}

/** Rejects where a set that matches cannot be injected, which refuses the pod. */
export async function addSidecars(
  draft: PodDraft,
  options: SidecarSetOptions,
  { random, now }: { random: Random; now: number },
): Promise<void> {
  if (draft.request.operation !== "CREATE" || !draft.isActive) return;
  const { labels } = draft;
  const sets = await options.setsFor(draft.namespace, labels);
  if (sets.length === 0) return;
  const sidecars = sets.map((set) => sidecarsFor(set, labels, options, random));
  injectSidecars(draft.edit(), sidecars, { sortByName: options.sortByName, now });
}
