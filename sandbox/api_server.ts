/** An API server over memory with its simulated nodes, without a socket: what a sandbox serves, and a simulation asks in process. */
import type { Clock, Random } from "../kube/core/index.ts";
import { seededRandom } from "../kube/core/index.ts";
import { webhookAdmission } from "./admission/webhook_admission.ts";
import { admittedWriter } from "./admitted_writer.ts";
import { startRoleAggregation } from "./authorization/aggregation.ts";
import { roleAuthorizer } from "./authorization/authorizer.ts";
import { createDefaultRoles } from "./authorization/default_roles.ts";
import { watchedRoles } from "./authorization/role_watch.ts";
import type { Cluster } from "./cluster.ts";
import { clusterView } from "./cluster_view.ts";
import { startComponents } from "./components.ts";
import { serveDefinitions } from "./crd/install.ts";
import { createEventWriter } from "./events.ts";
import { Faults } from "./faults.ts";
import { GarbageCollector } from "./garbage_collector.ts";
import { Discovery } from "./http/discovery.ts";
import { OpenApi } from "./http/openapi.ts";
import type { Routes } from "./http/router.ts";
import { asObject } from "./json.ts";
import { type KubernetesVersion, versionInfo, versionText } from "./kubernetes_version.ts";
import type { NodeProfile } from "./nodes/node_object.ts";
import type { SandboxNodes } from "./nodes/sandbox_nodes.ts";
import { registerBuiltin } from "./resources/builtin.ts";
import { Registry } from "./resources/registry.ts";
import type { ProfileName, Timing } from "./stages/profile.ts";
import { Storage } from "./storage.ts";
import { adminUser, Tokens } from "./tokens.ts";
import { WebhookCaller, type WebhookCalls } from "./webhooks.ts";
import type { Log, World } from "./world.ts";

export interface ApiServerOptions {
  /** All chance comes from it: the same seed gives the same names, identities and faults. */
  readonly seed: number;
  readonly clock: Clock;
  /** Instead of the generator made from the seed. */
  readonly random?: Random;
  /** CustomResourceDefinition objects (apiextensions.k8s.io/v1) that are there from the start. */
  readonly crds?: readonly object[];
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
  /** That agent pulls images and carries out recreate requests; off: others do, over `nodes.runtime`. Default on. */
  readonly agentActs?: boolean;
  /** What the server and its nodes say that they are; default 1.34.4. */
  readonly kubernetesVersion?: KubernetesVersion;
}

interface ApiServerParts {
  /** PEM that every namespace gets as `kube-root-ca.crt`. */
  readonly authority: string;
  /** Calls webhooks; default: over HTTPS. */
  readonly webhooks?: (faults: Faults) => WebhookCalls;
  /** Runs work once the present turn has ended; default: as an event of the loop. */
  readonly soon?: (run: () => void) => void;
}

export interface ApiServer {
  readonly cluster: Cluster;
  readonly faults: Faults;
  /** Bearer token of the administrator. */
  readonly token: string;
  readonly routes: Routes;
  readonly nodes: SandboxNodes | undefined;
  stop(): Promise<void>;
}

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"] as const;

export function startApiServer(options: ApiServerOptions & ApiServerParts): ApiServer {
  const { clock, kubernetesVersion } = options;
  const world = emptyWorld(options);
  const { random, tokens, webhooks } = world;
  serveDefinitions(world);
  const cluster = clusterView(world);
  const collector = new GarbageCollector(world, createEventWriter(cluster, clock, random));
  addFirstObjects(cluster, options.crds ?? []);
  const stopAggregation = startRoleAggregation(cluster);
  const token = tokens.issue(adminUser);
  const discovery = new Discovery(world.registry);
  const components =
    options.nodes === undefined
      ? undefined
      : startComponents(cluster, {
          ...options,
          random,
          writer: admittedWriter(world),
          onError: (error, where) =>
            world.log("a simulated component tries again", { where, error: String(error) }),
        });
  return {
    cluster,
    faults: world.faults,
    token,
    routes: {
      world,
      discovery,
      openApi: new OpenApi(world.registry, discovery, versionText(kubernetesVersion)),
      version: versionInfo(kubernetesVersion),
    },
    nodes: components?.nodes,
    async stop() {
      components?.stop();
      stopAggregation();
      collector.stop();
      await webhooks.close();
    },
  };
}

function emptyWorld(options: ApiServerOptions & ApiServerParts): World {
  const { clock } = options;
  const random = options.random ?? seededRandom(options.seed);
  const storage = new Storage({ now: () => clock.now(), historyLimit: options.historyLimit ?? 10_000 });
  const registry = new Registry();
  registerBuiltin(registry, storage);
  const faults = new Faults(random);
  const webhooks = options.webhooks?.(faults) ?? new WebhookCaller(new Map(), clock, faults);
  const log = options.log ?? (() => {});
  return {
    clock,
    random,
    storage,
    registry,
    admission: webhookAdmission({ registry, random, webhooks, log, faults }),
    authorizer: roleAuthorizer(watchedRoles(registry)),
    faults,
    tokens: new Tokens(random),
    webhooks,
    log,
    soon: options.soon ?? setImmediate,
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
