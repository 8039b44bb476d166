/** How the cluster calls webhooks and conversion. */
import assert from "node:assert/strict";
import { at, textAt, textsAt } from "../../../cli/index.ts";
import { configurationNames, entriesOf } from "../../cases/trusted_authorities.ts";
import { type Api, isRecord } from "../../cluster/api.ts";

type ClientConfig = Record<string, unknown>;

/**
 * Changes how webhooks and conversion are called, of those that ask for the authority of a certificate (NAMESPACE/NAME) when one is
 * named. `path` is that of the webhook.
 */
export async function changeClientConfigs(
  api: Api,
  change: (config: ClientConfig, path: string) => ClientConfig,
  certificate?: string,
): Promise<void> {
  const isMeant = (object: unknown) =>
    certificate === undefined ||
    textsAt(object, "metadata", "annotations")["cert-manager.io/inject-ca-from"] === certificate;
  const changed = (entry: unknown) => {
    const config = at(entry, "clientConfig");
    assert.ok(isRecord(config));
    const { url, service } = config;
    const path = url === undefined ? textAt(service, "path") : new URL(String(url)).pathname;
    return change(config, path ?? "");
  };
  for (const [resource, configuration] of Object.entries(configurationNames)) {
    const live = await api.get(resource, configuration);
    if (!isMeant(live)) continue;
    const webhooks = entriesOf(live).map((entry) => ({ ...entry, clientConfig: changed(entry) }));
    await api.patch(resource, configuration, undefined, "merge", { webhooks });
  }
  for (const live of await api.list("customresourcedefinitions")) {
    const webhook = at(live, "spec", "conversion", "webhook");
    if (webhook === undefined || !isMeant(live)) continue;
    const body = { spec: { conversion: { webhook: { clientConfig: changed(webhook) } } } };
    await api.patch("customresourcedefinitions", live.metadata.name, undefined, "merge", body);
  }
}
