import { createClient, loadCredentials, systemClock, undiciTransport } from "../kube/index.ts";
import type { Connection, ConnectRequest } from "./command.ts";
import { withTimeout } from "./timeout.ts";

/** A client for the cluster that flags and environment name. Throws KubeError `Config` when they name none. */
export async function connect(request: ConnectRequest): Promise<Connection> {
  const { kubeconfig, context, env, userAgent, timeoutMs, metrics, log } = request;
  const clock = systemClock;
  const credentials = await loadCredentials({ kubeconfig, context, env, clock });
  const client = createClient({
    credentials,
    clock,
    random: Math.random,
    userAgent,
    transport: undiciTransport({ clock }),
    metrics,
    log,
  });
  return {
    client: timeoutMs === undefined ? client : withTimeout(client, timeoutMs),
    namespace: credentials.namespace,
  };
}
