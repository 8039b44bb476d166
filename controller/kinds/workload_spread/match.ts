/** Which WorkloadSpread a new pod belongs to. Spec: workloadspread 4.1 rules 1 to 3. */
import {
  spreadGroupsOf,
  spreadTargetOf,
  type WorkloadIdentity,
  type WorkloadSpread,
} from "../../../crds/index.ts";
import { compileSelector, type Labels } from "../../../kube/core/index.ts";
import type { WhitelistedKind } from "./whitelist.ts";

/** Longer chains of owners are cut off: they would be circles. */
const MOST_OWNERS = 10;

/** Whether pods of workloads of this kind, or below it, are placed. */
export function isPlaced(
  { group, kind }: Pick<WorkloadIdentity, "group" | "kind">,
  whitelist: readonly WhitelistedKind[],
): boolean {
  if (spreadGroupsOf(kind)?.includes(group)) return true;
  return whitelist.some((listed) =>
    [listed, ...listed.subResources].some((each) => each.group === group && each.kind === kind),
  );
}

export interface OwnerSource {
  whitelist(): Promise<readonly WhitelistedKind[]>;
  /** The controller owner of an object; undefined for none. Rejects when the object is not found, or cannot be read. */
  ownerOf(namespace: string, object: WorkloadIdentity): Promise<WorkloadIdentity | undefined>;
}

/** The first of `spreads` whose workload is `owner` or an owner of it. Throws KubeError. */
export async function matchingSpread(
  spreads: readonly WorkloadSpread[],
  namespace: string,
  owner: WorkloadIdentity,
  labels: Labels,
  source: OwnerSource,
): Promise<WorkloadSpread | undefined> {
  const candidates = spreads.filter((spread) => selects(spread, labels));
  let current: WorkloadIdentity | undefined = owner;
  for (let above = 0; current !== undefined && above < MOST_OWNERS; above++) {
    const { group, kind, name }: WorkloadIdentity = current;
    const isTarget = (target: WorkloadIdentity) =>
      target.group === group && target.kind === kind && target.name === name;
    // What a custom kind is called, only the list knows; the others need not ask for it.
    const isKnown = spreadGroupsOf(kind)?.includes(group) || isPlaced(current, await source.whitelist());
    if (!isKnown) return undefined;
    const found = candidates.find((spread) => isTarget(spreadTargetOf(spread)));
    if (found !== undefined) return found;
    // No kind is above its own.
    const isAbove = (target: WorkloadIdentity) => target.group !== group || target.kind !== kind;
    if (!candidates.some((spread) => isAbove(spreadTargetOf(spread)))) return undefined;
    current = await source.ownerOf(namespace, current);
  }
  return undefined;
}

/** By its filter: one without a selector takes no pod. */
function selects({ spec }: WorkloadSpread, labels: Labels): boolean {
  const { targetFilter } = spec;
  if (!targetFilter) return true;
  if (!targetFilter.selector) return false;
  try {
    return compileSelector(targetFilter.selector).matches(labels);
  } catch {
    return false;
  }
}
