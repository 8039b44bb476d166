/** Items of the page that are made up. */
import type { HotSlot, HotStep, HotUpgradeItem } from "../../cli/ui/shared/detail_items.ts";
import type { PodItem, WorkloadItem } from "../../cli/ui/shared/items.ts";
import type { NodeItem } from "../../cli/ui/shared/node_items.ts";

/** A CloneSet of 4 pods, one of them updated. */
export function workload(over: Partial<WorkloadItem> = {}): WorkloadItem {
  return {
    is: "workload",
    kind: "CloneSet",
    group: "apps.kruise.io",
    namespace: "default",
    name: "web",
    word: "clone/web -n default",
    labels: {},
    isJob: false,
    desired: 4,
    updated: 1,
    available: 4,
    partition: 0,
    allowed: 1,
    isPaused: false,
    revision: "new",
    state: "progressing",
    message: "on its way",
    reason: "",
    reasonText: "",
    ...over,
  };
}

/** A ready pod of the old revision. */
export function pod(number: number, over: Partial<PodItem> = {}): PodItem {
  return {
    is: "pod",
    namespace: "default",
    name: `web-${number}`,
    node: `node-${number % 5}`,
    zone: "",
    subset: "",
    revision: "old",
    state: "ready",
    reason: "",
    lifecycle: "",
    restarts: 0,
    image: "web:1",
    ...over,
  };
}

/** A ready node whose agent has nothing to do. */
export function node(number: number, over: Partial<NodeItem> = {}): NodeItem {
  return {
    is: "node",
    name: `node-${number}`,
    zone: "",
    isReady: true,
    isUnschedulable: false,
    pods: 3,
    agent: { state: "ready", version: "v1" },
    state: "done",
    reason: "",
    message: "",
    command: "",
    work: [],
    moreWork: 0,
    ...over,
  };
}

/** A pair of which the second container has, or gets, the new image. */
export function hotUpgrade(pod: string, step: HotStep): HotUpgradeItem {
  const isOver = step === "rests";
  const slot = { isReady: true, isEmpty: false, isNew: false, isWorking: false };
  const first: HotSlot = { ...slot, container: "envoy-1", image: "envoy:1", version: "1" };
  const second: HotSlot = { ...slot, container: "envoy-2", image: "envoy:2", version: "345", isNew: true };
  const slots = [
    isOver ? { ...first, image: "empty:1", version: "0", isEmpty: true } : first,
    { ...second, isWorking: true, isReady: step !== "starting" },
  ];
  return { is: "hotUpgrade", namespace: "shop", pod, sidecar: "envoy", step, slots };
}

/** Texts that would end the place where they stand, or begin another, if they were written there as they are. */
export const hostileTexts: readonly string[] = [
  `</script><script>window.attacked=1</script>`,
  `</SCRIPT ><img src=x onerror="window.attacked=1">`,
  `<!--<script>`,
  `-->]]>`,
  "line\u2028separator\u2029paragraph",
  `"'\`\${window.attacked=1}\\`,
  "one\ntwo\r\n\0three",
  "\ud800 alone",
];
