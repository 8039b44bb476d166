/** The kubelet's exec credential provider plugins: configuration, request and answer. Spec: images 7.11. */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { access, constants, readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { type Clock, type Log, parseYaml } from "../../kube/index.ts";
import { AgentError, messageOf } from "../errors.ts";
import {
  type Login,
  matchingLogins,
  patternMatches,
  type RegistryLogin,
  registryPattern,
} from "./docker_config.ts";
import { LoginCache } from "./login_cache.ts";

export interface CredentialProvider {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly cacheMs: number;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface PluginSettings {
  readonly configFile: string;
  readonly binaryFolder: string;
}

/** Runs one plugin: request on stdin, answer on stdout. Throws when it fails or takes longer than a minute. */
export type RunPlugin = (
  path: string,
  provider: CredentialProvider,
  request: string,
  signal: AbortSignal,
) => Promise<string>;

type JsonObject = Record<string, unknown>;
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

const configVersions = ["v1", "v1beta1", "v1alpha1"].map((version) => `kubelet.config.k8s.io/${version}`);
const answerVersions = ["v1", "v1beta1", "v1alpha1"].map(
  (version) => `credentialprovider.kubelet.k8s.io/${version}`,
);

/** A `CredentialProviderConfig` that was read from YAML or JSON. Throws AgentError `Config`. */
export function parseProviderConfig(config: unknown, source: string): CredentialProvider[] {
  if (!isObject(config) || config["kind"] !== "CredentialProviderConfig") {
    throw new AgentError("Config", `${source} is not a CredentialProviderConfig`);
  }
  const version = String(config["apiVersion"]);
  if (!configVersions.includes(version)) {
    throw new AgentError(
      "Config",
      `${source}: apiVersion ${version} is not one of ${configVersions.join(", ")}`,
    );
  }
  const providers = Array.isArray(config["providers"]) ? config["providers"] : [];
  return providers.map((provider, index) => parseProvider(provider, `${source}: providers[${index}]`));
}

function parseProvider(provider: unknown, source: string): CredentialProvider {
  if (!isObject(provider)) throw new AgentError("Config", `${source} is not an object`);
  const name = provider["name"];
  if (typeof name !== "string" || !/^[\w.-]+$/.test(name) || name === "." || name === "..") {
    throw new AgentError(
      "Config",
      `${source}.name: ${JSON.stringify(name)} is not the name of an executable`,
    );
  }
  const apiVersion = String(provider["apiVersion"]);
  if (!answerVersions.includes(apiVersion)) {
    throw new AgentError(
      "Config",
      `${source}.apiVersion: ${apiVersion} is not one of ${answerVersions.join(", ")}`,
    );
  }
  const env: Record<string, string> = {};
  for (const one of Array.isArray(provider["env"]) ? provider["env"] : []) {
    if (isObject(one) && typeof one["name"] === "string") env[one["name"]] = String(one["value"] ?? "");
  }
  const matchImages = texts(provider["matchImages"]);
  const cacheMs = durationMs(provider["defaultCacheDuration"], `${source}.defaultCacheDuration`);
  return { name, matchImages, cacheMs, apiVersion, args: texts(provider["args"]), env };
}

/** Go's duration text: `12h`, `1m30s`, `0s`. */
function durationMs(value: unknown, source: string): number {
  if (value === undefined || value === null || value === 0 || value === "0") return 0;
  const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  const text = String(value);
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text))
    throw new AgentError("Config", `${source}: ${text} is not a duration`);
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)) {
    sum += Number(number) * (units[unit ?? "s"] ?? 0);
  }
  return sum;
}

export interface PluginKeyring {
  /** Logins of all matching plugins; a plugin that fails gives none and is logged. `image` has no tag. */
  logins(image: string, signal: AbortSignal): Promise<Login[]>;
}

export interface PluginDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly run?: RunPlugin;
}

/** Reads the configuration once. An absent file means no plugins; a bad one is logged and means no plugins. */
export async function loadPlugins(
  settings: PluginSettings,
  dependencies: PluginDependencies,
): Promise<PluginKeyring> {
  return new Plugins(settings, dependencies, await readProviders(settings, dependencies.log));
}

async function readProviders(settings: PluginSettings, log: Log): Promise<readonly CredentialProvider[]> {
  let providers: CredentialProvider[] = [];
  try {
    const text = await readFile(settings.configFile, "utf8");
    providers = parseProviderConfig(await parseYaml(text), settings.configFile);
    for (const { name } of providers) await access(pluginPath(settings, name), constants.X_OK);
    return providers;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const absent = code === "ENOENT" && providers.length === 0;
    if (!absent) log.error("credential provider plugins are not used", { error: messageOf(error) });
    return [];
  }
}

class Plugins implements PluginKeyring {
  readonly #settings: PluginSettings;
  readonly #dependencies: PluginDependencies;
  readonly #providers: readonly CredentialProvider[];
  readonly #cache = new LoginCache();

  constructor(
    settings: PluginSettings,
    dependencies: PluginDependencies,
    providers: readonly CredentialProvider[],
  ) {
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.#providers = providers;
  }

  async logins(image: string, signal: AbortSignal): Promise<Login[]> {
    const matching = this.#providers.filter((one) =>
      one.matchImages.some((pattern) => patternMatches(pattern, image)),
    );
    const found = await Promise.all(matching.map((provider) => this.#loginsOf(provider, image, signal)));
    return matchingLogins(found.flat(), image);
  }

  async #loginsOf(
    provider: CredentialProvider,
    image: string,
    signal: AbortSignal,
  ): Promise<readonly RegistryLogin[]> {
    try {
      return this.#kept(provider, image) ?? (await this.#ask(provider, image, signal));
    } catch (error) {
      const { log } = this.#dependencies;
      log.warn("a credential provider plugin failed", { plugin: provider.name, error: messageOf(error) });
      return [];
    }
  }

  #kept({ name }: CredentialProvider, image: string): readonly RegistryLogin[] | undefined {
    const now = this.#dependencies.clock.monotonic();
    for (const key of [image, hostOf(image), ""]) {
      const kept = this.#cache.get(JSON.stringify([name, key]));
      if (kept && kept.until > now) return kept.logins;
    }
    return undefined;
  }

  async #ask(
    provider: CredentialProvider,
    image: string,
    signal: AbortSignal,
  ): Promise<readonly RegistryLogin[]> {
    const { clock, run = runPlugin } = this.#dependencies;
    const { name, apiVersion } = provider;
    const asked = clock.monotonic();
    const request = JSON.stringify({ kind: "CredentialProviderRequest", apiVersion, image });
    const text = await run(pluginPath(this.#settings, name), provider, request, signal);
    const { cacheKey, cacheMs, logins } = parseAnswer(text, provider);
    const key = cacheKey === "Image" ? image : cacheKey === "Registry" ? hostOf(image) : "";
    const keepMs = cacheMs ?? provider.cacheMs;
    if (keepMs > 0) this.#cache.set(JSON.stringify([name, key]), { logins, until: asked + keepMs });
    return logins;
  }
}

function hostOf(image: string): string {
  return image.split("/")[0] ?? image;
}

function pluginPath(settings: PluginSettings, name: string): string {
  const path = join(settings.binaryFolder, name);
  return isAbsolute(path) ? path : join(process.cwd(), path);
}

interface PluginAnswer {
  readonly cacheKey: "Image" | "Registry" | "Global";
  readonly cacheMs: number | undefined;
  readonly logins: readonly RegistryLogin[];
}

/** A `CredentialProviderResponse`. Throws AgentError `Config`; its text never holds what the plugin printed. */
export function parseAnswer(text: string, provider: CredentialProvider): PluginAnswer {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new AgentError("Config", `plugin ${provider.name} did not print JSON`);
  }
  if (!isObject(answer) || answer["kind"] !== "CredentialProviderResponse") {
    throw new AgentError("Config", `plugin ${provider.name} did not print a CredentialProviderResponse`);
  }
  if (answer["apiVersion"] !== provider.apiVersion) {
    throw new AgentError(
      "Config",
      `plugin ${provider.name} answered in another version than ${provider.apiVersion}`,
    );
  }
  const cacheKey = answer["cacheKeyType"];
  if (cacheKey !== "Image" && cacheKey !== "Registry" && cacheKey !== "Global") {
    throw new AgentError("Config", `plugin ${provider.name} named an unknown cacheKeyType`);
  }
  const cacheMs =
    answer["cacheDuration"] === undefined || answer["cacheDuration"] === null
      ? undefined
      : durationMs(answer["cacheDuration"], `plugin ${provider.name}: cacheDuration`);
  const logins: RegistryLogin[] = [];
  for (const [pattern, login] of Object.entries(isObject(answer["auth"]) ? answer["auth"] : {})) {
    if (!isObject(login)) continue;
    const { username, password } = login;
    if (typeof username === "string" && typeof password === "string") {
      logins.push({ pattern: registryPattern(pattern), login: { username, password } });
    }
  }
  return { cacheKey, cacheMs, logins };
}

const longestRunMs = 60_000;
const largestAnswer = 1024 * 1024;

const runPlugin: RunPlugin = (path, provider, request, signal) =>
  new Promise((resolve, reject) => {
    const child = spawn(path, [...provider.args], {
      env: { ...process.env, ...provider.env },
      stdio: ["pipe", "pipe", "ignore"],
      timeout: longestRunMs,
      killSignal: "SIGKILL",
      signal,
    });
    const parts: Buffer[] = [];
    let size = 0;
    child.stdout.on("data", (part: Buffer) => {
      size += part.length;
      if (size > largestAnswer) child.kill("SIGKILL");
      else parts.push(part);
    });
    child.on("error", reject);
    child.on("close", (code, signalName) => {
      if (code === 0 && size <= largestAnswer) resolve(Buffer.concat(parts).toString("utf8"));
      else reject(new Error(`it ended with ${code ?? signalName}`));
    });
    // A plugin may end without reading.
    child.stdin.on("error", () => undefined);
    child.stdin.end(request);
  });
