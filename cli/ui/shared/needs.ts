/** As `refit why` answers, what needs somebody first. */
export const needs = ["stuck", "unknown", "waiting", "progressing", "done"] as const;
export type Need = (typeof needs)[number];
