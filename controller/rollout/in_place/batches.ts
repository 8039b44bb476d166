/** Which containers change together. Spec: inplace-update 4.6. */
import { own } from "../../../kube/core/index.ts";
import type { Pod, PodContainer, ResourceAmounts } from "../../../kube/index.ts";
import type { RefMetadata } from "./state.ts";

/** What is still to be written, by container. */
export interface Pending {
  images: Readonly<Record<string, string>>;
  resources: Readonly<Record<string, ResourceAmounts>>;
  refMetadata: Readonly<Record<string, RefMetadata>>;
}

const BARRIER_ENV = "KRUISE_CONTAINER_BARRIER";
const BARRIER_KEY = /^p_(-?\d+)$/;

function launchPriority(container: PodContainer): number | undefined {
  const barrier = container.env.find((env) => env.name === BARRIER_ENV)?.configMapKey?.key;
  const match = barrier === undefined ? null : BARRIER_KEY.exec(barrier);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

export function containersOf(pending: Pending): string[] {
  return [
    ...new Set([
      ...Object.keys(pending.images),
      ...Object.keys(pending.resources),
      ...Object.keys(pending.refMetadata),
    ]),
  ].sort();
}

/** The containers of the next batch and what remains after it. */
export function nextBatch(pod: Pod, pending: Pending): { batch: Pending; rest: Pending } {
  const touched = containersOf(pending);
  const priorities = new Map<string, number>();
  for (const container of pod.containers) {
    const priority = launchPriority(container);
    if (priority !== undefined && touched.includes(container.name)) priorities.set(container.name, priority);
  }
  const highest = Math.max(...priorities.values());
  const chosen = new Set(touched.filter((name) => !priorities.has(name) || priorities.get(name) === highest));
  joinByMetadata(touched, pending.refMetadata, chosen);
  return {
    batch: only(pending, (name) => chosen.has(name)),
    rest: only(pending, (name) => !chosen.has(name)),
  };
}

/** Labels and annotations belong to the pod: whoever reads a key that changes now has to restart now. Rule 20. */
function joinByMetadata(
  touched: readonly string[],
  refMetadata: Readonly<Record<string, RefMetadata>>,
  chosen: Set<string>,
): void {
  const keysOf = (name: string): string[] => {
    const { labels = {}, annotations = {} } = own(refMetadata, name) ?? {};
    return [
      ...Object.keys(labels).map((key) => `labels/${key}`),
      ...Object.keys(annotations).map((key) => `annotations/${key}`),
    ];
  };
  const keys = new Set([...chosen].flatMap(keysOf));
  for (let grew = true; grew; ) {
    grew = false;
    for (const name of touched) {
      if (chosen.has(name) || !keysOf(name).some((key) => keys.has(key))) continue;
      chosen.add(name);
      for (const key of keysOf(name)) keys.add(key);
      grew = true;
    }
  }
}

function only(pending: Pending, keep: (name: string) => boolean): Pending {
  const filtered = <T>(map: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(map).filter(([name]) => keep(name)));
  return {
    images: filtered(pending.images),
    resources: filtered(pending.resources),
    refMetadata: filtered(pending.refMetadata),
  };
}
