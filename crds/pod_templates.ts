/** Pod templates and claim templates of workloads: their defaults, when these are written, and what is refused of them. */
import {
  defaultPodTemplate,
  ensureObject,
  type FieldError,
  forbidden,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  notSupported,
  own,
  validatePodTemplate,
} from "../kube/core/index.ts";
import { type Defaulting, fill, isSet, type TemplateDefaulting } from "./fill.ts";
import { objectsIn } from "./members.ts";

/** A copy of the template with the defaults of the pod API, but with pull policy Always where none is given. */
export function withPodDefaults(
  template: JsonObject,
  { hostNetworkPorts }: Pick<TemplateDefaulting, "hostNetworkPorts">,
): JsonObject {
  return defaultPodTemplate(template, { imagePullPolicy: "Always", hostNetworkPorts });
}

/**
 * What the API server would refuse in the pods of a template of a job. With gate TemplateNoDefaults templates are stored as they
 * were written: what is absent there is what the server fills in, not a mistake.
 */
export function jobTemplateErrors(template: JsonObject, path: string): FieldError[] {
  return validatePodTemplate(withPodDefaults(template, { hostNetworkPorts: false }), path);
}

/** What pods that are to run for good must not say. `kind` is in the API's words; paths in `known` are not named again. */
export function lastingPodErrors(
  pod: JsonObject,
  path: string,
  kind: string,
  known: readonly FieldError[] = [],
): FieldError[] {
  const errors: FieldError[] = [];
  const { restartPolicy } = pod;
  const restartPath = `${path}.restartPolicy`;
  if (restartPolicy && restartPolicy !== "Always" && !known.some((error) => error.path === restartPath))
    errors.push(notSupported(restartPath, restartPolicy, ["Always"]));
  if (isSet(pod, "activeDeadlineSeconds"))
    errors.push(
      forbidden(`${path}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`),
    );
  return errors;
}

/** What the API server would refuse in parts of a pod spec. `members`: of the object at `path`, by place in the spec. */
export function podPartErrors(
  spec: JsonObject,
  path: string,
  members: Readonly<Record<string, string>>,
): FieldError[] {
  return validatePodTemplate({ spec }, "").flatMap((error) => {
    // The root's members are written as `.spec` where the template itself has no path.
    const found = error.path.replace(/^\.?spec\./, "");
    const [place, member] = Object.entries(members).find(([prefix]) => found.startsWith(prefix)) ?? [];
    return place === undefined ? [] : [{ ...error, path: `${path}.${member}${found.slice(place.length)}` }];
  });
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
  for (const claim of objectsIn(holder, "volumeClaimTemplates"))
    fill(ensureObject(claim, "status"), "phase", "Pending");
}
