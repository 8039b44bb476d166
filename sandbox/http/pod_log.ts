/** Logs of simulated containers: each run says one line at its start, and a log that is followed ends with its run. */
import { logAnnotation, ofContainer } from "../annotations.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, fieldsAt, objectsAt, textAt } from "../json.ts";
import { badRequest } from "./api_error.ts";
import { type Exchange, flushHeaders, type Reply, textReply } from "./exchange.ts";
import { checkScheduled, podOf } from "./pod_calls.ts";
import type { Target } from "./target.ts";

/** Answers itself, later, where the log is followed. */
export async function podLog(
  _world: unknown,
  exchange: Exchange,
  target: Target,
): Promise<Reply | undefined> {
  const { query } = exchange;
  const pod = podOf(target);
  const container = askedContainer(pod, query.get("container") ?? "");
  checkScheduled(pod);
  const run = askedRun(pod, container, query.get("previous") === "true");
  const text = logText(pod, container, run, query);
  if (query.get("follow") !== "true" || !run.isRunning) return textReply(200, text);
  sendUntilEnd(exchange, target, container, run, text);
  return undefined;
}

function askedContainer(pod: StoredObject, wanted: string): string {
  const names = ["containers", "initContainers", "ephemeralContainers"].flatMap((list) =>
    objectsAt(pod, "spec", list).map((container) => textAt(container, "name")),
  );
  const name = pod.metadata.name ?? "";
  if (wanted === "" && objectsAt(pod, "spec", "containers").length > 1) {
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`,
    );
  }
  if (wanted !== "" && !names.includes(wanted))
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  return wanted || (names[0] ?? "");
}

interface Run {
  readonly id: string;
  /** As in the status: a time of whole seconds. */
  readonly startedAt: string;
  readonly isRunning: boolean;
}

function askedRun(pod: StoredObject, container: string, isPrevious: boolean): Run {
  const name = pod.metadata.name ?? "";
  const runs = runsOf(pod, container);
  const run = isPrevious ? runs.previous : runs.newest;
  if (run !== undefined) return run;
  if (isPrevious) throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`);
  const reason = textAt(statusOf(pod, container), "state", "waiting", "reason") || "ContainerCreating";
  throw badRequest(`container "${container}" in pod "${name}" is waiting to start: ${reason}`);
}

function statusOf(pod: StoredObject, container: string): Fields {
  const statuses = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"].flatMap(
    (list) => objectsAt(pod, "status", list),
  );
  return statuses.find((status) => textAt(status, "name") === container) ?? {};
}

function runsOf(
  pod: StoredObject,
  container: string,
): { newest: Run | undefined; previous: Run | undefined } {
  const status = statusOf(pod, container);
  const last = endedRun(status, "lastState");
  const startedAt = textAt(status, "state", "running", "startedAt");
  const running = { id: textAt(status, "containerID"), startedAt, isRunning: true };
  const newest = startedAt === "" ? endedRun(status, "state") : running;
  return newest === undefined ? { newest: last, previous: last } : { newest, previous: last };
}

function endedRun(status: Fields, state: string): Run | undefined {
  const { startedAt, containerID } = fieldsAt(status, state, "terminated");
  if (typeof startedAt !== "string") return undefined;
  return { id: String(containerID), startedAt, isRunning: false };
}

const nothingSaid = "no logs: containers of the sandbox are simulated and print nothing";

function logText(pod: StoredObject, container: string, { startedAt }: Run, query: URLSearchParams): string {
  const since = Date.parse(query.get("sinceTime") ?? "");
  if (Date.parse(startedAt) < since || query.get("tailLines") === "0") return "";
  const said = ofContainer(pod.metadata, container, logAnnotation) ?? nothingSaid;
  const time = query.get("timestamps") === "true" ? `${startedAt.replace("Z", ".000000000Z")} ` : "";
  return `${time}${said}\n`;
}

function sendUntilEnd(exchange: Exchange, target: Target, container: string, run: Run, text: string): void {
  const { response, closed } = exchange;
  response.statusCode = 200;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  flushHeaders(response);
  if (text !== "") response.write(Buffer.from(text));
  const end = (): void => {
    unsubscribe();
    response.end();
  };
  const unsubscribe = target.served.resource.table.subscribe({
    onChange: ({ type, current }) => {
      if (current.name !== target.name || current.object.metadata.namespace !== target.namespace) return;
      const newest = runsOf(current.object, container).newest;
      if (type === "DELETED" || newest?.id !== run.id || !newest.isRunning) end();
    },
    onClose: end,
  });
  closed.addEventListener("abort", unsubscribe);
}
