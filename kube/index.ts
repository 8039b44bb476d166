/** API machinery: client, watch, cache, queue, lease, events, metrics and the reconcile runner. Knows no kind of ours. */
export * from "./cache.ts";
export * from "./client.ts";
export * from "./client_types.ts";
export * from "./clock.ts";
export * from "./codecs/core_resources.ts";
export { jsonCodec, jsonResource, projectedJsonCodec } from "./codecs/json.ts";
export type { CoreCondition, Metadata } from "./codecs/metadata.ts";
export { identifyProjection, type Projection, protobufCodec } from "./codecs/projection.ts";
export * from "./core/index.ts";
export * from "./credentials_types.ts";
export * from "./errors.ts";
export * from "./log.ts";
export * from "./metrics_types.ts";
export * from "./pino_log.ts";
export * from "./pod.ts";
export * from "./queue.ts";
export * from "./testing.ts";
export * from "./window.ts";
