/** Subsets of a UnitedDeployment, and of the WorkloadSpreads that place the pods of a workload. */
import {
  type AnyObject,
  conditionOf,
  countAt,
  fieldsAt,
  intOrStringAt,
  listAt,
  numberAt,
  textAt,
} from "../../fields.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import type { SubsetItem } from "../shared/detail_items.ts";
import type { DetailRequest } from "./detail_request.ts";

const mostSubsets = 40;

/** What cannot be read is noted by the reader. */
export async function subsetItems({
  reader,
  target,
  stored,
}: Pick<DetailRequest, "reader" | "target" | "stored">): Promise<ReadonlyMap<string, SubsetItem>> {
  const { namespace, name } = stored.metadata;
  if (namespace === undefined) return new Map();
  const { kind, group } = target.type;
  const spreads = await reader.collect("apps.kruise.io", "WorkloadSpread", { namespace }, (spread) => {
    const ref = fieldsAt(spread, "spec", "targetRef");
    const [refGroup] = String(ref["apiVersion"] ?? "").split("/");
    return ref["kind"] === kind && ref["name"] === name && refGroup === group;
  });
  const items = [
    ...(kind === "UnitedDeployment" ? subsetsOfUnited(stored) : []),
    ...spreads.flatMap(subsetsOfSpread),
  ];
  return new Map(items.slice(0, mostSubsets).map((item) => [`subset/${item.of}/${item.name}`, item]));
}

/** What pods there are is told by the pods. */
export function subsetsOfUnited(object: AnyObject): SubsetItem[] {
  const statuses = listAt(object, "status", "subsetStatuses");
  return listAt(object, "spec", "topology", "subsets").map((subset) => {
    const name = textAt(subset, "name") ?? "";
    const status = statuses.find((each) => textAt(each, "name") === name);
    const wanted = numberAt(status, "replicas") ?? numberAt(object, "status", "subsetReplicas", name);
    return {
      is: "subset",
      of: shownName(`UnitedDeployment ${object.metadata.name}`),
      name: shownName(name),
      given: givenOf(intOrStringAt(subset, "replicas")),
      ...(wanted === undefined ? {} : { wanted }),
      isClosed: isClosed(status),
    };
  });
}

export function subsetsOfSpread(object: AnyObject): SubsetItem[] {
  const statuses = listAt(object, "status", "subsetStatuses");
  return listAt(object, "spec", "subsets").map((subset) => {
    const name = textAt(subset, "name") ?? "";
    const status = statuses.find((each) => textAt(each, "name") === name);
    const [present, missing] = [countAt(status, "replicas"), numberAt(status, "missingReplicas") ?? -1];
    return {
      is: "subset",
      of: shownName(`WorkloadSpread ${object.metadata.name}`),
      name: shownName(name),
      given: givenOf(intOrStringAt(subset, "maxReplicas")),
      // Without a limit it wants none in particular.
      ...(missing < 0 ? {} : { wanted: present + missing }),
      present,
      isClosed: isClosed(status),
    };
  });
}

const givenOf = (value: number | string | undefined): string =>
  value === undefined ? "" : shownText(String(value));

const isClosed = (status: unknown): boolean =>
  textAt(conditionOf({ status }, "Schedulable"), "status") === "False";
