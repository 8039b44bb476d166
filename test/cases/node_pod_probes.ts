/** What nodes are to probe, as their NodePodProbes say. */
import { records } from "./items.ts";
import type { World } from "./world.ts";

export const nodeProbes = "nodepodprobes.v1alpha1.apps.kruise.io";

/** The entries of this namespace's pods, of all nodes. */
export async function probedPods({ api, namespace }: World): Promise<Record<string, unknown>[]> {
  const entries = (await api.list(nodeProbes)).flatMap(({ spec }) => records(spec?.["podProbes"]));
  return entries.filter((entry) => entry["namespace"] === namespace);
}
