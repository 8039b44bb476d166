export * from "./pods.ts";
export * from "./times.ts";
