/**
 * The agent as its DaemonSet starts it: the bundle, on Node or on Deno with exactly the manifest's permissions, with a
 * run directory of a host mounted read-only at /hostvarrun. The mount is in a namespace of the process's own: the machine
 * that runs the tests does not see it.
 */
import { execFileSync } from "node:child_process";
import { type AgentRuntime, agentProgram, denoPermissions } from "../../agent/index.ts";
import { builtProgram } from "../built.ts";
import type { AgentPlace } from "./fixture.ts";

const root = new URL("../../", import.meta.url).pathname;

/** How a namespace of mounts is made here, or undefined where nobody may. */
function unsharing(): readonly string[] | undefined {
  for (const words of [["--mount"], ["--user", "--map-root-user", "--mount"]]) {
    try {
      execFileSync("unshare", [...words, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "ignore" });
      return words;
    } catch {
      // Not with these rights, or not on this system.
    }
  }
  return undefined;
}

const unshare = unsharing();

/** Why no run directory can be mounted, or false. */
export const cannotMount: string | false = unshare ? false : "needs Linux and the right to mount";

/** The machine's own tree with one folder more; the process keeps the id of the shell that execs it. */
const withHostRun = `set -e
run=$1; shift
mount -t tmpfs tmpfs /mnt
for path in /*; do
  [ "$path" = /mnt ] && continue
  [ "$path" = /hostvarrun ] && continue
  if [ -L "$path" ]; then cp -P "$path" "/mnt$path"
  elif [ -d "$path" ]; then mkdir "/mnt$path"; mount --rbind "$path" "/mnt$path"
  fi
done
mkdir /mnt/hostvarrun
mount --bind "$run" /mnt/hostvarrun
mount -o remount,bind,ro /mnt/hostvarrun
exec chroot /mnt "$@"`;

export const hostRun = "/hostvarrun";

/** Program and arguments before the agent's own flags; `runFolder` is what the agent sees at /hostvarrun. */
export function mountedProgram(runtime: AgentRuntime, runFolder: string, place: AgentPlace) {
  const program = bundleProgram(runtime, hostRun, place);
  return ["unshare", ...(unshare ?? []), "sh", "-c", withHostRun, "sh", runFolder, ...program];
}

/** The same without a mount; `socketFolder` is where the runtime's socket is. */
export function bundleProgram(runtime: AgentRuntime, socketFolder: string, place: AgentPlace): string[] {
  const permissions = denoPermissions({
    stateFolder: place.stateFolder,
    socketFolder,
    pluginConfigFile: "/kruise/CredentialProviderPlugin.yaml",
    home: "/root",
  });
  // Outside a cluster the credentials are in a file: one more that may be read.
  const readable = permissions.map((flag) =>
    flag.startsWith("--allow-read=") ? `${flag},${place.kubeconfig}` : flag,
  );
  const [, ...words] = agentProgram(runtime, readable, builtProgram("agent"));
  return [runtime === "node" ? process.execPath : `${root}node_modules/.bin/deno`, ...words];
}
