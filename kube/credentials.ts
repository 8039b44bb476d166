/**
 * Credentials from the pod's service account or from a kubeconfig.
 * The service account is four small files and is read here; a kubeconfig goes through @kubernetes/client-node, which
 * is loaded only then: importing it costs a process 80 MB unbundled, 12 MB as a bundle leaves it.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Credentials } from "./credentials_types.ts";
import { KubeError } from "./errors.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { rereading } from "./rereading.ts";

const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface CredentialSources {
  /** Path of `--kubeconfig`; wins over everything else. */
  kubeconfig?: string | undefined;
  /** Context of the kubeconfig; default: its current one. */
  context?: string | undefined;
  env: Environment;
  clock: Clock;
  /** Default: where the kubelet mounts it. */
  serviceAccountFolder?: string;
}

/**
 * In this order: `kubeconfig`, $KUBECONFIG, the service account of the pod, ~/.kube/config.
 * Throws KubeError `Config` that says what was looked for.
 */
export async function loadCredentials(sources: CredentialSources): Promise<Credentials> {
  const { env, clock, context } = sources;
  const folder = sources.serviceAccountFolder ?? serviceAccountFolder;
  const explicit = sources.kubeconfig || env["KUBECONFIG"];
  const load = async (files: readonly string[]): Promise<Credentials> => {
    const { kubeconfigCredentials } = await import("./kubeconfig.ts");
    return kubeconfigCredentials({ files, context, env, clock });
  };
  if (explicit) {
    const files = sources.kubeconfig ? [explicit] : explicit.split(delimiter).filter((file) => file !== "");
    return load(files);
  }
  if (env["KUBERNETES_SERVICE_HOST"] && (await exists(join(folder, "token")))) {
    return inClusterCredentials(env, folder, clock);
  }
  const usual = join(env["HOME"] || homedir(), ".kube", "config");
  if (await exists(usual)) return load([usual]);
  throw new KubeError(
    "Config",
    `no credentials for an API server: no --kubeconfig, no KUBECONFIG, no service account (KUBERNETES_SERVICE_HOST and ${join(folder, "token")}), no ${usual}`,
  );
}

async function inClusterCredentials(env: Environment, folder: string, clock: Clock): Promise<Credentials> {
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${env["KUBERNETES_SERVICE_PORT"] || "443"}`;
  const proxy = proxyFor(new URL(server), env);
  const namespace = (await exists(join(folder, "namespace")))
    ? await readText(join(folder, "namespace"))
    : "default";
  return rereading(clock, namespace, async () => {
    const [token, ca] = await Promise.all([
      readText(join(folder, "token")),
      readText(join(folder, "ca.crt")),
    ]);
    return {
      server,
      headers: { authorization: `Bearer ${token}` },
      tls: { ca },
      proxy,
      connection: JSON.stringify([server, ca, proxy]),
    };
  });
}

async function exists(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    () => false,
  );
}

async function readText(file: string): Promise<string> {
  return (await readFile(file, "utf8")).trim();
}
