/** OpenAPI 2.0 documents on the wire, as kubectl reads them. */
export { decode, encode, type Input } from "../wire.ts";
export * from "./gen/openapi.ts";
