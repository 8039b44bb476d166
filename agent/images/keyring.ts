/** Where logins come from: named secrets first, then the node's own Docker files and plugins. Spec: images 7.9, 7.10. */
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { type Clock, isKubeError, type Log } from "../../kube/index.ts";
import type { SecretRef } from "../../node/index.ts";
import { messageOf } from "../errors.ts";
import type { PluginKeyring } from "./credential_plugins.ts";
import { type Login, matchingLogins, parseDockerConfig, type RegistryLogin } from "./docker_config.ts";
import { type KeptLogins, LoginCache } from "./login_cache.ts";

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

export class Keyring {
  readonly #dependencies: KeyringDependencies;
  /** By `namespace/name`. */
  readonly #secrets = new LoginCache();
  #files: KeptLogins | undefined;

  constructor(dependencies: KeyringDependencies) {
    this.#dependencies = dependencies;
  }

  async logins(refs: readonly SecretRef[], repository: string, signal: AbortSignal): Promise<Login[]> {
    const named = await Promise.all(refs.map((ref) => this.#fromSecret(ref, signal)));
    const ofNode = await this.#fromFiles();
    const ofPlugins = await this.#dependencies.plugins.logins(repository, signal);
    const all = [
      ...matchingLogins(named.flat(), repository),
      ...matchingLogins(ofNode, repository),
      ...ofPlugins,
    ];
    return all.filter((login, index) => all.findIndex((other) => sameLogin(login, other)) === index);
  }

  /** Missing, forbidden and foreign secrets are skipped; a malformed one fails the pull (spec agent 7.1). */
  async #fromSecret(ref: SecretRef, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const { clock, log, readSecret } = this.#dependencies;
    const { namespace = "", name = "" } = ref;
    const pullSecret = `${namespace}/${name}`;
    const kept = this.#secrets.get(pullSecret);
    if (kept && kept.until > clock.monotonic()) return kept.logins;
    let secret: Secret;
    try {
      secret = await readSecret(namespace, name, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (kept && !isKubeError(error, "NotFound", "Forbidden")) return kept.logins;
      this.#secrets.delete(pullSecret);
      const text = "a pull secret cannot be read, the pull goes on without it";
      log.warn(text, { pullSecret, error: messageOf(error) });
      return [];
    }
    const data = dockerConfigOf(secret);
    if (data === undefined) {
      log.warn("a pull secret has no Docker credentials", { pullSecret, type: secret.type });
      return [];
    }
    const logins = parseDockerConfig(Buffer.from(data, "base64").toString("utf8"), `secret ${pullSecret}`);
    this.#secrets.set(pullSecret, { logins, until: clock.monotonic() + secretKeepMs });
    return logins;
  }

  async #fromFiles(): Promise<readonly RegistryLogin[]> {
    const { clock, files, log } = this.#dependencies;
    if (this.#files && this.#files.until > clock.monotonic()) return this.#files.logins;
    const found = await Promise.all(files.map((path) => fileLogins(path, log)));
    this.#files = { logins: found.flat(), until: clock.monotonic() + fileKeepMs };
    return this.#files.logins;
  }
}

/** Base64, or undefined where the secret is of another type or empty. */
function dockerConfigOf({ type = "", data }: Secret): string | undefined {
  const key = secretKeys[type];
  return key === undefined ? undefined : data?.[key];
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
