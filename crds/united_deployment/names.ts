/** Members of `spec.template`, of which an object has one. */
export const templateNames = [
  "statefulSetTemplate",
  "advancedStatefulSetTemplate",
  "cloneSetTemplate",
  "deploymentTemplate",
] as const;

export type TemplateName = (typeof templateNames)[number];
