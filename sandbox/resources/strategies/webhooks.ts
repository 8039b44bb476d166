/** Webhook configurations: their defaults, and what is refused in them. */
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  qualifiedNameErrors,
  required,
  tooMany,
} from "../../../kube/core/index.ts";
import { compileCondition } from "../../cel/compile.ts";
import type { StoredObject } from "../../cluster.ts";
import { type Fields, isFields, listAt, numberAt, objectsAt, textAt } from "../../json.ts";
import type { Strategy } from "../resource.ts";

function defaultWebhook(webhook: Fields, mutating: boolean): void {
  webhook["failurePolicy"] ??= "Fail";
  webhook["matchPolicy"] ??= "Equivalent";
  webhook["namespaceSelector"] ??= {};
  webhook["objectSelector"] ??= {};
  webhook["timeoutSeconds"] ??= 10;
  if (mutating) webhook["reinvocationPolicy"] ??= "Never";
  for (const rule of objectsAt(webhook, "rules")) rule["scope"] ??= "*";
  const config = webhook["clientConfig"];
  const service = isFields(config) ? config["service"] : undefined;
  if (isFields(service)) service["port"] ??= 443;
}

function validateWebhooks(object: StoredObject): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  objectsAt(object, "webhooks").forEach((webhook, at) => {
    const path = `webhooks[${at}]`;
    const name = textAt(webhook, "name");
    if (name === "") errors.push(required(`${path}.name`));
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    if (listAt(webhook, "admissionReviewVersions").length === 0) {
      errors.push(required(`${path}.admissionReviewVersions`, "must specify one of v1, v1beta1"));
    }
    const effects = textAt(webhook, "sideEffects");
    if (effects === "")
      errors.push(required(`${path}.sideEffects`, "must specify one of None, NoneOnDryRun"));
    else if (effects !== "None" && effects !== "NoneOnDryRun") {
      errors.push(notSupported(`${path}.sideEffects`, effects, ["None", "NoneOnDryRun"]));
    }
    errors.push(...conditionErrors(webhook, `${path}.matchConditions`));
    errors.push(...clientErrors(webhook, path));
    const seconds = numberAt(webhook, "timeoutSeconds") ?? 10;
    if (seconds < 1 || seconds > 30) {
      const detail = "the timeout value must be between 1 and 30 seconds";
      errors.push(invalid(`${path}.timeoutSeconds`, seconds, detail));
    }
  });
  return errors;
}

const maxConditions = 64;

function conditionErrors(webhook: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const conditions = objectsAt(webhook, "matchConditions");
  if (conditions.length > maxConditions) errors.push(tooMany(path, conditions.length, maxConditions));
  const names = new Set<string>();
  conditions.forEach((condition, at) => {
    const expression = textAt(condition, "expression").trim();
    const { error } = compileCondition(expression);
    const where = `${path}[${at}].expression`;
    if (expression === "") errors.push(required(where));
    else if (error !== undefined) errors.push(invalid(where, expression, error));
    const name = textAt(condition, "name");
    if (name === "") errors.push(required(`${path}[${at}].name`));
    else errors.push(...qualifiedNameErrors(name).map((why) => invalid(`${path}[${at}].name`, name, why)));
    if (names.has(name) && name !== "") errors.push(duplicate(`${path}[${at}].name`, name));
    names.add(name);
  });
  return errors;
}

function clientErrors(webhook: Fields, path: string): FieldError[] {
  const config = webhook["clientConfig"];
  const url = textAt(config, "url");
  const service = isFields(config) && isFields(config["service"]);
  if ((url !== "") === service) {
    return [required(`${path}.clientConfig`, "exactly one of url or service is required")];
  }
  if (url === "" || url.startsWith("https://")) return [];
  return [invalid(`${path}.clientConfig.url`, url, "'https' is the only allowed URL scheme")];
}

function rules(mutating: boolean): Partial<Strategy> {
  return {
    defaults(draft) {
      for (const webhook of objectsAt(draft, "webhooks")) defaultWebhook(webhook, mutating);
    },
    validateCreate: validateWebhooks,
    validateUpdate: validateWebhooks,
  };
}

export const webhookRules: Readonly<Record<string, Partial<Strategy>>> = {
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": rules(true),
  "validatingwebhookconfigurations.admissionregistration.k8s.io": rules(false),
};
