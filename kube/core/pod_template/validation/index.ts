export {
  type NameRule,
  type ObjectMetaRules,
  prefixErrors,
  validateAnnotations,
  validateObjectMeta,
} from "./object_meta.ts";
export { isExtendedResource } from "./resource_validation.ts";
export { type TemplateRules, validatePodSpec, validatePodTemplate } from "./template_validation.ts";
export { validateTypes } from "./type_validation.ts";
export { type UnknownMember, unknownMembers } from "./unknown_members.ts";
