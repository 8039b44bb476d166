/** A pod as the page draws it. */
import { lifecycleStateLabel, spreadMatchOf, subsetLabel } from "../../../controller/index.ts";
import { matchedWorkloadSpreadAnnotation } from "../../../crds/index.ts";
import { type AnyObject, at, isFields, listAt, textAt } from "../../fields.ts";
import { podView } from "../../up/pod_view.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import type { PodItem, PodState } from "../shared/items.ts";

/** Without its zone, which its node tells. */
export function podItem(pod: AnyObject): PodItem {
  const view = podView(pod);
  const reason = view.state === "ready" ? "" : problemOf(pod);
  return {
    is: "pod",
    namespace: pod.metadata.namespace ?? "",
    name: view.name,
    node: view.node,
    zone: "",
    subset: shownText(subsetOf(pod)),
    revision: view.revision,
    state: hasSucceeded(pod) && view.state !== "terminating" ? "completed" : stateOf(view.state, reason),
    reason: shownText(reason),
    lifecycle: shownText(pod.metadata.labels?.[lifecycleStateLabel] ?? ""),
    restarts: view.restarts,
    image: shownText(view.image),
  };
}

function subsetOf({ metadata: { labels = {}, annotations = {} } }: AnyObject): string {
  const spread = spreadMatchOf(annotations[matchedWorkloadSpreadAnnotation]);
  return labels[subsetLabel] ?? spread?.subset ?? "";
}

function hasSucceeded(pod: AnyObject): boolean {
  return textAt(pod, "status", "phase") === "Succeeded";
}

function stateOf(state: ReturnType<typeof podView>["state"], reason: string): PodState {
  if (state === "terminating" || state === "ready") return state;
  if (reason !== "") return "failing";
  return state === "restarting" ? "updating" : state;
}

/** What containers wait for while all goes well. */
const ordinary: readonly string[] = ["ContainerCreating", "PodInitializing"];

/** Why a container waits or how it ended; empty when all is well. */
export function problemOf(pod: AnyObject): string {
  const statuses = [
    ...listAt(pod, "status", "initContainerStatuses"),
    ...listAt(pod, "status", "containerStatuses"),
  ];
  for (const status of statuses) {
    const waiting = textAt(status, "state", "waiting", "reason");
    if (waiting !== undefined && !ordinary.includes(waiting)) return waiting;
    const ended = at(status, "state", "terminated");
    if (isFields(ended) && ended["exitCode"] !== 0) return textAt(ended, "reason") ?? "Error";
  }
  return textAt(pod, "status", "phase") === "Failed" ? (textAt(pod, "status", "reason") ?? "Failed") : "";
}
