/** The template of the subsets' workloads, whichever member of `spec.template` it is. */
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { member } from "../members.ts";

/** Members of `spec.template`, of which an object has one. */
export const templateNames = [
  "statefulSetTemplate",
  "advancedStatefulSetTemplate",
  "cloneSetTemplate",
  "deploymentTemplate",
] as const;

export type TemplateName = (typeof templateNames)[number];

/** The members that are there, in the order of the API. */
export function templatesOf(spec: unknown): { readonly name: TemplateName; readonly template: JsonObject }[] {
  const template = isJsonObject(spec) ? member(spec, "template") : {};
  return templateNames.flatMap((name) => {
    const found = template[name];
    return isJsonObject(found) ? [{ name, template: found }] : [];
  });
}
