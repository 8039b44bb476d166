/** Where the certificates of all replicas come from. Spec: platform 4.2. */
import {
  type Client,
  ignoreNotFound,
  isKubeError,
  jsonResource,
  type KubeObject,
} from "../../../../kube/index.ts";
import { type CertificateSet, certificateProblem, type ServingNames } from "./certificate_set.ts";
import {
  certificateFiles,
  certificateSetOf,
  readCertificateDirectory,
  writeCertificateDirectory,
} from "./directory.ts";

export interface CertificateStore {
  /** A set that can be served, made or renewed if need be; throws KubeError or an Error that says what is missing. */
  ensure(now: number): Promise<CertificateSet>;
}

export type Generate = (
  names: ServingNames,
  now: number,
  previous?: CertificateSet,
) => Promise<CertificateSet>;

export interface Secret extends KubeObject {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
}

export const secrets = jsonResource<Secret>({
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
});

interface SecretStoreOptions {
  client: Client;
  namespace: string;
  name: string;
  names: ServingNames;
  renewBeforeMs: number;
  generate: Generate;
}

/**
 * One Secret that all replicas share. Whoever comes first creates or renews it, under a precondition; the others lose
 * that race and read what the first wrote.
 */
export function secretStore(options: SecretStoreOptions): CertificateStore {
  const { client, namespace, name, names, renewBeforeMs, generate } = options;
  const ref = { namespace, name };
  return {
    async ensure(now) {
      for (let attempt = 0; attempt < 5; attempt++) {
        const secret = await client.get(secrets, ref).catch(ignoreNotFound);
        const stored = secret === undefined ? undefined : setOf(secret);
        if (stored !== undefined && certificateProblem(stored, names, now, renewBeforeMs) === undefined)
          return stored;
        const made = await generate(names, now, stored);
        const metadata = {
          name,
          namespace,
          ...(secret ? { resourceVersion: secret.metadata.resourceVersion ?? "" } : {}),
        };
        const type = secret?.type === undefined ? {} : { type: secret.type };
        const body = {
          apiVersion: "v1",
          kind: "Secret",
          metadata,
          ...type,
          data: encoded(certificateFiles(made)),
        };
        try {
          await (secret === undefined
            ? client.create(secrets, namespace, body)
            : client.replace(secrets, ref, body));
          return made;
        } catch (error) {
          if (!isKubeError(error, "AlreadyExists", "Conflict", "NotFound")) throw error;
        }
      }
      throw new Error(`secret ${namespace}/${name} changes all the time; gave up after 5 attempts`);
    },
  };
}

/** Only the directory: for development outside a cluster. */
export function directoryStore(options: {
  directory: string;
  names: ServingNames;
  renewBeforeMs: number;
  generate: Generate;
}): CertificateStore {
  return {
    async ensure(now) {
      const stored = await readCertificateDirectory(options.directory);
      if (
        stored !== undefined &&
        certificateProblem(stored, options.names, now, options.renewBeforeMs) === undefined
      ) {
        return stored;
      }
      const made = await options.generate(options.names, now, stored);
      await writeCertificateDirectory(options.directory, made, String(now));
      return made;
    },
  };
}

/** Certificates that somebody else keeps in the Secret, such as cert-manager; only read. */
export function externalStore(options: {
  client: Client;
  namespace: string;
  name: string;
  names: ServingNames;
}): CertificateStore {
  return {
    async ensure(now) {
      const { client, namespace, name, names } = options;
      const secret = await client.get(secrets, { namespace, name });
      const read = (key: string) => decoded(secret.data?.[key]);
      const set = {
        caCert: read("ca.crt"),
        caKey: read("ca.key"),
        cert: read("tls.crt"),
        key: read("tls.key"),
      };
      const problem = certificateProblem(set, names, now, 0);
      if (problem !== undefined)
        throw new Error(`external certificates in secret ${namespace}/${name}: ${problem}`);
      return set;
    },
  };
}

function setOf(secret: Secret): CertificateSet {
  return certificateSetOf((name) =>
    secret.data?.[name] === undefined ? undefined : decoded(secret.data[name]),
  );
}

function decoded(text: string | undefined): string {
  return Buffer.from(text ?? "", "base64").toString("utf8");
}

function encoded(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
}
