/** Which authorities the cluster is told to trust for webhooks and conversion. */
import { definitionName, kinds } from "../../crds/index.ts";
import { type Api, type Item, isRecord } from "../cluster/api.ts";

const webhookKinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] as const;
export const configurationNames = {
  mutatingwebhookconfigurations: "kruise-mutating-webhook-configuration",
  validatingwebhookconfigurations: "kruise-validating-webhook-configuration",
} as const;

/** The bundle (base64 PEM) of each webhook and each definition that is converted, by name. */
export async function bundlesOf(api: Api): Promise<[string, string][]> {
  const bundles: [string, string][] = [];
  for (const kind of webhookKinds) {
    const configuration = await api.get(kind, configurationNames[kind]);
    for (const entry of entriesOf(configuration)) bundles.push([String(entry["name"]), bundleOf(entry)]);
  }
  for (const kind of kinds) {
    const definition = await api.get("customresourcedefinitions", definitionName(kind));
    const conversion = definition.spec?.["conversion"];
    if (!isRecord(conversion) || conversion["strategy"] !== "Webhook" || !isRecord(conversion["webhook"]))
      continue;
    bundles.push([definition.metadata.name, bundleOf(conversion["webhook"])]);
  }
  return bundles;
}

export function entriesOf(configuration: Item): Record<string, unknown>[] {
  const entries = configuration["webhooks"];
  return Array.isArray(entries) ? entries.filter(isRecord) : [];
}

function bundleOf(entry: Record<string, unknown>): string {
  const config = entry["clientConfig"];
  return isRecord(config) ? String(config["caBundle"] ?? "") : "";
}
