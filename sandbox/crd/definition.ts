/** What is wrong with a CustomResourceDefinition, before anything is served from it. */
import {
  dns1035LabelErrors,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, fieldsAt, isFields, objectsAt, textAt, valueAt } from "../json.ts";
import { jsonPath } from "./json_path.ts";

/** Holds a deleted definition back until its objects are gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export function defaultDefinition(draft: StoredObject): void {
  const spec = fieldsAt(draft, "spec");
  draft["spec"] = spec;
  const names = fieldsAt(spec, "names");
  spec["names"] = names;
  const kind = textAt(names, "kind");
  if (textAt(names, "singular") === "") names["singular"] = kind.toLowerCase();
  if (textAt(names, "listKind") === "") names["listKind"] = `${kind}List`;
  if (!isFields(spec["conversion"])) spec["conversion"] = { strategy: "None" };
  const service = valueAt(spec, "conversion", "webhook", "clientConfig", "service");
  if (isFields(service) && service["port"] === undefined) service["port"] = 443;
}

export function validateDefinition(object: StoredObject): FieldError[] {
  const errors: FieldError[] = [];
  const spec = fieldsAt(object, "spec");
  const group = textAt(spec, "group");
  const plural = textAt(spec, "names", "plural");
  if (group === "") errors.push(required("spec.group"));
  if (object.metadata.name !== `${plural}.${group}`) {
    errors.push(
      invalid("metadata.name", object.metadata.name ?? "", 'must be spec.names.plural+"."+spec.group'),
    );
  }
  const scope = textAt(spec, "scope");
  if (scope !== "Namespaced" && scope !== "Cluster") {
    errors.push(notSupported("spec.scope", scope, ["Cluster", "Namespaced"]));
  }
  for (const name of ["plural", "singular", "kind", "listKind"]) {
    const value = textAt(spec, "names", name);
    for (const message of dns1035LabelErrors(value.toLowerCase())) {
      errors.push(invalid(`spec.names.${name}`, value, message));
    }
  }
  errors.push(...versionErrors(spec), ...conversionErrors(spec));
  return errors;
}

function versionErrors(spec: Fields): FieldError[] {
  const errors: FieldError[] = [];
  const versions = objectsAt(spec, "versions");
  const stored = versions.filter((version) => version["storage"] === true);
  if (stored.length !== 1) {
    const detail = "must have exactly one version marked as storage version";
    errors.push(invalid("spec.versions", spec["versions"] ?? null, detail));
  }
  const seen = new Set<string>();
  versions.forEach((version, at) => {
    const path = `spec.versions[${at}]`;
    const name = textAt(version, "name");
    if (seen.has(name)) errors.push(invalid(path, spec["versions"], "must contain unique version names"));
    seen.add(name);
    const schema = valueAt(version, "schema", "openAPIV3Schema");
    if (!isFields(schema)) errors.push(required(`${path}.schema.openAPIV3Schema`, "schemas are required"));
    else errors.push(...schemaErrors(schema, `${path}.schema.openAPIV3Schema`, true));
    objectsAt(version, "additionalPrinterColumns").forEach((column, index) => {
      const jsonPathText = textAt(column, "jsonPath");
      if (jsonPathText.startsWith(".") && jsonPath(jsonPathText) !== undefined) return;
      const detail = "must be a simple json path starting with .";
      errors.push(invalid(`${path}.additionalPrinterColumns[${index}].jsonPath`, jsonPathText, detail));
    });
  });
  return errors;
}

function conversionErrors(spec: Fields): FieldError[] {
  const strategy = textAt(spec, "conversion", "strategy");
  if (strategy !== "None" && strategy !== "Webhook") {
    return [notSupported("spec.conversion.strategy", strategy, ["None", "Webhook"])];
  }
  const webhook = valueAt(spec, "conversion", "webhook");
  if (strategy === "None") {
    if (webhook === undefined) return [];
    return [forbidden("spec.conversion.webhook", "should not be set when strategy is not set to Webhook")];
  }
  if (!isFields(webhook)) {
    return [required("spec.conversion.webhook", "required when strategy is set to Webhook")];
  }
  const versions = webhook["conversionReviewVersions"];
  const known = Array.isArray(versions) && versions.includes("v1");
  if (known) return [];
  const detail = "must include at least one of v1, v1beta1";
  return [invalid("spec.conversion.webhook.conversionReviewVersions", versions ?? null, detail)];
}

/** Structural rules, and what the sandbox does not carry out. */
function schemaErrors(schema: Fields, path: string, root = false): FieldError[] {
  const errors: FieldError[] = [];
  const forbid = (member: string, detail: string) => errors.push(forbidden(`${path}.${member}`, detail));
  const need = (member: string, detail: string) => errors.push(required(`${path}.${member}`, detail));
  const type = textAt(schema, "type");
  if (Array.isArray(schema["x-kubernetes-validations"])) {
    forbid("x-kubernetes-validations", "the sandbox does not evaluate CEL rules");
  }
  const typed =
    type !== "" ||
    schema["x-kubernetes-int-or-string"] === true ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (!typed) need("type", "must not be empty for specified object fields");
  if (root && type !== "object") errors.push(invalid(`${path}.type`, type, "must be object at the root"));
  if (schema["uniqueItems"] === true) {
    forbid("uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }
  if (textAt(schema, "$ref") !== "") forbid("$ref", "$ref is not supported");
  if (isFields(schema["properties"]) && schema["additionalProperties"] !== undefined) {
    forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
  }
  const isMap = textAt(schema, "x-kubernetes-list-type") === "map";
  if (isMap && !Array.isArray(schema["x-kubernetes-list-map-keys"])) {
    need("x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map");
  }
  for (const [name, member] of Object.entries(fieldsAt(schema, "properties"))) {
    if (isFields(member)) errors.push(...schemaErrors(member, `${path}.properties[${name}]`));
  }
  if (isFields(schema["items"])) errors.push(...schemaErrors(schema["items"], `${path}.items`));
  else if (type === "array") need("items", "must be specified");
  if (isFields(schema["additionalProperties"])) {
    errors.push(...schemaErrors(schema["additionalProperties"], `${path}.additionalProperties`));
  }
  return errors;
}
