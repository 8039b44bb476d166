/**
 * The controller with a heap that stays near what it holds. By default V8 lets garbage grow to several times of that and
 * glibc keeps an arena for each thread: measured at 600 pods, 38 kB a pod above 112 MB idle against 15 kB above 103 MB.
 * Both are settings of a process at its start, so the process begins anew in its place: same id, same arguments.
 */

/** What of `process` is used. */
export interface Restartable {
  readonly argv: readonly string[];
  readonly execArgv: readonly string[];
  readonly execPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent where a process cannot be replaced (Windows, Node before 22.15). */
  execve?(file: string, args: readonly string[], env: Record<string, string>): void;
}

/** `--optimize-for-size`: smaller steps when the old generation grows. */
export const heapFlags: readonly string[] = ["--max-semi-space-size=2", "--optimize-for-size"];

/** Replaces the process unless it cannot, has these settings, or its user chose others. */
export function restartWithSmallHeap(process: Restartable): void {
  const { argv, execArgv, execPath, env, execve } = process;
  if (argv[2] !== "controller" || execve === undefined) return;
  const given = `${execArgv.join(" ")} ${env["NODE_OPTIONS"] ?? ""}`;
  if (/semi-space-size|optimize-for-size|inspect/.test(given)) return;
  const kept = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const arenas = { MALLOC_ARENA_MAX: env["MALLOC_ARENA_MAX"] ?? "1" };
  execve(execPath, [execPath, ...heapFlags, ...execArgv, ...argv.slice(1)], {
    ...Object.fromEntries(kept),
    ...arenas,
  });
}
