/** What of a pod says why it does not get on, read from JSON that may hold anything. */
import { imageName, spreadMatchOf } from "../../../controller/index.ts";
import { matchedWorkloadSpreadAnnotation } from "../../../crds/index.ts";
import { timeOf } from "../../../kube/core/index.ts";
import {
  type AnyObject,
  at,
  type Fields,
  isFields,
  listAt,
  numberAt,
  textAt,
  textsAt,
} from "../../fields.ts";
import { shownName, shownText } from "./shown_text.ts";

export interface ConditionFacts {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** `lastTransitionTime`. */
  readonly since: number | undefined;
}

export interface EndFacts {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  readonly at: number | undefined;
}

export interface ContainerFacts {
  readonly name: string;
  /** It has to end before others start. */
  readonly isInit: boolean;
  readonly image: string;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restarts: number;
  /** Since when it runs; undefined while it does not, or where nothing says so. */
  readonly runningSince: number | undefined;
  readonly isRunning: boolean;
  readonly waiting: { readonly reason: string; readonly message: string } | undefined;
  /** How it ended: now, or before its present start. */
  readonly end: EndFacts | undefined;
  readonly hasEnded: boolean;
  /** It ran another image than it is to run: an update in place has stopped it, and the new image may still be on its way. */
  readonly isReplaced: boolean;
  readonly readinessProbe: string | undefined;
  readonly startupProbe: string | undefined;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: number | undefined;
  readonly deletionAt: number | undefined;
  readonly finalizers: readonly string[];
  readonly node: string;
  readonly scheduler: string;
  readonly restartPolicy: string;
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly conditions: ReadonlyMap<string, ConditionFacts>;
  readonly schedulingGates: readonly string[];
  readonly readinessGates: readonly string[];
  /** Environment of its containers comes from its labels or annotations: the node's agent restarts them for new values. */
  readonly readsMetadata: boolean;
  /** What nodes it asks for beside what a scheduler says: its nodeSelector, and the subset that a WorkloadSpread put it into. */
  readonly placement: readonly string[];
  /** Claims that it mounts. */
  readonly claims: readonly string[];
  /** Containers that start before others first, those without a status included. */
  readonly containers: readonly ContainerFacts[];
}

export function podFactsOf(pod: AnyObject): PodFacts {
  const spec = at(pod, "spec");
  const status = at(pod, "status");
  return {
    namespace: nameAt(pod, "metadata", "namespace"),
    name: nameAt(pod, "metadata", "name"),
    uid: textAt(pod, "metadata", "uid") ?? "",
    createdAt: timeAt(pod, "metadata", "creationTimestamp"),
    deletionAt: timeAt(pod, "metadata", "deletionTimestamp"),
    finalizers: textsIn(listAt(pod, "metadata", "finalizers")),
    node: nameAt(spec, "nodeName"),
    scheduler: textAt(spec, "schedulerName") ?? "default-scheduler",
    restartPolicy: textAt(spec, "restartPolicy") ?? "Always",
    phase: textAt(status, "phase") ?? "",
    reason: textAt(status, "reason") ?? "",
    message: textAt(status, "message") ?? "",
    conditions: conditionsOf(status),
    schedulingGates: namesIn(listAt(spec, "schedulingGates"), "name"),
    readinessGates: namesIn(listAt(spec, "readinessGates"), "conditionType"),
    readsMetadata: listAt(spec, "containers").some(readsMetadata),
    placement: [...selectedLabels(spec), ...subsetOf(pod)],
    claims: listAt(spec, "volumes").flatMap((volume) => {
      const claim = nameAt(volume, "persistentVolumeClaim", "claimName");
      return claim === "" ? [] : [claim];
    }),
    containers: [
      ...containersOf(spec, status, "initContainers", "initContainerStatuses"),
      ...containersOf(spec, status, "containers", "containerStatuses"),
    ],
  };
}

function selectedLabels(spec: unknown): string[] {
  const labels = Object.entries(textsAt(spec, "nodeSelector")).map(([key, value]) => `${key}=${value}`);
  return labels.length === 0 ? [] : [`nodeSelector ${shownText(labels.join(", "))}`];
}

function subsetOf(pod: AnyObject): string[] {
  const match = spreadMatchOf(textsAt(pod, "metadata", "annotations")[matchedWorkloadSpreadAnnotation]);
  return match === undefined
    ? []
    : [`subset ${shownName(match.subset)} of WorkloadSpread ${shownName(match.name)}`];
}

function readsMetadata(container: unknown): boolean {
  return listAt(container, "env").some((variable) =>
    textAt(variable, "valueFrom", "fieldRef", "fieldPath")?.startsWith("metadata."),
  );
}

/** A UID alone is what anybody may write into a label of another namespace. */
export function identityOf({ namespace, uid }: Pick<PodFacts, "namespace" | "uid">): string {
  return `${namespace}/${uid}`;
}

export function isTrue(pod: PodFacts, condition: string): boolean {
  return pod.conditions.get(condition)?.status === "True";
}

/** Of the newest state that keeps it from being ready. */
export function notReadySince(pod: PodFacts): number | undefined {
  return pod.conditions.get("Ready")?.since ?? pod.createdAt;
}

function nameAt(value: unknown, ...path: readonly string[]): string {
  return shownName(textAt(value, ...path) ?? "");
}

/** `conditions` of anything that has them, by type. */
export function conditionsOf(status: unknown): ReadonlyMap<string, ConditionFacts> {
  const found = new Map<string, ConditionFacts>();
  for (const condition of listAt(status, "conditions")) {
    const type = textAt(condition, "type");
    if (type === undefined) continue;
    found.set(type, {
      status: textAt(condition, "status") ?? "",
      reason: textAt(condition, "reason") ?? "",
      message: textAt(condition, "message") ?? "",
      since: timeAt(condition, "lastTransitionTime"),
    });
  }
  return found;
}

/** Milliseconds since the epoch; undefined for what is no time. */
export function timeAt(value: unknown, ...path: readonly string[]): number | undefined {
  return timeOf(textAt(value, ...path));
}

function containersOf(spec: unknown, status: unknown, list: string, statuses: string): ContainerFacts[] {
  const byName = new Map<unknown, unknown>();
  for (const entry of listAt(status, statuses)) byName.set(textAt(entry, "name"), entry);
  const isInit = list === "initContainers";
  return listAt(spec, list)
    .filter(isFields)
    .map((container) => containerOf(container, byName.get(textAt(container, "name")), isInit));
}

function containerOf(container: Fields, status: unknown, isInit: boolean): ContainerFacts {
  const waiting = at(status, "state", "waiting");
  const ended = at(status, "state", "terminated");
  const before = at(status, "lastState", "terminated");
  const end = isFields(ended) ? ended : before;
  const image = textAt(container, "image") ?? "";
  const ran = textAt(status, "image") ?? "";
  return {
    name: nameAt(container, "name"),
    isInit: isInit && textAt(container, "restartPolicy") !== "Always",
    image,
    ready: at(status, "ready") === true,
    started: at(status, "started") !== false,
    restarts: numberAt(status, "restartCount") ?? 0,
    isRunning: isFields(at(status, "state", "running")),
    runningSince: timeAt(status, "state", "running", "startedAt"),
    waiting: isFields(waiting)
      ? { reason: textAt(waiting, "reason") ?? "", message: textAt(waiting, "message") ?? "" }
      : undefined,
    end: isFields(end) ? endOf(end) : undefined,
    hasEnded: isFields(ended),
    isReplaced: isFields(ended) && ran !== "" && imageName(ran) !== imageName(image),
    readinessProbe: probeOf(container, "readinessProbe"),
    startupProbe: probeOf(container, "startupProbe"),
  };
}

function endOf(terminated: Fields): EndFacts {
  return {
    exitCode: numberAt(terminated, "exitCode") ?? 0,
    reason: textAt(terminated, "reason") ?? "",
    message: textAt(terminated, "message") ?? "",
    at: timeAt(terminated, "finishedAt"),
  };
}

/** `httpGet :8080/healthz`; undefined without a probe. */
function probeOf(container: Fields, name: string): string | undefined {
  const probe = at(container, name);
  if (!isFields(probe)) return undefined;
  const handler = ["httpGet", "tcpSocket", "grpc", "exec"].find((kind) => isFields(probe[kind])) ?? "probe";
  const port = at(probe, handler, "port");
  const place = typeof port === "string" || typeof port === "number" ? ` :${port}` : "";
  const words = textsIn(listAt(probe, handler, "command")).join(" ");
  return `${handler}${place}${textAt(probe, handler, "path") ?? ""}${words === "" ? "" : ` ${words}`}`;
}

function textsIn(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

function namesIn(values: readonly unknown[], key: string): string[] {
  return textsIn(values.map((value) => textAt(value, key)));
}

/** Pods of one state: events and logs of one count for all. Where they run, and their numbers, are left out. */
export function stateOf(pod: PodFacts): string {
  const containers = pod.containers.map(({ name, isRunning, ready, started, waiting, end }) =>
    [name, isRunning, ready, started, waiting?.reason ?? "", end?.exitCode ?? "", end?.reason ?? ""].join(
      ",",
    ),
  );
  const { phase, reason, conditions, deletionAt } = pod;
  const scheduled = conditions.get("PodScheduled")?.status ?? "";
  return [phase, reason, scheduled, deletionAt !== undefined, ...containers].join(";");
}
