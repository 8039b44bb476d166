/** Who answers the chart's requests for certificates in a suite. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { textsAt } from "../../../cli/index.ts";
import { type Api, asItem } from "../../cluster/api.ts";
import { systemNamespace } from "../installation.ts";

/** Of the Certificate of the webhooks and of its Secret. */
export const certificateName = "kruise-webhook-certs";
export const issued = {
  certificates: "certificates.v1.cert-manager.io",
  issuers: "issuers.v1.cert-manager.io",
};

export interface Issuer {
  readonly definitions: readonly Definition[];
  /** Resolves when the Secret holds a certificate that it did not hold before; the first, or a renewal. */
  issue(): Promise<void>;
  /** Resolves when all that asks for the certificate's authority has it. */
  inject(): Promise<void>;
  stop(): Promise<void>;
}

export type Definition = object & { readonly metadata: { readonly name: string } };

/** The files of the webhooks' Secret as text; undefined before there is one. */
export async function secretFiles(api: Api): Promise<Record<string, string> | undefined> {
  const secret = await api.find("secrets", certificateName, systemNamespace);
  if (secret === undefined) return undefined;
  const files = Object.entries(textsAt(secret, "data"));
  return Object.fromEntries(files.map(([file, data]) => [file, Buffer.from(data, "base64").toString()]));
}

/** Of a folder that holds one in each YAML file. */
export function readDefinitions(folder: string): Definition[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
  return files.map((file) => asItem(parse(readFileSync(join(folder, file), "utf8"))));
}
