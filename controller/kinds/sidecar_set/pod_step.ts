/** Sidecars that SidecarSets have for a new pod. Spec: pod-webhook 4.3. */
import type { SidecarSet } from "../../../crds/index.ts";
import type { Random } from "../../../kube/index.ts";
import type { PodDraft } from "../../runtime/admission/pod_draft.ts";
import { injectSidecars } from "./injection/inject.ts";
import { InjectionError } from "./injection/sidecars.ts";
import type { InjectionSource } from "./injection/source.ts";
import { sidecarsFor } from "./injection/version.ts";

export interface SidecarSetOptions extends InjectionSource {
  /** Gate EnableSortSidecarContainerByName. */
  sortByName: boolean;
  /** A pod in the namespace was refused for a fault of the set, and not in a dry run. */
  refused(set: SidecarSet, why: { readonly namespace: string; readonly reason: string }): void;
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
  try {
    const sidecars = sets.map((set) => sidecarsFor(set, labels, options, random));
    injectSidecars(draft.edit(), sidecars, { sortByName: options.sortByName, now });
  } catch (error) {
    if (error instanceof InjectionError && !draft.request.dryRun) {
      const set = sets.find(({ name }) => name === error.set)?.set;
      if (set !== undefined) options.refused(set, { namespace: draft.namespace, reason: error.message });
    }
    throw error;
  }
}
