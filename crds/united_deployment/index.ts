export * from "./default.ts";
export * from "./revision_data.ts";
export * from "./schema.ts";
export { shareOf } from "./share.ts";
export { type TemplateName as SubsetTemplateName, templatesOf as subsetTemplatesOf } from "./template.ts";
export * from "./validate.ts";
