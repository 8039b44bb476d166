/** Wire formats: CRI runtime.v1 and the partial Kubernetes core types. */

export * as kubernetes from "./core/index.ts";
export * as cri from "./cri/index.ts";
