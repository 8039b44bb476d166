/** How the controller is started: one place for the Deployment, the harnesses and the bench. */

/** A heap near what it holds: V8 lets garbage grow to several times of that. `--optimize-for-size`: smaller steps of growth. */
export const controllerNodeFlags: readonly string[] = ["--max-semi-space-size=2", "--optimize-for-size"];

/** Read by the C library: it keeps an arena of free memory for each thread otherwise. */
export const controllerEnvironment: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: "1" };
