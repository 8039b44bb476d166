/** The pod table: READY, STATUS and RESTARTS as kubectl users know them. */
import type { StoredObject } from "../../cluster.ts";
import { type Fields, listAt, numberAt, objectsAt, textAt, valueAt } from "../../json.ts";
import {
  ageColumn,
  ageOf,
  type Cell,
  column,
  nameColumn,
  type Printer,
  shownColumn,
  tableOf,
  wide,
} from "../printer.ts";

const orNone = (...path: readonly string[]): Cell => {
  return (object) => textAt(object, ...path) || "<none>";
};
const behind = tableOf([
  ageColumn,
  column("IP", "Address of the pod.", orNone("status", "podIP"), wide),
  column("Node", "Where it runs.", orNone("spec", "nodeName"), wide),
  column(
    "Nominated Node",
    "Where it will run once room is made.",
    orNone("status", "nominatedNodeName"),
    wide,
  ),
  column("Readiness Gates", "Gates that are open of all.", gates, wide),
]);

/** The state of the containers is read once a row. */
export const podPrinter: Printer = {
  columns: [
    ...tableOf([nameColumn]).columns,
    shownColumn("Ready", "Ready containers of all that should be."),
    shownColumn("Status", "Why the pod does not run, or its phase."),
    shownColumn("Restarts", "How often its containers were started again, and when last."),
    ...behind.columns,
  ],
  row(object, now) {
    const { ready, total, reason, restarts, lastRestart } = podState(object);
    const last = restarts > 0 && lastRestart !== "" ? ` (${ageOf(lastRestart, now)} ago)` : "";
    const own = [object.metadata.name ?? "", `${ready}/${total}`, reason, `${restarts}${last}`];
    return [...own, ...behind.row(object, now)];
  },
};

interface PodState {
  reason: string;
  ready: number;
  total: number;
  restarts: number;
  lastRestart: string;
}

function podState(pod: StoredObject): PodState {
  const reason = textAt(pod, "status", "reason") || textAt(pod, "status", "phase");
  const gated = condition(pod, "PodScheduled");
  const state: PodState = {
    reason: textAt(gated, "reason") === "SchedulingGated" ? "SchedulingGated" : reason,
    ready: 0,
    total: listAt(pod, "spec", "containers").length,
    restarts: 0,
    lastRestart: "",
  };
  const initializing = readInitContainers(pod, state);
  if (!initializing) readContainers(pod, state);
  if (pod.metadata.deletionTimestamp !== undefined) {
    const lost = textAt(pod, "status", "reason") === "NodeLost";
    const phase = textAt(pod, "status", "phase");
    if (lost) state.reason = "Unknown";
    else if (phase !== "Succeeded" && phase !== "Failed") state.reason = "Terminating";
  }
  return state;
}

function condition(pod: StoredObject, type: string): Fields | undefined {
  return objectsAt(pod, "status", "conditions").find((one) => one["type"] === type);
}

function restartable(pod: StoredObject, name: string): boolean {
  return objectsAt(pod, "spec", "initContainers").some(
    (container) => container["name"] === name && container["restartPolicy"] === "Always",
  );
}

/** True while an init container has not done its part. */
function readInitContainers(pod: StoredObject, state: PodState): boolean {
  const total = listAt(pod, "spec", "initContainers").length;
  state.total += objectsAt(pod, "spec", "initContainers").filter(
    (one) => one["restartPolicy"] === "Always",
  ).length;
  let waitsFor: string | undefined;
  objectsAt(pod, "status", "initContainerStatuses").forEach((status, at) => {
    countRestarts(status, state);
    const sidecar = restartable(pod, textAt(status, "name"));
    if (waitsFor !== undefined) return;
    const exitCode = numberAt(status, "state", "terminated", "exitCode");
    if (exitCode === 0) return;
    if (sidecar && status["started"] === true) {
      if (status["ready"] === true) state.ready += 1;
      return;
    }
    waitsFor = initReason(status, at, total);
  });
  if (waitsFor === undefined || condition(pod, "Initialized")?.["status"] === "True") return false;
  state.reason = waitsFor;
  return true;
}

function initReason(status: Fields, at: number, total: number): string {
  const terminated = valueAt(status, "state", "terminated");
  if (terminated !== undefined) return `Init:${endReason(terminated)}`;
  const waiting = textAt(status, "state", "waiting", "reason");
  if (waiting !== "" && waiting !== "PodInitializing") return `Init:${waiting}`;
  return `Init:${at}/${total}`;
}

function endReason(terminated: unknown): string {
  const reason = textAt(terminated, "reason");
  if (reason !== "") return reason;
  const signal = numberAt(terminated, "signal") ?? 0;
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${numberAt(terminated, "exitCode") ?? 0}`;
}

function countRestarts(status: Fields, state: PodState): void {
  state.restarts += numberAt(status, "restartCount") ?? 0;
  const finished = textAt(status, "lastState", "terminated", "finishedAt");
  if (finished > state.lastRestart) state.lastRestart = finished;
}

function readContainers(pod: StoredObject, state: PodState): void {
  state.restarts = 0;
  state.lastRestart = "";
  for (const status of objectsAt(pod, "status", "initContainerStatuses")) {
    if (restartable(pod, textAt(status, "name"))) countRestarts(status, state);
  }
  let running = false;
  for (const status of [...objectsAt(pod, "status", "containerStatuses")].reverse()) {
    countRestarts(status, state);
    const waiting = textAt(status, "state", "waiting", "reason");
    const terminated = valueAt(status, "state", "terminated");
    if (waiting !== "") state.reason = waiting;
    else if (terminated !== undefined) state.reason = endReason(terminated);
    else if (status["ready"] === true && valueAt(status, "state", "running") !== undefined) {
      running = true;
      state.ready += 1;
    }
  }
  if (state.reason === "Completed" && running) {
    state.reason = condition(pod, "Ready")?.["status"] === "True" ? "Running" : "NotReady";
  }
}

function gates(pod: StoredObject): string {
  const all = objectsAt(pod, "spec", "readinessGates");
  if (all.length === 0) return "<none>";
  const open = all.filter((gate) => condition(pod, textAt(gate, "conditionType"))?.["status"] === "True");
  return `${open.length}/${all.length}`;
}
