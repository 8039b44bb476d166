/** How the agent's bundle is started: one place for the DaemonSet and for what measures it. */

export type AgentRuntime = "node" | "deno";

/**
 * The agent waits most of its life: no code is compiled for speed, the heap of young objects stays small, bytecode that has not
 * run since the last collection goes (most of it is the start's), and collections need no threads. Together they save 11 MB on Node, 7 MB on Deno (docs/agent-footprint.md).
 * Deno's cache of compiled code is 4 MB more, and nowhere to be written to on a read-only root.
 */
const v8Flags = ["--max-semi-space-size=1", "--lite-mode", "--bytecode-old-age=1", "--single-threaded-gc"];

/**
 * Read by the C library: memory that is free at the end of its heap goes back after 64 kB, not after 128 kB and more as
 * large buffers come and go. The start leaves half a megabyte of it.
 */
export const agentEnvironment: Readonly<Record<string, string>> = { MALLOC_TRIM_THRESHOLD_: "65536" };

/** Program and arguments, without the agent's own flags; `permissions` as `denoPermissions` lists them. */
export function agentProgram(
  runtime: AgentRuntime,
  permissions: readonly string[],
  bundle: string,
): [string, ...string[]] {
  return runtime === "node"
    ? ["node", ...v8Flags, bundle]
    : ["deno", "run", "--no-code-cache", `--v8-flags=${v8Flags.join(",")}`, ...permissions, bundle];
}
