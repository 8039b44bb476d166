/** Pod templates of jobs at admission. */
import { type FieldError, type JsonObject, validatePodTemplate } from "../kube/core/index.ts";
import { withPodDefaults } from "./pod_templates.ts";

/**
 * What the API server would refuse in the pods of a template. With gate TemplateNoDefaults templates are stored as they
 * were written: what is absent there is what the server fills in, not a mistake.
 */
export function jobTemplateErrors(template: JsonObject, path: string): FieldError[] {
  const whole = withPodDefaults(template, { hostNetworkPorts: false });
  return validatePodTemplate(whole, path);
}
