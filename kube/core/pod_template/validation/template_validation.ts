/** Pod templates as a whole. */
import { invalid } from "../../field_errors.ts";
import { compareBytes } from "../../go_text.ts";
import { isJsonObject } from "../../json.ts";
import { validateLabels } from "../../selector.ts";
import type { FieldError, Labels } from "../../types.ts";
import { Cursor } from "./cursor.ts";
import { textMap, validateAnnotations } from "./object_meta.ts";
import { descendingErrors } from "./path_rules.ts";
import { validateSpec } from "./spec_validation.ts";

export interface TemplateRules {
  /** Names of the workload's claim templates: containers may mount them. */
  readonly claimTemplates?: readonly string[];
}

/**
 * Everything that the API server checks about the template of a workload after defaulting it (defaultPodTemplate),
 * worded and placed as it does. `path` is where the template is: `spec.template`. Values of wrong types count as
 * absent here; validateTypes finds those.
 */
export function validatePodTemplate(template: object, path: string, rules: TemplateRules = {}): FieldError[] {
  const errors: FieldError[] = [];
  const cursor = new Cursor(isJsonObject(template) ? template : {}, path, errors);
  const meta = cursor.objectOrEmpty("metadata");
  const spec = cursor.objectOrEmpty("spec");
  const annotations = textMap(meta, "annotations");
  errors.push(...validateLabels(textMap(meta, "labels"), cursor.at("labels")));
  errors.push(...validateAnnotations(annotations, cursor.at("annotations")));
  validatePodAnnotations(annotations, spec, cursor.at("annotations"));
  validateSpec(spec, { isPod: false, claimTemplates: rules.claimTemplates ?? [] });
  if (spec.list("ephemeralContainers").length > 0) {
    spec.forbidden("ephemeralContainers", "ephemeral containers not allowed in pod template");
  }
  return errors;
}

/** What the API server checks about the spec and the annotations of a pod at creation, after defaultPod. */
export function validatePodSpec(pod: object): FieldError[] {
  const errors: FieldError[] = [];
  const cursor = new Cursor(isJsonObject(pod) ? pod : {}, "", errors);
  const spec = cursor.objectOrEmpty("spec");
  const annotations = textMap(cursor.objectOrEmpty("metadata"), "annotations");
  validatePodAnnotations(annotations, spec, "metadata.annotations");
  validateSpec(spec, { isPod: true, claimTemplates: [] });
  if (spec.list("ephemeralContainers").length > 0) {
    spec.forbidden("ephemeralContainers", "cannot be set on create");
  }
  return errors;
}

const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";
const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const MIRROR = "kubernetes.io/config.mirror";

/** Annotations with a meaning of their own. */
function validatePodAnnotations(annotations: Labels, spec: Cursor, path: string): void {
  const add = (at: string, value: string, detail: string) => spec.add(invalid(at, value, detail));
  const containers = containerNames(spec);
  for (const key of Object.keys(annotations).sort(compareBytes)) {
    const value = annotations[key] ?? "";
    if (key === MIRROR && spec.text("nodeName") === "") {
      add(`${path}[${key}]`, value, "must set spec.nodeName if mirror pod annotation is set");
    } else if (key === DELETION_COST && !isInt32(value)) {
      add(`${path}[${key}]`, value, "must be a 32bit integer");
    } else if (key === SECCOMP_POD || key.startsWith(SECCOMP_CONTAINER)) {
      for (const detail of seccompErrors(value)) add(`${path}.${key}`, value, detail);
    } else if (key.startsWith(APP_ARMOR)) {
      const name = key.slice(APP_ARMOR.length);
      if (!containers.has(name)) add(`${path}[${key}]`, name, "container not found");
      if (!["", "runtime/default", "unconfined"].includes(value) && !value.startsWith("localhost/")) {
        add(`${path}[${key}]`, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`);
      }
    }
  }
}

function isInt32(text: string): boolean {
  return /^([1-9]\d*|-[1-9]\d*|0)$/.test(text) && Math.abs(Number(text) + 0.5) < 2 ** 31;
}

function seccompErrors(profile: string): string[] {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return [];
  if (profile.startsWith("localhost/")) return descendingErrors(profile.slice("localhost/".length));
  return ["must be a valid seccomp profile"];
}

function containerNames(spec: Cursor): ReadonlySet<string> {
  const lists = ["containers", "initContainers", "ephemeralContainers"];
  return new Set(lists.flatMap((list) => spec.objects(list).map((container) => container.text("name"))));
}
