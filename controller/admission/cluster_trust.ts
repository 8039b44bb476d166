/**
 * Brings the cluster's pointers to this server up to date: both webhook configurations, and the conversion of every
 * definition with strategy Webhook. Writes only differences, under preconditions. Spec: platform 4.2, rule 5; 4.3.
 */
import { definitionName, type KindDefinition } from "../../crds/index.ts";
import { isJsonObject, type JsonObject, jsonEqual, own } from "../../kube/core/index.ts";
import {
  type Client,
  ignoreNotFound,
  jsonResource,
  type KubeObject,
  type Log,
  type Resource,
} from "../../kube/index.ts";
import type { Webhook } from "./webhook.ts";
import {
  clientConfig,
  newConfiguration,
  templateAnnotation,
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
   * One pass with this CA (PEM). Throws KubeError; a lost race is left to the next pass. Without `leads` only what is
   * incomplete is written: two replicas that are reached at different addresses, serve different webhooks or have
   * different CAs would undo each other's writes without end.
   */
  apply(caCert: string, options: { leads: boolean }): Promise<void>;
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
    async apply(caCert, { leads }) {
      const pass = { ...options, caBundle: base64(caCert), leads };
      for (const { resource, ours } of configurations) await applyConfiguration(pass, resource, ours);
      for (const kind of options.kinds) await applyConversion(pass, kind);
    },
    async check(caCert) {
      const caBundle = base64(caCert);
      for (const { resource, ours } of configurations) {
        const name = ours.metadata.name ?? "";
        const live = await options.client.get(resource, { name });
        const webhooks = (live.webhooks ?? []).filter(
          (webhook) => own(webhook, "clientConfig") !== undefined,
        );
        if (webhooks.some((webhook) => bundleOf(webhook["clientConfig"]) !== caBundle)) {
          throw new Error(`caBundle of ${resource.kind} ${name} does not match the external caBundle`);
        }
      }
      for (const kind of options.kinds) {
        const live = await options.client
          .get(definitions, { name: definitionName(kind) })
          .catch(ignoreNotFound);
        const config = live === undefined ? undefined : conversionConfig(live);
        if (config !== undefined && bundleOf(config) !== caBundle) {
          throw new Error(`caBundle of CRD ${definitionName(kind)} does not match external caBundle`);
        }
      }
    },
  };
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

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
