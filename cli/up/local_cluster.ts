/** The sandbox, as the try-out needs it. */
import { type Clock, type Credentials, fixedCredentials } from "../../kube/index.ts";
import { type KubernetesVersion, startSandbox } from "../../sandbox/index.ts";
import { listenError } from "../controller/listen_error.ts";

export interface LocalClusterOptions {
  readonly nodes: number;
  /** 0 for any free one. */
  readonly port: number;
  readonly seed: number;
  /** How long nodes take for what they do. */
  readonly timing: "real" | "fast";
  /** What the cluster says that it is; default: the one that the sandbox acts like. */
  readonly kubernetesVersion?: KubernetesVersion;
  readonly clock: Clock;
}

export interface LocalCluster {
  readonly url: string;
  /** YAML. */
  readonly kubeconfig: string;
  /** Of the administrator. */
  readonly credentials: Credentials;
  credentialsFor(token: string): Credentials;
  stop(): Promise<void>;
}

/** Throws CliError when the port cannot be had. */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  try {
    const { timing, ...rest } = options;
    const sandbox = await startSandbox({ ...rest, profile: timing, agent: true });
    const { url, kubeconfig, token, caCert } = sandbox;
    const credentialsFor = (bearer: string): Credentials =>
      fixedCredentials(url, { headers: { authorization: `Bearer ${bearer}` }, tls: { ca: caCert } });
    return {
      url,
      kubeconfig,
      credentials: credentialsFor(token),
      credentialsFor,
      stop: () => sandbox.stop(),
    };
  } catch (error) {
    if (error instanceof Error && "syscall" in error)
      throw listenError(`127.0.0.1:${options.port}`, "--port", error);
    throw error;
  }
}
