import { createClient, loadCredentials, systemClock, undiciTransport } from "../kube/index.ts";
import type { Connection, ConnectRequest } from "./command.ts";
import { overriddenCredentials } from "./overridden_credentials.ts";
import { withTimeout } from "./timeout.ts";
import { tracedTransport } from "./traced_transport.ts";

/** A client for the cluster that flags and environment name. Throws KubeError `Config` when they name none. */
export async function connect(request: ConnectRequest): Promise<Connection> {
  const { kubeconfig, context, env, userAgent, timeoutMs, metrics, log, trace, fence } = request;
  const clock = systemClock;
  const credentials = await loadCredentials({ kubeconfig, context, env, clock });
  const transport = undiciTransport({ clock });
  const client = createClient({
    credentials: overriddenCredentials(credentials, request),
    clock,
    random: Math.random,
    userAgent,
    transport: trace === undefined ? transport : tracedTransport(transport, clock, trace),
    metrics,
    log,
    fence,
  });
  return {
    client: timeoutMs === undefined ? client : withTimeout(client, timeoutMs),
    namespace: credentials.namespace,
  };
}
