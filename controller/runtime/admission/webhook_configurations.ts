/** The two webhook configurations: as an installation renders them, and as a running program keeps them. Spec: platform 4.3, 4.4. */
import { isJsonObject, type JsonObject, jsonEqual, own } from "../../../kube/core/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Webhook } from "./webhook.ts";

export const mutatingConfigurationName = "kruise-mutating-webhook-configuration";
export const validatingConfigurationName = "kruise-validating-webhook-configuration";

/** Holds the wanted `webhooks` list as JSON; the live list is made from it. Empty: the live list becomes the wanted one. */
export const templateAnnotation = "template";

/** Marks configurations that this program created, which therefore may get entries that it learns later. */
const managedByLabel = "app.kubernetes.io/managed-by";
const managedBy = "refit";

/** Where the API server reaches the webhooks: a Service, or, for development, a host. */
export interface WebhookTarget {
  readonly namespace: string;
  readonly service: string;
  /** `WEBHOOK_HOST`; when set, webhooks are called at `https://<host>:<port>`. */
  readonly host?: string;
  /** `WEBHOOK_PORT`, only for a host. */
  readonly port?: number;
}

interface WebhookConfigurationOptions extends WebhookTarget {
  webhooks: readonly Webhook[];
  /** Base64 PEM; filled in by the running program when absent. */
  caBundle?: string;
}

export interface WebhookConfiguration extends KubeObject {
  webhooks?: JsonObject[];
}

/** Both configurations as they are installed, with an empty template that the running program fills. */
export function webhookConfigurations(options: WebhookConfigurationOptions): {
  mutating: WebhookConfiguration;
  validating: WebhookConfiguration;
} {
  const configuration = (kind: string, name: string, phase: Webhook["phase"]): WebhookConfiguration => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name, annotations: { [templateAnnotation]: "" } },
    webhooks: options.webhooks.filter((each) => each.phase === phase).map((each) => webhook(each, options)),
  });
  return {
    mutating: configuration("MutatingWebhookConfiguration", mutatingConfigurationName, "mutating"),
    validating: configuration("ValidatingWebhookConfiguration", validatingConfigurationName, "validating"),
  };
}

function webhook(entry: Webhook, options: WebhookConfigurationOptions): JsonObject {
  return {
    name: entry.name,
    admissionReviewVersions: ["v1", "v1beta1"],
    clientConfig: clientConfig(options, entry.path, options.caBundle),
    failurePolicy: entry.failurePolicy,
    sideEffects: "None",
    // The reference waits for 30 s.
    timeoutSeconds: 10,
    ...(entry.namespaceSelector
      ? { namespaceSelector: { ...entry.namespaceSelector(options.namespace) } }
      : {}),
    ...(entry.objectSelector ? { objectSelector: { ...entry.objectSelector } } : {}),
    ...(entry.matchConditions
      ? { matchConditions: entry.matchConditions.map((condition) => ({ ...condition })) }
      : {}),
    rules: entry.rules.map((rule) => ({ ...rule })),
  };
}

/** How the API server reaches one path; also for the conversion of custom resources. */
export function clientConfig(target: WebhookTarget, path: string, caBundle: string | undefined): JsonObject {
  const trust = caBundle === undefined ? {} : { caBundle };
  if (target.host) return { url: `https://${urlHost(target.host)}:${target.port ?? 9876}${path}`, ...trust };
  return { service: { namespace: target.namespace, name: target.service, path, port: 443 }, ...trust };
}

function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

interface WantedConfiguration {
  /** Value of the annotation. */
  readonly template: string;
  readonly webhooks: JsonObject[];
  /** Whether the live object is like that already. */
  readonly settled: boolean;
}

/**
 * What the live configuration should be: the entries of its template whose path has a live handler, called at our
 * target with our CA. An unreadable template is replaced by the live list.
 */
export function wantedConfiguration(
  live: WebhookConfiguration,
  ours: WebhookConfiguration,
  livePaths: ReadonlySet<string>,
  target: WebhookTarget,
  caBundle: string,
): WantedConfiguration {
  const present = live.webhooks ?? [];
  const annotation = live.metadata.annotations?.[templateAnnotation] ?? "";
  const templated = parseTemplate(annotation) ?? present;
  const added =
    live.metadata.labels?.[managedByLabel] === managedBy
      ? (ours.webhooks ?? []).filter((entry) => !templated.some((known) => known["name"] === entry["name"]))
      : [];
  const entries = [...templated, ...added];
  const keep = annotation !== "" && parseTemplate(annotation) !== undefined && added.length === 0;
  const template = keep ? annotation : JSON.stringify(entries.map(withoutTrust));
  const webhooks = entries.flatMap((entry) => {
    const path = pathOf(entry);
    return path !== undefined && livePaths.has(path)
      ? [{ ...entry, clientConfig: clientConfig(target, path, caBundle) }]
      : [];
  });
  const settled =
    template === annotation && jsonEqual(webhooks.map(withServerDefaults), present.map(withServerDefaults));
  return { template, webhooks, settled };
}

/** The configuration to create where there is none. */
export function newConfiguration(
  ours: WebhookConfiguration,
  livePaths: ReadonlySet<string>,
  target: WebhookTarget,
  caBundle: string,
): WebhookConfiguration {
  const bare = { ...ours, metadata: { ...ours.metadata, labels: { [managedByLabel]: managedBy } } };
  const { template, webhooks } = wantedConfiguration(bare, ours, livePaths, target, caBundle);
  return {
    ...bare,
    metadata: { ...bare.metadata, annotations: { [templateAnnotation]: template } },
    webhooks,
  };
}

function parseTemplate(annotation: string): JsonObject[] | undefined {
  if (annotation === "") return undefined;
  try {
    const parsed: unknown = JSON.parse(annotation);
    return Array.isArray(parsed) && parsed.every(isJsonObject) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** The path a webhook is called at. */
export function pathOf(webhook: JsonObject): string | undefined {
  const config = own(webhook, "clientConfig");
  if (!isJsonObject(config)) return undefined;
  const { url, service } = config;
  if (typeof url === "string" && URL.canParse(url)) return new URL(url).pathname;
  const path = isJsonObject(service) ? service["path"] : undefined;
  return typeof path === "string" ? path : undefined;
}

function withoutTrust(webhook: JsonObject): JsonObject {
  const config = own(webhook, "clientConfig");
  if (!isJsonObject(config)) return webhook;
  const { caBundle: _, ...rest } = config;
  return { ...webhook, clientConfig: rest };
}

/** As the API server completes an entry, so that a template without defaults compares equal. */
function withServerDefaults(webhook: JsonObject): JsonObject {
  const rules = own(webhook, "rules");
  return {
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    failurePolicy: "Fail",
    ...webhook,
    rules: Array.isArray(rules)
      ? rules.map((rule) => (isJsonObject(rule) ? { scope: "*", ...rule } : rule))
      : [],
    clientConfig: withPort(own(webhook, "clientConfig")),
    reinvocationPolicy: own(webhook, "reinvocationPolicy") ?? "Never",
  };
}

function withPort(config: unknown): unknown {
  if (!isJsonObject(config) || !isJsonObject(config["service"])) return config;
  return { ...config, service: { port: 443, ...config["service"] } };
}
