export * from "./pods.ts";
export * from "./times.ts";
export * from "./volumes.ts";
export * from "./workloads.ts";
