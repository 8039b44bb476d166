/** Starting and stopping one sandbox. */

import type { Clock } from "../kube/core/index.ts";
import { type ApiServerOptions, startApiServer } from "./api_server.ts";
import { makeCertificates } from "./certificates.ts";
import type { Cluster } from "./cluster.ts";
import type { Faults } from "./faults.ts";
import { listen } from "./http/server.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import type { NodeProfile } from "./nodes/node_object.ts";
import type { SandboxNodes } from "./nodes/sandbox_nodes.ts";
import { WebhookCaller } from "./webhooks.ts";

export interface SandboxOptions extends ApiServerOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** `namespace/name` or `namespace/name:port` of a service -> `https://host:port`, for webhooks. */
  readonly serviceUrls?: Readonly<Record<string, string>>;
}

/** A sandbox whose options named `nodes`. */
export interface SandboxWithNodes extends Sandbox {
  readonly nodes: SandboxNodes;
}

export interface Sandbox {
  readonly url: string;
  /** PEM. */
  readonly caCert: string;
  /** YAML of a kubeconfig whose user may do everything; others have what roles grant them. */
  readonly kubeconfig: string;
  /** Bearer token of the same user. */
  readonly token: string;
  readonly cluster: Cluster;
  readonly faults: Faults;
  readonly clock: Clock;
  /** Where services of webhooks are reached; entries may be added at any time. */
  readonly serviceUrls: Map<string, string>;
  stop(): Promise<void>;
}

export async function startSandbox(
  options: SandboxOptions & { readonly nodes: number | readonly NodeProfile[] },
): Promise<SandboxWithNodes>;
export async function startSandbox(options: SandboxOptions): Promise<Sandbox>;
export async function startSandbox(options: SandboxOptions): Promise<Sandbox | SandboxWithNodes> {
  const { clock, host = "127.0.0.1", port = 0 } = options;
  // Clients compare certificates with the time of day, whatever the clock of the test says.
  const certificates = await makeCertificates(host, Date.now());
  const serviceUrls = new Map(Object.entries(options.serviceUrls ?? {}));
  const server = startApiServer({
    ...options,
    authority: certificates.caCert,
    webhooks: (faults) => new WebhookCaller(serviceUrls, clock, faults),
  });
  const { cluster, faults, nodes, routes, token } = server;
  const listener = await listen({ host, port, certificates, tokens: routes.world.tokens, routes });
  const url = `https://${host.includes(":") ? `[${host}]` : host}:${listener.port}`;
  return {
    url,
    caCert: certificates.caCert,
    kubeconfig: kubeconfigText(url, certificates),
    token,
    cluster,
    faults,
    clock,
    serviceUrls,
    ...(nodes ? { nodes } : {}),
    async stop() {
      await server.stop();
      await listener.stop();
    },
  };
}
