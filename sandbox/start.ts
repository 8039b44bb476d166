/** Starting and stopping one sandbox. */
import type { Clock, Random } from "../kube/core/index.ts";
import { seededRandom } from "../kube/core/index.ts";
import { webhookAdmission } from "./admission/webhook_admission.ts";
import { admittedWriter } from "./admitted_writer.ts";
import { startRoleAggregation } from "./authorization/aggregation.ts";
import { roleAuthorizer } from "./authorization/authorizer.ts";
import { createDefaultRoles } from "./authorization/default_roles.ts";
import { watchedRoles } from "./authorization/role_watch.ts";
import { makeCertificates } from "./certificates.ts";
import type { Cluster } from "./cluster.ts";
import { clusterView } from "./cluster_view.ts";
import { startComponents } from "./components.ts";
import { serveDefinitions } from "./crd/install.ts";
import { createEventWriter } from "./events.ts";
import { Faults } from "./faults.ts";
import { GarbageCollector } from "./garbage_collector.ts";
import { Discovery } from "./http/discovery.ts";
import { OpenApi } from "./http/openapi.ts";
import { listen } from "./http/server.ts";
import { asObject } from "./json.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import { type KubernetesVersion, versionInfo, versionText } from "./kubernetes_version.ts";
import type { NodeProfile } from "./nodes/node_object.ts";
import type { SandboxNodes } from "./nodes/sandbox_nodes.ts";
import { registerBuiltin } from "./resources/builtin.ts";
import { Registry } from "./resources/registry.ts";
import type { ProfileName, Timing } from "./stages/profile.ts";
import { Storage } from "./storage.ts";
import { adminUser, Tokens } from "./tokens.ts";
import { WebhookCaller } from "./webhooks.ts";
import type { Log, World } from "./world.ts";

export interface SandboxOptions {
  /** All chance comes from it: the same seed gives the same names, identities and faults. */
  readonly seed: number;
  readonly clock: Clock;
  /** Instead of the generator made from the seed. */
  readonly random?: Random;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** CustomResourceDefinition objects (apiextensions.k8s.io/v1) that are there from the start. */
  readonly crds?: readonly object[];
  /** `namespace/name` or `namespace/name:port` of a service -> `https://host:port`, for webhooks. */
  readonly serviceUrls?: Readonly<Record<string, string>>;
  readonly log?: Log;
  /** How many changes of each resource a watch can go back; default 10,000. */
  readonly historyLimit?: number;
  /**
   * Simulated nodes, `node1` to `node<n>` or one per profile. With it, also 0, the sandbox has a scheduler, a volume
   * binder and the built-in workloads; without it, only the API server.
   */
  readonly nodes?: number | readonly NodeProfile[];
  /** Delays of the nodes; default `fast`. */
  readonly profile?: ProfileName | Timing;
  /** Simulates the node agent beside each kubelet; default off. */
  readonly agent?: boolean;
  /** What the server and its nodes say that they are; default 1.34.4. */
  readonly kubernetesVersion?: KubernetesVersion;
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

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"] as const;

export async function startSandbox(
  options: SandboxOptions & { readonly nodes: number | readonly NodeProfile[] },
): Promise<SandboxWithNodes>;
export async function startSandbox(options: SandboxOptions): Promise<Sandbox>;
export async function startSandbox(options: SandboxOptions): Promise<Sandbox | SandboxWithNodes> {
  const { clock, host = "127.0.0.1", kubernetesVersion } = options;
  const world = emptyWorld(options);
  const { random, tokens, webhooks } = world;
  serveDefinitions(world);
  const cluster = clusterView(world);
  const collector = new GarbageCollector(world, createEventWriter(cluster, clock, random));
  addFirstObjects(cluster, options.crds ?? []);
  const stopAggregation = startRoleAggregation(cluster);
  // Clients compare certificates with the time of day, whatever the clock of the test says.
  const certificates = await makeCertificates(host, Date.now());
  const token = tokens.issue(adminUser);
  const discovery = new Discovery(world.registry);
  const listener = await listen({
    host,
    port: options.port ?? 0,
    certificates,
    tokens,
    routes: {
      world,
      discovery,
      openApi: new OpenApi(world.registry, discovery, versionText(kubernetesVersion)),
      version: versionInfo(kubernetesVersion),
    },
  });
  const components =
    options.nodes === undefined
      ? undefined
      : startComponents(cluster, {
          ...options,
          random,
          writer: admittedWriter(world),
          authority: certificates.caCert,
          onError: (error, where) =>
            world.log("a simulated component tries again", { where, error: String(error) }),
        });
  const url = `https://${host.includes(":") ? `[${host}]` : host}:${listener.port}`;
  return {
    url,
    caCert: certificates.caCert,
    kubeconfig: kubeconfigText(url, certificates),
    token,
    cluster,
    faults: world.faults,
    clock,
    serviceUrls: webhooks.serviceUrls,
    ...(components ? { nodes: components.nodes } : {}),
    async stop() {
      components?.stop();
      stopAggregation();
      collector.stop();
      await listener.stop();
      await webhooks.close();
    },
  };
}

function emptyWorld(options: SandboxOptions): World {
  const { clock } = options;
  const random = options.random ?? seededRandom(options.seed);
  const storage = new Storage({ now: () => clock.now(), historyLimit: options.historyLimit ?? 10_000 });
  const registry = new Registry();
  registerBuiltin(registry, storage);
  const faults = new Faults(random);
  const webhooks = new WebhookCaller(new Map(Object.entries(options.serviceUrls ?? {})), clock, faults);
  const log = options.log ?? (() => {});
  return {
    clock,
    random,
    storage,
    registry,
    admission: webhookAdmission({ registry, random, webhooks, log }),
    authorizer: roleAuthorizer(watchedRoles(registry)),
    faults,
    tokens: new Tokens(random),
    webhooks,
    log,
  };
}

/** What every new cluster has, and the definitions that were asked for. */
function addFirstObjects(cluster: Cluster, definitions: readonly object[]): void {
  for (const name of namespaces) cluster.create("namespaces", { metadata: { name } });
  createDefaultRoles(cluster);
  cluster.create("services", {
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { component: "apiserver", provider: "kubernetes" },
    },
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "https", port: 443, targetPort: 6443 }] },
  });
  for (const definition of definitions) {
    const object = asObject(definition);
    if (object === undefined) throw new Error("a definition has no metadata");
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", object);
  }
}
