/** What a node's agent decides, as plans without I/O: the agent carries them out on a runtime, the sandbox on simulated containers. */
export * from "./container.ts";
export * from "./container_meta/pending_restarts.ts";
export * from "./container_meta/plan.ts";
export * from "./images/plan.ts";
export * from "./images/pull_order.ts";
export * from "./images/reference.ts";
export * from "./images/spec.ts";
export * from "./liveness/plan.ts";
export * from "./pod.ts";
export * from "./probes/result.ts";
export * from "./probes/spec.ts";
export * from "./probes/wanted.ts";
export * from "./restarts/held_since.ts";
export * from "./restarts/plan.ts";
export * from "./restarts/request.ts";
export * from "./swaps/plan.ts";
