/** All of admission put together: handlers on their paths, certificates, the server, the cluster's pointers to it. */
import { convertObject, definitionName, type KindDefinition } from "../../../crds/index.ts";
import { type Client, type Clock, type Log, privateDirectory, type Random } from "../../../kube/index.ts";
import { servingNames } from "./certificates/certificate_set.ts";
import { type Watched, watchChanges } from "./certificates/changes.ts";
import { generateCertificates } from "./certificates/generate.ts";
import { CertificateKeeper } from "./certificates/keeper.ts";
import {
  type CertificateStore,
  directoryStore,
  externalStore,
  type Generate,
  secretStore,
  secrets,
} from "./certificates/store.ts";
import {
  clusterTrust,
  definitions,
  mutatingConfigurations,
  validatingConfigurations,
} from "./cluster_trust.ts";
import { webhookReadiness } from "./readiness.ts";
import type { AdmissionHandler } from "./request.ts";
import { type AdmissionMetrics, AdmissionServer } from "./server.ts";
import type { WebhookSettings } from "./settings.ts";
import type { Webhook } from "./webhook.ts";
import { mutatingConfigurationName, validatingConfigurationName } from "./webhook_configurations.ts";

export interface WebhooksOptions {
  settings: WebhookSettings;
  client: Client;
  /** What the configurations hold, as far as there are handlers. */
  webhooks: readonly Webhook[];
  /** By path. */
  handlers: ReadonlyMap<string, AdmissionHandler>;
  /** Kinds whose conversion is answered here; others are left alone. */
  kinds: readonly KindDefinition[];
  clock: Clock;
  random: Random;
  log: Log;
  metrics: AdmissionMetrics;
  /** Whether this replica leads from the start; default true: it is the only one. */
  leads?: boolean;
  /** Makes certificates; replaced in tests. */
  generate?: Generate;
}

export interface Webhooks {
  readonly server: AdmissionServer;
  readonly certificates: CertificateKeeper;
  /** Starts serving and keeping; resolves when webhooks can be called. Rejects after `timeoutMs` (default 60 000). */
  start(timeoutMs?: number): Promise<{ port: number }>;
  /** The check `webhook-ready`: why webhooks cannot be called, undefined when they can. */
  ready(): Promise<string | undefined>;
  /** Whether this replica leads from now on: the cluster's pointers follow the leader. */
  lead(leading: boolean): void;
  stop(): Promise<void>;
}

export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { settings, client, handlers, clock, random, log } = options;
  const target = {
    namespace: settings.namespace,
    service: settings.service,
    port: settings.port,
    ...(settings.host === undefined ? {} : { host: settings.host }),
  };
  const conversions = options.kinds.filter((kind) => kind.conversion !== "None");
  let leads = options.leads ?? true;
  const certificates = new CertificateKeeper({
    leads: () => leads,
    store: storeOf(options),
    trust: clusterTrust({
      client,
      target,
      webhooks: options.webhooks,
      livePaths: new Set(handlers.keys()),
      kinds: conversions,
      log,
    }),
    external: settings.certificates === "external",
    ...(settings.certificateDirectory === undefined ? {} : { directory: settings.certificateDirectory }),
    watch: (changed, signal) =>
      watchChanges(
        { client, clock, random, log, watched: watchedOf(settings, conversions) },
        changed,
        signal,
      ),
    clock,
    log,
  });
  const server = new AdmissionServer({
    port: settings.port,
    // Called by URL, replicas on one machine have one address: as behind a Service, any of them answers.
    sharePort: settings.host !== undefined,
    host: settings.listenHost,
    certificates,
    handlers,
    convert: convertObject,
    log,
    metrics: options.metrics,
    clock,
  });
  const ready = webhookReadiness({
    caCert: () => certificates.caCert,
    port: () => server.port,
    host: settings.listenHost,
  });
  return {
    server,
    certificates,
    ready,
    async start(timeoutMs) {
      // Waiting would not make it better.
      if (settings.certificates === "fs") await privateDirectory(directoryOf(settings));
      const listening = server.listen();
      certificates.start();
      // Both at once: a port that is taken must be heard of at once, not after the certificates.
      const [bound] = await Promise.all([listening, certificates.initialized(timeoutMs)]);
      return bound;
    },
    lead(leading) {
      leads = leading;
      if (leading) certificates.renew();
    },
    async stop() {
      await certificates.stop();
      await server.close();
    },
  };
}

function storeOf({ settings, client, generate = generateCertificates }: WebhooksOptions): CertificateStore {
  const { namespace, secret: name, renewBeforeMs } = settings;
  const names = servingNames({ namespace, name: settings.service }, settings.host);
  switch (settings.certificates) {
    case "external":
      return externalStore({ client, namespace, name, names });
    case "fs":
      return directoryStore({ directory: directoryOf(settings), names, renewBeforeMs, generate });
    case "secret":
      return secretStore({ client, namespace, name, names, renewBeforeMs, generate });
  }
}

/** With mode `fs` there always is one. */
function directoryOf({ certificateDirectory }: WebhookSettings): string {
  if (certificateDirectory === undefined) throw new Error("WEBHOOK_CERT_DIR is not set");
  return certificateDirectory;
}

function watchedOf(
  { certificates, namespace, secret }: WebhookSettings,
  conversions: readonly KindDefinition[],
): Watched[] {
  return [
    ...(certificates === "fs" ? [] : [{ resource: secrets, namespace, name: secret }]),
    { resource: mutatingConfigurations, name: mutatingConfigurationName },
    { resource: validatingConfigurations, name: validatingConfigurationName },
    ...conversions.map((kind) => ({ resource: definitions, name: definitionName(kind) })),
  ];
}
