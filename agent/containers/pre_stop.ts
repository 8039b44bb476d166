/** Runs a container's preStop hook, as the kubelet would before it stops the container. */
import { isJsonObject, type JsonObject } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { type CriClient, longestCallMs } from "../cri/client.ts";
import { AgentError } from "../errors.ts";
import { kubeletGet } from "./kubelet_get.ts";

/** Only what the hooks need of time. */
export interface Sleeper {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface HookPlace {
  readonly client: CriClient;
  readonly clock: Sleeper;
  readonly containerId: string;
  /** For httpGet without a host. */
  readonly podIP: string;
  readonly ports: readonly { readonly name?: string; readonly containerPort: number }[];
}

/**
 * `hook` is `lifecycle.preStop` as JSON; at most one of exec, httpGet and sleep. Resolves when it ended well, rejects
 * when it failed. The caller limits its time with `signal`.
 */
export async function runPreStop(hook: JsonObject, place: HookPlace, signal: AbortSignal): Promise<void> {
  const { exec, httpGet, sleep, tcpSocket } = hook;
  if (isJsonObject(exec)) return runExec(exec, place, signal);
  if (isJsonObject(httpGet)) return runHttpGet(httpGet, place, signal);
  if (isJsonObject(sleep)) {
    const seconds = Number(sleep["seconds"]);
    if (!(seconds >= 0)) throw new AgentError("Config", "preStop.sleep.seconds is not a number");
    return place.clock.sleep(seconds * 1000, signal);
  }
  throw new AgentError(
    "Config",
    isJsonObject(tcpSocket) ? "preStop.tcpSocket is not a hook" : "preStop has no handler",
  );
}

async function runExec(exec: JsonObject, place: HookPlace, signal: AbortSignal): Promise<void> {
  const command = exec["command"];
  const cmd = Array.isArray(command) ? command.filter((one) => typeof one === "string") : [];
  if (cmd.length === 0) throw new AgentError("Config", "preStop.exec.command is empty");
  const request = { container_id: place.containerId, cmd, timeout: 0 };
  // The grace ends it, by the signal.
  const answer = await place.client.call(methods.ExecSync, request, { timeoutMs: longestCallMs, signal });
  if (answer.exit_code !== 0) {
    const output = Buffer.from(answer.stderr.length > 0 ? answer.stderr : answer.stdout)
      .toString()
      .slice(0, 1024);
    throw new AgentError(
      "Runtime",
      `command ${JSON.stringify(cmd)} exited with ${answer.exit_code}: ${output}`,
    );
  }
}

async function runHttpGet(hook: JsonObject, place: HookPlace, signal: AbortSignal): Promise<void> {
  const port = hookPort(hook["port"], place.ports);
  const host = typeof hook["host"] === "string" && hook["host"] !== "" ? hook["host"] : place.podIP;
  if (host === "") throw new AgentError("Config", "preStop.httpGet: the pod has no address yet");
  const path = typeof hook["path"] === "string" ? hook["path"] : "/";
  const headers = Array.isArray(hook["httpHeaders"]) ? hook["httpHeaders"].filter(isJsonObject) : [];
  const scheme = String(hook["scheme"] ?? "HTTP").toLowerCase();
  const { code } = await kubeletGet({ scheme, host, port, path, headers, timeoutMs: 0 }, signal);
  if (code < 200 || code >= 400) throw new AgentError("Runtime", `HTTP hook answered ${code}`);
}

function hookPort(port: unknown, ports: HookPlace["ports"]): number {
  const number = Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65536) return number;
  const named = ports.find((one) => one.name !== undefined && one.name === port);
  if (!named) throw new AgentError("Config", `no port ${JSON.stringify(port)} in the container`);
  return named.containerPort;
}
