/** Wire formats: CRI runtime.v1, the partial Kubernetes core types, OpenAPI documents. */

export * as kubernetes from "./core/index.ts";
export * as cri from "./cri/index.ts";
export * as openapi from "./openapi/index.ts";
