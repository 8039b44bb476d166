/** Exactly what the agent's bundle needs of Deno. Manifests print these flags; nothing else is allowed. */
import { dockerConfigFiles } from "./images/docker_config_files.ts";

export interface PermissionSettings {
  /** `--state-dir`: the only place that is written to. */
  readonly stateFolder: string;
  /** Folder with the runtime's socket. Deno asks for writing where a unix socket is connected; mount it read-only. */
  readonly socketFolder: string;
  readonly pluginConfigFile: string;
  readonly home: string;
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Flags for `deno run`. No `--allow-run`: credential provider plugins need it, so an installation with plugins adds
 * `--allow-run=<folder>/<plugin>` for each.
 */
export function denoPermissions(settings: PermissionSettings): string[] {
  const { stateFolder, socketFolder, pluginConfigFile, home } = settings;
  const readable = [
    stateFolder,
    socketFolder,
    "/hostvarrun",
    pluginConfigFile,
    serviceAccount,
    ...dockerConfigFiles(home),
  ];
  return [
    "--no-prompt",
    // The API server, the pods' probes, hooks, and the listener of health checks.
    "--allow-net",
    // A package (debug) lists the environment when it is loaded; plugins inherit it. The pod's environment has no secrets.
    "--allow-env",
    `--allow-read=${[...new Set(readable)].join(",")}`,
    `--allow-write=${stateFolder},${socketFolder}`,
  ];
}
