/** What admission refuses in the template of a UnitedDeployment. Spec: uniteddeployment 6. */
import {
  cloneJson,
  compileSelector,
  type FieldError,
  forbidden,
  invalid,
  isJsonObject,
  type JsonObject,
  type LabelSelector,
  own,
  ParseError,
  required,
  validatePodTemplate,
} from "../../kube/core/index.ts";
import { member, objectsIn, without } from "../members.ts";
import { defaultClaimTemplates, lastingPodErrors, withPodDefaults } from "../pod_templates.ts";
import { nonNegative } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import type { UnitedDeploymentSpec } from "./schema.ts";
import { type TemplateName, templateNames, templatesOf } from "./template.ts";

const path = "spec.template";
const list = `${templateNames.slice(0, -1).join(", ")}, or ${templateNames.at(-1) ?? ""}`;
const mismatch = "`selector` does not match template `labels`";

export function validateTemplate(spec: UnitedDeploymentSpec): FieldError[] {
  const templates = templatesOf(spec);
  const [first, second] = templates;
  if (first === undefined) return [required(path, `should provide one of ${list}`)];
  if (second !== undefined) return [invalid(path, spec.template, `should provide only one of ${list}`)];
  const { name, template } = first;
  // Of CloneSets the schema alone says what is accepted.
  if (name === "cloneSetTemplate") return [];
  const workload = member(template, "spec");
  return [
    ...validateLabels(name, template, spec.selector),
    ...validateUnused(name, workload),
    ...validatePods(`${path}.${name}.spec.template`, workload, spec.selector),
    ...(name === "statefulSetTemplate" ? validateNativeSet(workload) : []),
  ];
}

/** The API reports Advanced StatefulSets under the path of native ones. */
function validateLabels(name: TemplateName, template: JsonObject, selector: LabelSelector): FieldError[] {
  const { labels } = member(template, "metadata");
  if (matches(selector, labels)) return [];
  const at = name === "deploymentTemplate" ? name : "statefulSetTemplate";
  return [invalid(`${path}.${at}.metadata.labels`, labels ?? null, mismatch)];
}

/** A selector that cannot be read is reported where it is. */
function matches(selector: LabelSelector, labels: unknown): boolean {
  const texts = isJsonObject(labels) ? labels : {};
  const present = Object.entries(texts).filter(
    (label): label is [string, string] => typeof label[1] === "string",
  );
  try {
    return compileSelector(selector).matches(Object.fromEntries(present));
  } catch (error) {
    if (error instanceof ParseError) return true;
    throw error;
  }
}

function validateUnused(name: TemplateName, workload: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const at = `${path}.${name}.spec`;
  const replicas = own(workload, "replicas") ?? undefined;
  if (replicas !== undefined)
    errors.push(invalid(`${at}.replicas`, replicas, `replicas in ${name} will not be used`));
  const strategy = member(workload, "updateStrategy");
  const partition = member(strategy, "rollingUpdate")["partition"] ?? undefined;
  if (name !== "deploymentTemplate" && strategy["type"] === "RollingUpdate" && partition !== undefined) {
    const words = `partition in ${name} will not be used`;
    errors.push(invalid(`${at}.updateStrategy.rollingUpdate.partition`, partition, words));
  }
  return errors;
}

function validatePods(at: string, workload: JsonObject, selector: LabelSelector): FieldError[] {
  const template = own(workload, "template");
  if (!isJsonObject(template)) return [required(at)];
  const claimTemplates = objectsIn(workload, "volumeClaimTemplates").map((claim) =>
    String(member(claim, "metadata")["name"] ?? ""),
  );
  const whole = withPodDefaults(template, { hostNetworkPorts: false });
  const errors = validatePodTemplate(whole, at, { claimTemplates });
  const { labels } = member(template, "metadata");
  if (!matches(selector, labels)) errors.push(invalid(`${at}.metadata.labels`, labels ?? null, mismatch));
  return [...errors, ...lastingPodErrors(member(template, "spec"), `${at}.spec`, "StatefulSet")];
}

/** As Kubernetes checks the set that is made from it. */
function validateNativeSet(workload: JsonObject): FieldError[] {
  const at = `${path}.statefulSetTemplate.spec`;
  const errors: FieldError[] = [];
  const policy = own(workload, "podManagementPolicy") ?? "";
  if (policy !== "" && policy !== "OrderedReady" && policy !== "Parallel") {
    const words = "must be 'OrderedReady' or 'Parallel'";
    errors.push(invalid(`${at}.podManagementPolicy`, policy, words));
  }
  const { type = "", rollingUpdate } = member(workload, "updateStrategy");
  if (type === "OnDelete") {
    const words = "only allowed for updateStrategy 'RollingUpdate'";
    if (isJsonObject(rollingUpdate))
      errors.push(invalid(`${at}.updateStrategy.rollingUpdate`, rollingUpdate, words));
  } else if (type !== "" && type !== "RollingUpdate") {
    const words = "must be 'RollingUpdate' or 'OnDelete'";
    errors.push(invalid(`${at}.updateStrategy`, member(workload, "updateStrategy"), words));
  }
  for (const field of ["minReadySeconds", "revisionHistoryLimit"]) {
    const value = own(workload, field);
    if (typeof value === "number") errors.push(...nonNegative(`${at}.${field}`, value));
  }
  const { start } = member(workload, "ordinals");
  if (typeof start === "number") errors.push(...nonNegative(`${at}.ordinals.start`, start));
  return errors;
}

/** What may change in the spec of a workload, and how the API says that all else may not. */
const changes: readonly {
  readonly name: TemplateName;
  /** Of the spec, as in sameAsTyped. */
  readonly type: string;
  readonly fields: readonly string[];
  readonly words: string;
}[] = [
  {
    name: "statefulSetTemplate",
    type: "StatefulSetSpec",
    fields: [
      "replicas",
      "template",
      "updateStrategy",
      "persistentVolumeClaimRetentionPolicy",
      "minReadySeconds",
      "ordinals",
    ],
    words:
      "updates to statefulsetTemplate spec for fields other than 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy', 'minReadySeconds' and 'ordinals' are forbidden",
  },
  {
    name: "advancedStatefulSetTemplate",
    type: "AdvancedStatefulSetSpec",
    fields: ["replicas", "template", "updateStrategy"],
    words:
      "updates to advancedStatefulsetTemplate spec for fields other than 'template', and 'updateStrategy' are forbidden",
  },
];

export function validateTemplateChange(
  spec: UnitedDeploymentSpec,
  before: UnitedDeploymentSpec,
): FieldError[] {
  const [next] = templatesOf(spec);
  const old = templatesOf(before).find(({ name }) => name === next?.name);
  const rule = changes.find(({ name }) => name === next?.name);
  if (next === undefined || old === undefined || rule === undefined) return [];
  // What was stored while no webhook looked, or with gate TemplateNoDefaults, has no defaults.
  const fixed = ({ template }: { template: JsonObject }) => {
    const workload = cloneJson(without(member(template, "spec"), rule.fields));
    defaultClaimTemplates(workload);
    return workload;
  };
  if (sameAsTyped(fixed(next), fixed(old), rule.type)) return [];
  return [forbidden(`${path}.${rule.name}.spec`, rule.words)];
}
