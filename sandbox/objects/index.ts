export { timeOf } from "../../kube/core/index.ts";
export * from "./pods.ts";
export * from "./volumes.ts";
export * from "./workloads.ts";
