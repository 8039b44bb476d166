/**
 * Brings the cluster's pointers to this server up to date: both webhook configurations, and the conversion of every
 * definition with strategy Webhook. Writes only differences, under preconditions. Spec: platform 4.2, rule 5; 4.3.
 */
import { definitionName, type KindDefinition } from "../../../crds/index.ts";
import { isJsonObject, type JsonObject, jsonEqual, own } from "../../../kube/core/index.ts";
import {
  type Client,
  ignoreNotFound,
  jsonResource,
  type KubeObject,
  type Log,
  type Resource,
} from "../../../kube/index.ts";
import type { Webhook } from "./webhook.ts";
import {
  clientConfig,
  mutatingConfigurationName,
  newConfiguration,
  templateAnnotation,
  validatingConfigurationName,
  type WebhookConfiguration,
  type WebhookTarget,
  wantedConfiguration,
  webhookConfigurations,
} from "./webhook_configurations.ts";

const admissionGroup = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false };

export const mutatingConfigurations = jsonResource<WebhookConfiguration>({
  ...admissionGroup,
  plural: "mutatingwebhookconfigurations",
  kind: "MutatingWebhookConfiguration",
});

export const validatingConfigurations = jsonResource<WebhookConfiguration>({
  ...admissionGroup,
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
});

interface Definition extends KubeObject {
  spec?: JsonObject;
}

export const definitions = jsonResource<Definition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

interface ClusterTrustOptions {
  client: Client;
  target: WebhookTarget;
  webhooks: readonly Webhook[];
  /** Paths that the server answers. */
  livePaths: ReadonlySet<string>;
  /** Kinds whose conversion this program answers. */
  kinds: readonly KindDefinition[];
  log: Log;
}

export interface ClusterTrust {
  /**
   * One pass with these CAs (PEM, one after another). Throws KubeError; a lost race is left to the next pass. Without
   * `leads` only what is incomplete is written: two replicas that are reached at different addresses, serve different
   * webhooks or have different CAs would undo each other's writes without end.
   */
  apply(caCerts: string, options: { leads: boolean }): Promise<void>;
  /** Whether every pointer has this CA (PEM), be it among others. Throws KubeError. */
  trusts(caCert: string): Promise<boolean>;
  /** Compares only; throws an Error that names the first object whose CA is another one. For certificates from outside. */
  check(caCert: string): Promise<void>;
}

export function clusterTrust(options: ClusterTrustOptions): ClusterTrust {
  const ours = webhookConfigurations({ ...options.target, webhooks: options.webhooks });
  const configurations = [
    { resource: mutatingConfigurations, ours: ours.mutating },
    { resource: validatingConfigurations, ours: ours.validating },
  ] as const;
  return {
    async apply(caCerts, { leads }) {
      const pass = { ...options, caBundle: base64(caCerts), leads };
      for (const { resource, ours } of configurations) await applyConfiguration(pass, resource, ours);
      for (const kind of options.kinds) await applyConversion(pass, kind);
    },
    async trusts(caCert) {
      for await (const { bundles } of pointers(options)) {
        if (!bundles.every((bundle) => decoded(bundle).includes(caCert.trim()))) return false;
      }
      return true;
    },
    async check(caCert) {
      const caBundle = base64(caCert);
      for await (const { name, trusted, bundles } of pointers(options)) {
        if (bundles.some((bundle) => bundle !== caBundle))
          throw new Error(`caBundle of ${name} does not match ${trusted}`);
      }
    },
  };
}

interface Pointer {
  /** Kind and name, as messages say them. */
  readonly name: string;
  /** How messages call what its bundles should be. */
  readonly trusted: string;
  /** Of each webhook, or of the conversion. */
  readonly bundles: readonly unknown[];
}

/** What the cluster has of both configurations and of the definitions whose strategy is Webhook. Throws KubeError. */
async function* pointers({ client, kinds }: ClusterTrustOptions): AsyncGenerator<Pointer> {
  for (const [resource, name] of [
    [mutatingConfigurations, mutatingConfigurationName],
    [validatingConfigurations, validatingConfigurationName],
  ] as const) {
    const { webhooks = [] } = await client.get(resource, { name });
    const configs = webhooks.map((webhook) => own(webhook, "clientConfig"));
    const bundles = configs.filter((config) => config !== undefined).map(bundleOf);
    yield { name: `${resource.kind} ${name}`, trusted: "the external caBundle", bundles };
  }
  for (const kind of kinds) {
    const name = definitionName(kind);
    const live = await client.get(definitions, { name }).catch(ignoreNotFound);
    const config = live === undefined ? undefined : conversionConfig(live);
    if (config !== undefined)
      yield { name: `CRD ${name}`, trusted: "external caBundle", bundles: [bundleOf(config)] };
  }
}

interface Pass extends ClusterTrustOptions {
  caBundle: string;
  leads: boolean;
}

async function applyConfiguration(
  { client, livePaths, target, log, caBundle, leads }: Pass,
  resource: Resource<WebhookConfiguration>,
  ours: WebhookConfiguration,
): Promise<void> {
  const name = ours.metadata.name ?? "";
  const live = await client.get(resource, { name }).catch(ignoreNotFound);
  if (live === undefined) {
    await client.create(resource, undefined, newConfiguration(ours, livePaths, target, caBundle));
    log.info("created webhook configuration", { name });
    return;
  }
  if (!leads && isComplete(live)) return;
  const wanted = wantedConfiguration(live, ours, livePaths, target, caBundle);
  if (wanted.settled) return;
  const metadata = {
    resourceVersion: live.metadata.resourceVersion,
    annotations: { [templateAnnotation]: wanted.template },
  };
  await client.patch(resource, { name }, { type: "merge", body: { metadata, webhooks: wanted.webhooks } });
  log.info("updated webhook configuration", { name });
}

/** Every webhook of it can be called: somebody has put a CA into each, and noted the template. */
function isComplete({ metadata, webhooks = [] }: WebhookConfiguration): boolean {
  if (!metadata.annotations?.[templateAnnotation] || webhooks.length === 0) return false;
  return webhooks.every((webhook) => Boolean(bundleOf(own(webhook, "clientConfig"))));
}

async function applyConversion(
  { client, target, log, caBundle, leads }: Pass,
  kind: KindDefinition,
): Promise<void> {
  const name = definitionName(kind);
  const live = await client.get(definitions, { name }).catch(ignoreNotFound);
  const present = live === undefined ? undefined : conversionConfig(live);
  if (live === undefined || present === undefined) return;
  if (!leads && bundleOf(present)) return;
  const wanted = clientConfig(target, "/convert", caBundle);
  if (jsonEqual(present, wanted)) return;
  // A merge patch keeps members it does not name: one of `service` and `url` has to go.
  const other = "url" in wanted ? { service: null } : { url: null };
  const body = {
    metadata: { resourceVersion: live.metadata.resourceVersion },
    spec: { conversion: { webhook: { clientConfig: { ...other, ...wanted } } } },
  };
  await client.patch(definitions, { name }, { type: "merge", body });
  log.info("updated conversion of a definition", { name });
}

/** The client configuration of a definition whose strategy is Webhook; empty where it has none yet. */
function conversionConfig(definition: Definition): JsonObject | undefined {
  const conversion = own(definition.spec ?? {}, "conversion");
  if (!isJsonObject(conversion) || conversion["strategy"] !== "Webhook") return undefined;
  const webhook = own(conversion, "webhook");
  const config = isJsonObject(webhook) ? own(webhook, "clientConfig") : undefined;
  return isJsonObject(config) ? config : {};
}

function bundleOf(config: unknown): unknown {
  return isJsonObject(config) ? config["caBundle"] : undefined;
}

function decoded(bundle: unknown): string {
  return typeof bundle === "string" ? Buffer.from(bundle, "base64").toString("utf8") : "";
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
