import assert from "node:assert/strict";
import { at, listAt, textAt } from "../../../cli/index.ts";
import { generateCertificates } from "../../../controller/index.ts";
import type { Api } from "../../cluster/api.ts";
import { systemNamespace } from "../installation.ts";
import { changeClientConfigs } from "./client_configs.ts";
import { certificateName, type Issuer, issued, secretFiles } from "./issuer.ts";

/** Does what cert-manager and its injector do, by hand, as far as the chart asks for it. */
export class StandIn implements Issuer {
  readonly #api: Api;
  #set: Awaited<ReturnType<typeof generateCertificates>> | undefined;

  constructor(api: Api) {
    this.#api = api;
  }

  /** As far as anybody looks at them here. */
  readonly definitions = ["Certificate", "Issuer"].map((kind) => {
    const plural = `${kind.toLowerCase()}s`;
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.cert-manager.io` },
      spec: {
        group: "cert-manager.io",
        scope: "Namespaced",
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
  });

  /** A new certificate of the same authority, into the Secret that is asked for. */
  async issue(): Promise<void> {
    const certificate = await this.#api.get(issued.certificates, certificateName, systemNamespace);
    await this.#expectAuthority(textAt(certificate, "spec", "issuerRef", "name") ?? "");
    assert.equal(textAt(certificate, "spec", "secretName"), certificateName);
    const dns = listAt(certificate, "spec", "dnsNames").map(String);
    this.#set = await generateCertificates({ dns, ip: [] }, Date.now(), this.#set);
    const { caCert, cert, key } = this.#set;
    const texts = { "ca.crt": caCert, "tls.crt": cert, "tls.key": key };
    const data = Object.fromEntries(
      Object.entries(texts).map(([file, text]) => [file, Buffer.from(text).toString("base64")]),
    );
    if ((await secretFiles(this.#api)) !== undefined) {
      await this.#api.patch("secrets", certificateName, systemNamespace, "merge", { data });
      return;
    }
    const metadata = { name: certificateName };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data };
    await this.#api.create(secret, systemNamespace);
  }

  /** The issuer has a key of its own, of a certificate that may sign. */
  async #expectAuthority(issuer: string): Promise<void> {
    const { spec } = await this.#api.get(issued.issuers, issuer, systemNamespace);
    const authority = await this.#api.get(issued.certificates, issuer, systemNamespace);
    assert.equal(textAt(spec, "ca", "secretName"), textAt(authority, "spec", "secretName"));
    assert.equal(at(authority, "spec", "isCA"), true);
  }

  async inject(): Promise<void> {
    const caBundle = Buffer.from(this.#set?.caCert ?? "").toString("base64");
    const certificate = `${systemNamespace}/${certificateName}`;
    await changeClientConfigs(this.#api, (config) => ({ ...config, caBundle }), certificate);
  }

  async stop(): Promise<void> {}
}
