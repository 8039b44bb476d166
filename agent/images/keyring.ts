/** Where logins come from: named secrets first, then the node's own Docker files and plugins. Spec: images 7.9, 7.10. */
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { type Clock, isKubeError, type Log } from "../../kube/index.ts";
import { messageOf } from "../errors.ts";
import type { PluginKeyring } from "./credential_plugins.ts";
import { type Login, matchingLogins, parseDockerConfig, type RegistryLogin } from "./docker_config.ts";
import type { SecretRef } from "./puller.ts";

export interface Secret {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

export interface KeyringDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** Throws KubeError. */
  readonly readSecret: (namespace: string, name: string, signal: AbortSignal) => Promise<Secret>;
  readonly plugins: PluginKeyring;
  /** Docker config files of the node; absent ones are skipped. */
  readonly files: readonly string[];
}

const secretKeys: Readonly<Record<string, string>> = {
  "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
  "kubernetes.io/dockercfg": ".dockercfg",
};
const secretKeepMs = 60_000;
const fileKeepMs = 300_000;

export interface Keyring {
  logins(secrets: readonly SecretRef[], repository: string, signal: AbortSignal): Promise<Login[]>;
}

export function createKeyring(dependencies: KeyringDependencies): Keyring {
  const { clock, log } = dependencies;
  const secrets = new Map<string, { logins: readonly RegistryLogin[]; until: number }>();
  let files: { logins: readonly RegistryLogin[]; until: number } | undefined;

  /** Missing, forbidden and foreign secrets are skipped; a malformed one fails the pull (spec agent 7.1). */
  async function fromSecret(ref: SecretRef, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const { namespace = "", name = "" } = ref;
    const key = `${namespace}/${name}`;
    const kept = secrets.get(key);
    if (kept && kept.until > clock.monotonic()) return kept.logins;
    let secret: Secret;
    try {
      secret = await dependencies.readSecret(namespace, name, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (kept && !isKubeError(error, "NotFound", "Forbidden")) return kept.logins;
      log.warn("a pull secret cannot be read, the pull goes on without it", {
        pullSecret: key,
        error: messageOf(error),
      });
      return [];
    }
    const dataKey = secretKeys[secret.type ?? ""];
    const data = dataKey === undefined ? undefined : secret.data?.[dataKey];
    if (data === undefined) {
      log.warn("a pull secret has no Docker credentials", { pullSecret: key, type: secret.type });
      return [];
    }
    const logins = parseDockerConfig(Buffer.from(data, "base64").toString("utf8"), `secret ${key}`);
    secrets.set(key, { logins, until: clock.monotonic() + secretKeepMs });
    return logins;
  }

  async function fromFiles(): Promise<readonly RegistryLogin[]> {
    if (files && files.until > clock.monotonic()) return files.logins;
    const found = await Promise.all(dependencies.files.map((path) => fileLogins(path, log)));
    files = { logins: found.flat(), until: clock.monotonic() + fileKeepMs };
    return files.logins;
  }

  return {
    async logins(refs, repository, signal) {
      const named = await Promise.all(refs.map((ref) => fromSecret(ref, signal)));
      const ofNode = await fromFiles();
      const ofPlugins = await dependencies.plugins.logins(repository, signal);
      const all = [
        ...matchingLogins(named.flat(), repository),
        ...matchingLogins(ofNode, repository),
        ...ofPlugins,
      ];
      return all.filter((login, index) => all.findIndex((other) => sameLogin(login, other)) === index);
    },
  };
}

function sameLogin(a: Login, b: Login): boolean {
  return (
    a.username === b.username &&
    a.password === b.password &&
    a.identityToken === b.identityToken &&
    a.registryToken === b.registryToken
  );
}

async function fileLogins(path: string, log: Log): Promise<RegistryLogin[]> {
  try {
    return parseDockerConfig(await readFile(path, "utf8"), path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ENOENT" && code !== "ENOTDIR") {
      log.debug("a Docker config file is not used", { path, error: messageOf(error) });
    }
    return [];
  }
}
