/** What a failed step left behind, as text: without it, a failure that is seen once on another machine says too little. */
import { readFileSync } from "node:fs";
import { type Api, type ContainerStatus, type Item, isRecord } from "../cluster/api.ts";

const eventLimit = 12;
const logLimit = 10;

/** The pods and claims of the namespace, its newest events and the end of each log; never fails itself. */
export async function sceneOf(
  api: Pick<Api, "list">,
  namespace: string,
  logFiles: readonly string[],
): Promise<string> {
  try {
    const pods = (await api.list("pods", namespace)).map(describePod);
    const claims = (await api.list("persistentvolumeclaims", namespace)).map(describeClaim);
    const events = (await api.list("events", namespace)).sort(byTime).slice(-eventLimit).map(describeEvent);
    return [
      `now: ${new Date().toISOString()}`,
      ...pods,
      ...claims,
      ...events,
      ...logFiles.flatMap(endOf),
    ].join("\n");
  } catch (error) {
    return `what there is could not be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function describePod({ metadata, spec, status }: Item): string {
  const conditions = (status?.conditions ?? [])
    .filter(({ type, status: value }) => value !== "True" || !["PodScheduled", "Initialized"].includes(type))
    .map(
      ({ type, status: value, lastTransitionTime, message }) =>
        `${type}=${value}@${lastTransitionTime ?? "?"}${type === "PodScheduled" ? ` (${cut(message ?? "")})` : ""}`,
    );
  const containers = (status?.containerStatuses ?? []).map(describeContainer);
  const place = `${metadata.name} on ${spec?.nodeName ?? "no node"}`;
  const annotations = Object.entries(metadata.annotations ?? {}).map(
    ([name, value]) => `${name}=${cut(value)}`,
  );
  return [
    `pod ${place} v${metadata.resourceVersion}: ${status?.phase ?? "?"} ${conditions.join(" ")}`,
    ...containers.map((line) => `  ${line}`),
    ...(annotations.length > 0 ? [`  ${annotations.join(" ")}`] : []),
  ].join("\n");
}

function describeClaim({ metadata, spec, status }: Item): string {
  const leaving =
    metadata.deletionTimestamp === undefined ? "" : ` leaving since ${metadata.deletionTimestamp}`;
  return `claim ${metadata.name}: ${status?.phase ?? "?"} ${String(spec?.["volumeName"] ?? "no volume")}${leaving}`;
}

function describeContainer({ name, ready, restartCount, state }: ContainerStatus): string {
  const [kind, detail]: [string, unknown] = Object.entries(state ?? {})[0] ?? ["no state", {}];
  const said = isRecord(detail) ? [detail["reason"], detail["startedAt"], detail["message"]] : [];
  const words = said.filter((word) => typeof word === "string").join(" ");
  return `${name}: ${kind} ${cut(words)} ready=${ready} restarts=${restartCount}`;
}

function describeEvent(event: Item): string {
  const about = event["involvedObject"];
  const name = isRecord(about) ? `${String(about["kind"])} ${String(about["name"])}` : "?";
  const count = Number(event["count"] ?? 1) || 1;
  return `event ${timeOf(event)} ${name}: ${String(event["reason"])} x${count}: ${cut(String(event["message"]))}`;
}

function endOf(logFile: string): string[] {
  try {
    const lines = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-logLimit);
    return [`end of ${logFile}:`, ...lines.map((line) => `  ${cut(line)}`)];
  } catch {
    return [`${logFile} cannot be read`];
  }
}

function byTime(left: Item, right: Item): number {
  return timeOf(left).localeCompare(timeOf(right));
}

function timeOf(event: Item): string {
  return String(event["lastTimestamp"] ?? event["eventTime"] ?? event.metadata.creationTimestamp);
}

function cut(text: string): string {
  return text.length > 240 ? `${text.slice(0, 240)}…` : text;
}
