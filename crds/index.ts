/** The kinds of the API: schema, types, defaults, validation, conversion between versions, definitions. */
export * from "./cloneset/schema.ts";
export * from "./definition.ts";
export * from "./kind.ts";
export * from "./kinds.ts";
export * from "./pod_template.ts";
