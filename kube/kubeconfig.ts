/** Credentials from kubeconfig files, with everything that client-node knows: certificates, tokens, plugins, OIDC. */
import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import type { Clock } from "./clock.ts";
import { isObject, listAt, objectAt, stringAt } from "./codecs/json_values.ts";
import { errorText } from "./core/errors.ts";
import type { Access, Credentials, TlsMaterial } from "./credentials_types.ts";
import { KubeError } from "./errors.ts";
import { type ImpersonationHeaders, impersonationOf } from "./impersonation.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { rereading } from "./rereading.ts";
import { parseYaml } from "./yaml.ts";

export interface KubeconfigSource {
  /** Merged; of two entries with one name the first file's counts. */
  files: readonly string[];
  context: string | undefined;
  env: Environment;
  clock: Clock;
}

/** A plugin that asks a person would hang a service for ever. */
const pluginTimeoutMs = 60_000;

export async function kubeconfigCredentials(source: KubeconfigSource): Promise<Credentials> {
  let loaded = await loadFiles(source);
  const { config } = loaded;
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace || "default";
  return rereading(source.clock, namespace, async (refused) => {
    // Plugins keep their tokens inside the config object; files are read again by loading it again.
    if (refused || !usesPlugin(loaded.config)) loaded = await loadFiles(source);
    return accessOf(loaded, source);
  });
}

interface Loaded {
  config: KubeConfig;
  /** By user. */
  impersonation: Map<string, ImpersonationHeaders>;
}

async function loadFiles(source: KubeconfigSource): Promise<Loaded> {
  const [first, ...others] = source.files;
  if (first === undefined) throw new KubeError("Config", "KUBECONFIG names no file");
  let config: KubeConfig;
  let impersonation: Map<string, ImpersonationHeaders>;
  try {
    ({ config, impersonation } = await loadFile(first));
    for (const file of others) {
      const other = await loadFile(file);
      for (const user of other.config.users) {
        const theirs = other.impersonation.get(user.name);
        const isNew = !config.users.some(({ name }) => name === user.name);
        if (isNew && theirs !== undefined) impersonation.set(user.name, theirs);
      }
      mergeInto(config, other.config);
    }
  } catch (cause) {
    throw unusable(source, whyUnreadable(cause), cause);
  }
  if (source.context !== undefined) config.setCurrentContext(source.context);
  const name = config.getCurrentContext();
  if (!name || !config.getContextObject(name)) {
    const known = config.getContexts().map((context) => context.name);
    throw unusable(source, `no context "${name ?? ""}"; there are: ${known.join(", ") || "none"}`);
  }
  if (!config.getCurrentCluster()) throw unusable(source, `the cluster of context "${name}" is missing`);
  return { config, impersonation };
}

/** In one line: parsers draw what they stumble over. */
function whyUnreadable(cause: unknown): string {
  const isMissing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
  return isMissing ? "there is no such file" : (errorText(cause).split("\n")[0] ?? "");
}

function unusable({ files }: KubeconfigSource, why: string, cause?: unknown): KubeError {
  return new KubeError("Config", `kubeconfig ${files.join(", ")}: ${why}`, { cause });
}

async function loadFile(file: string): Promise<Loaded> {
  const text = await readFile(file, "utf8");
  const config = new KubeConfig();
  config.loadFromString(text.includes("tokenFile") ? await withTokens(text, dirname(file)) : text);
  config.makePathsAbsolute(dirname(file));
  return { config, impersonation: await impersonationIn(text) };
}

async function impersonationIn(text: string): Promise<Map<string, ImpersonationHeaders>> {
  if (!/\bas-(uid|groups|user-extra)\b/.test(text)) return new Map();
  return impersonationOf(await parseYaml(text));
}

/** Puts the content of each user's `tokenFile` in its place: client-node knows another spelling only. */
async function withTokens(text: string, folder: string): Promise<string> {
  const content = await parseYaml(text);
  if (!isObject(content)) return text;
  const users = await Promise.all(
    listAt(content, "users").map(async (entry) => {
      const user = objectAt(entry, "user");
      const tokenFile = stringAt(user, "tokenFile");
      if (tokenFile === "") return entry;
      const token = (await readFile(resolve(folder, tokenFile), "utf8")).trim();
      return { ...entry, user: { ...user, token } };
    }),
  );
  return JSON.stringify({ ...content, users });
}

/** client-node's own merge refuses duplicates, which kubectl allows. */
function mergeInto(config: KubeConfig, other: KubeConfig): void {
  const lacks = (held: readonly { name: string }[]) => (each: { name: string }) =>
    !held.some((entry) => entry.name === each.name);
  config.clusters = [...config.clusters, ...other.clusters.filter(lacks(config.clusters))];
  config.users = [...config.users, ...other.users.filter(lacks(config.users))];
  config.contexts = [...config.contexts, ...other.contexts.filter(lacks(config.contexts))];
  config.currentContext ||= other.currentContext;
}

function usesPlugin(config: KubeConfig): boolean {
  const user = config.getCurrentUser();
  return Boolean(user?.exec || user?.authProvider);
}

async function accessOf({ config, impersonation }: Loaded, source: KubeconfigSource): Promise<Access> {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new KubeError("Config", "the context's cluster is missing");
  const { server } = cluster;
  const options: RequestOptions = {};
  if (server.startsWith("http:")) {
    // Without TLS there is nothing to verify; client-node wants to hear that it is meant.
    config.clusters = config.clusters.map((each) =>
      each.name === cluster.name ? { ...each, skipTLSVerify: true } : each,
    );
  }
  tellPlugin(config);
  await withTimeout(source.clock, config.applyToHTTPSOptions(options));
  const proxy = cluster.proxyUrl || proxyFor(new URL(server), source.env);
  const tls = tlsOf(options);
  return {
    server: server.replace(/\/+$/, ""),
    headers: { ...headersOf(options), ...impersonation.get(config.getCurrentUser()?.name ?? "") },
    tls,
    proxy,
    connection: JSON.stringify([server, tls, proxy]),
  };
}

/** Plugins ask KUBERNETES_EXEC_INFO which version to answer in and whether somebody is there to type. */
function tellPlugin(config: KubeConfig): void {
  const exec: unknown = config.getCurrentUser()?.exec;
  if (typeof exec !== "object" || exec === null) return;
  const settings: { apiVersion?: unknown; env?: unknown } = exec;
  const env: unknown[] = Array.isArray(settings.env) ? settings.env : [];
  const reported = env.some(
    (entry) =>
      typeof entry === "object" && entry !== null && "name" in entry && entry.name === "KUBERNETES_EXEC_INFO",
  );
  if (reported) return;
  const info = { apiVersion: settings.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  settings.env = [...env, { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }];
}

async function withTimeout(clock: Clock, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  const late = clock.sleep(pluginTimeoutMs, over.signal).then(
    () => {
      const message = `the kubeconfig's credential plugin did not answer within ${pluginTimeoutMs} ms`;
      throw new KubeError("Config", message);
    },
    () => undefined,
  );
  try {
    await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === "string") headers[name.toLowerCase()] = value.trim();
  }
  if (options.auth) headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return headers;
}

function tlsOf(options: RequestOptions): TlsMaterial {
  return {
    ca: pem(options.ca),
    cert: pem(options.cert),
    key: pem(options.key),
    passphrase: options.passphrase,
    serverName: options.servername,
    insecure: options.rejectUnauthorized === false,
  };
}

function pem(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : undefined;
}
