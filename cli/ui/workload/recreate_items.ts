/** ContainerRecreateRequests about pods of a workload: those that go on first. */
import { RECREATE_NODE_LABEL, RECREATE_POD_UID_LABEL } from "../../../crds/index.ts";
import { type AnyObject, listAt, textAt } from "../../fields.ts";
import { timeAt } from "../../why/causes/pod_facts.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import type { RecreateItem } from "../shared/detail_items.ts";
import type { DetailRequest } from "./detail_request.ts";

const mostRequests = 20;
const mostContainers = 12;

/** What cannot be read is noted by the reader. */
export async function recreateItems({
  reader,
  stored,
  podUids,
}: Pick<DetailRequest, "reader" | "stored" | "podUids">): Promise<ReadonlyMap<string, RecreateItem>> {
  const { namespace } = stored.metadata;
  const pods = podUids();
  if (namespace === undefined || pods.size === 0) return new Map();
  const found = await reader.collect("apps.kruise.io", "ContainerRecreateRequest", { namespace }, (request) =>
    pods.has(request.metadata.labels?.[RECREATE_POD_UID_LABEL] ?? ""),
  );
  const items = found.map((request) => [`recreate/${request.metadata.name}`, recreateItem(request)] as const);
  return new Map(
    items.sort(([, a], [, b]) => rankOf(a) - rankOf(b) || b.since - a.since).slice(0, mostRequests),
  );
}

const rankOf = ({ phase }: RecreateItem): number => Number(phase === "Completed" || phase === "Failed");

export function recreateItem(request: AnyObject): RecreateItem {
  const states = listAt(request, "status", "containerRecreateStates");
  const containers = listAt(request, "spec", "containers").map((container) => {
    const name = textAt(container, "name") ?? "";
    const state = states.find((each) => textAt(each, "name") === name);
    return { name: shownName(name), phase: shownText(textAt(state, "phase") ?? "") };
  });
  return {
    is: "recreate",
    name: shownName(request.metadata.name ?? ""),
    pod: shownName(textAt(request, "spec", "podName") ?? ""),
    node: shownName(request.metadata.labels?.[RECREATE_NODE_LABEL] ?? ""),
    phase: shownText(textAt(request, "status", "phase") ?? ""),
    message: shownText(textAt(request, "status", "message") ?? ""),
    containers: containers.slice(0, mostContainers),
    since: timeAt(request, "metadata", "creationTimestamp") ?? 0,
  };
}
