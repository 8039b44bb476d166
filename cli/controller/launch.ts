/** How the controller is started: one place for the Deployment, the harnesses and the bench. */

/** A young generation that costs little memory at rest. What each flag costs is in docs/performance.md. */
export const controllerNodeFlags: readonly string[] = ["--max-semi-space-size=2"];

/** Read by the C library: it keeps an arena of free memory for each thread otherwise. */
export const controllerEnvironment: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: "1" };
