/** Runs one probe once: exec through the runtime, httpGet and tcpSocket against the pod's address. */
import { connect } from "node:net";
import { isJsonObject } from "../../kube/index.ts";
import type { Probe, ProbeOutcome } from "../../node/index.ts";
import { kubeletGet } from "../containers/kubelet_get.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError, messageOf } from "../errors.ts";
import type { ExecProbes } from "./exec_probes.ts";

export interface ProbePlace {
  readonly client: CriClient;
  readonly containerId: string;
  readonly podIP: string;
  readonly execs: ExecProbes;
}

/** What is kept of an output, as the kubelet does it. */
const largestOutput = 10 * 1024;
/** Longer than any connection lasts that is not answered, and within what a timer can count. */
const longestTimeoutSeconds = 24 * 3600;

/** Undefined when the run says nothing about the container: the runtime failed, or the probe has no handler. */
export async function runProbe(
  probe: Probe,
  place: ProbePlace,
  signal: AbortSignal,
): Promise<ProbeOutcome | undefined> {
  const timeoutSeconds = Math.min(Math.max(1, probe.timeoutSeconds ?? 1), longestTimeoutSeconds);
  if (probe.exec) return runExec(probe, place, timeoutSeconds, signal);
  if (place.podIP === "") return undefined;
  if (probe.tcpSocket) return runTcp(place.podIP, Number(probe.tcpSocket.port), timeoutSeconds);
  if (probe.httpGet) return runHttp(probe.httpGet, place.podIP, timeoutSeconds, signal);
  return undefined;
}

async function runExec(
  probe: Probe,
  { client, containerId, execs }: ProbePlace,
  timeout: number,
  signal: AbortSignal,
): Promise<ProbeOutcome | undefined> {
  try {
    const request = { container_id: containerId, cmd: probe.exec?.command ?? [], timeout };
    const answer = await execs.run(probe, client, request, signal);
    const text = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, largestOutput)).toString();
    if (answer.exit_code === 0) return { state: "Succeeded", message: text(answer.stdout) };
    return { state: "Failed", message: text(answer.stderr) };
  } catch (error) {
    if (isAgentError(error, "Timeout")) return { state: "Failed", message: error.message };
    return undefined;
  }
}

async function runHttp(
  httpGet: NonNullable<Probe["httpGet"]>,
  host: string,
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const get = {
    scheme: (httpGet.scheme ?? "HTTP").toLowerCase(),
    host,
    port: Number(httpGet.port),
    path: httpGet.path ?? "/",
    headers: (httpGet.httpHeaders ?? []).filter(isJsonObject),
    timeoutMs: timeoutSeconds * 1000,
  };
  try {
    const { code, body } = await kubeletGet(get, signal);
    if (code >= 200 && code < 400) return { state: "Succeeded", message: body };
    return { state: "Failed", message: `HTTP probe failed with statuscode: ${code}` };
  } catch (error) {
    return { state: "Failed", message: messageOf(error) };
  }
}

function runTcp(host: string, port: number, timeoutSeconds: number): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      resolve({ state: "Failed", message: `port ${port} is not a port number` });
      return;
    }
    const socket = connect({ host, port });
    const end = (outcome: ProbeOutcome): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.setTimeout(timeoutSeconds * 1000, () =>
      end({ state: "Failed", message: `dial tcp ${host}:${port}: i/o timeout` }),
    );
    socket.once("connect", () => end({ state: "Succeeded", message: "" }));
    socket.once("error", (error) => end({ state: "Failed", message: error.message }));
  });
}
