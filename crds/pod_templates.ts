/** Pod templates and claim templates of workloads: their defaults, and when these are written. */
import {
  defaultPodTemplate,
  ensureObject,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  own,
} from "../kube/core/index.ts";
import { type Defaulting, fill, type TemplateDefaulting } from "./fill.ts";

/** A copy of the template with the defaults of the pod API, but with pull policy Always where none is given. */
export function withPodDefaults(
  template: JsonObject,
  { hostNetworkPorts }: Pick<TemplateDefaulting, "hostNetworkPorts">,
): JsonObject {
  return defaultPodTemplate(template, { imagePullPolicy: "Always", hostNetworkPorts });
}

/** Fills in the pod template of `holder`, where it has one; nothing with gate TemplateNoDefaults. */
export function defaultTemplateOf(holder: JsonObject, options: TemplateDefaulting): void {
  const template = own(holder, "template");
  if (options.templateDefaults && isJsonObject(template))
    holder["template"] = withPodDefaults(template, options);
}

/**
 * Whether a member of the spec is another one than is stored, or new. Templates are filled in only then, so that an upgrade
 * of this program moves no revision by itself.
 */
export function isChanged(spec: JsonObject, key: string, { old }: Defaulting): boolean {
  const before = old && own(old, "spec");
  return !isJsonObject(before) || !jsonEqual(own(before, key), own(spec, key));
}

/** As the API server shows claims that are not bound; claims that are stored are written by it. */
export function defaultClaimTemplates(holder: JsonObject): void {
  const claims = own(holder, "volumeClaimTemplates");
  for (const claim of Array.isArray(claims) ? claims : [])
    if (isJsonObject(claim)) fill(ensureObject(claim, "status"), "phase", "Pending");
}
