/** The environments that containers were started with, as the runtime knows them. */
import { isJsonObject } from "../../kube/index.ts";
import { type AgentPod, actualEnvHash, hasNoMetadataEnv } from "../../node/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { configOf, envEncoding } from "../containers/next_attempt.ts";
import type { CriContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";

const execSeconds = 3;

export interface EnvHashes {
  /** By container id. */
  readonly hashes: ReadonlyMap<string, number>;
  /** Whether one could not be read. */
  readonly missing: boolean;
}

/** Hashes of the environments that the pod's running containers really have. Throws only when `signal` is aborted. */
export async function envHashes(
  client: CriClient,
  pod: AgentPod,
  containers: ReadonlyMap<string, CriContainer>,
  signal: AbortSignal,
): Promise<EnvHashes> {
  const hashes = new Map<string, number>();
  let missing = false;
  for (const container of pod.containers) {
    const seen = containers.get(container.name);
    if (seen?.state !== "running") continue;
    const values = hasNoMetadataEnv(container)
      ? new Map<string, string>()
      : await envOf(client, seen, signal);
    if (values) hashes.set(seen.id, actualEnvHash(container, values));
    else missing = true;
  }
  return { hashes, missing };
}

/**
 * The environment that the container was started with: from the runtime's own record, which also works for images
 * without an `env` program; where the runtime does not report it, from `env` in the container.
 */
async function envOf(
  client: CriClient,
  seen: CriContainer,
  signal: AbortSignal,
): Promise<Map<string, string> | undefined> {
  try {
    const { info } = await client.call(
      methods.ContainerStatus,
      { container_id: seen.id, verbose: true },
      { signal },
    );
    const recorded = recordedEnv(info["info"]);
    if (recorded) return recorded;
    const answer = await client.call(
      methods.ExecSync,
      { container_id: seen.id, cmd: ["env"], timeout: execSeconds },
      { signal },
    );
    if (answer.exit_code !== 0) return undefined;
    const lines = Buffer.from(answer.stdout).toString().split("\n");
    return new Map(
      lines
        .filter((line) => line.includes("="))
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** What the runtime's verbose text records; undefined: nothing that can be read for certain. */
export function recordedEnv(info: string | undefined): Map<string, string> | undefined {
  const envs = configOf(info)?.["envs"];
  const encoding = envEncoding(envs);
  if (!Array.isArray(envs) || !encoding) return undefined;
  const entries = envs
    .filter(isJsonObject)
    .map(({ key, value = "" }): [string, string] => [
      String(key),
      encoding === "base64" ? Buffer.from(String(value), "base64").toString() : String(value),
    ]);
  return new Map(entries);
}
