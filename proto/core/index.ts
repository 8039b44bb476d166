/** Kubernetes core types on the wire: partial messages, envelopes, watch frames, and JSON to protobuf. */
export { decode, encode, type Input, type Message, WireError } from "../wire.ts";
export * from "./envelope.ts";
export * from "./from_json.ts";
export * as core from "./gen/core.ts";
