/** The rules of custom kinds: everything comes from the schema of the version. */
import { dnsSubdomainErrors, type FieldError, invalid, jsonEqual } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { valueAt } from "../json.ts";
import type { ScalePaths, Strategy } from "../resources/resource.ts";
import type { Shape } from "../resources/shape.ts";
import { applySchemaDefaults } from "./defaults.ts";
import { validateValue } from "./validate.ts";

/** `shapes` by apiVersion. */
export function customStrategy(
  shapes: ReadonlyMap<string, Shape>,
  hasStatus: boolean,
  scale?: ScalePaths,
): Strategy {
  const validate = (object: StoredObject): FieldError[] => {
    const shape = shapes.get(object.apiVersion ?? "");
    const errors = shape === undefined ? [] : validateValue(object, shape, "");
    return scale === undefined ? errors : [...errors, ...scaleErrors(object, scale)];
  };
  const validateChange = (object: StoredObject, stored: StoredObject): FieldError[] =>
    validate(object).filter((error) => !isUnchanged(error.path, object, stored));
  return {
    hasStatus,
    statusMetadata: "none",
    nameErrors: dnsSubdomainErrors,
    generationOf: (object) => {
      const { metadata: _metadata, status, apiVersion: _apiVersion, kind: _kind, ...content } = object;
      return hasStatus ? content : { ...content, status };
    },
    defaults(draft) {
      const shape = shapes.get(draft.apiVersion ?? "");
      if (shape !== undefined) applySchemaDefaults(draft, shape);
    },
    validateCreate: validate,
    validateUpdate: validateChange,
    validateStatus: validateChange,
  };
}

/**
 * Whether what is wrong there was stored so: that must not keep anybody from changing the rest. Members of lists are
 * not matched with each other, so a list counts as a whole.
 */
function isUnchanged(path: string, object: StoredObject, stored: StoredObject): boolean {
  const steps = (path.split("[")[0] ?? "").split(".");
  return steps.some((_, at) => {
    const above = steps.slice(0, at + 1);
    const value = valueAt(object, ...above);
    return value !== undefined && jsonEqual(value, valueAt(stored, ...above));
  });
}

/** What the scale subresource would trip over. */
function scaleErrors(object: StoredObject, scale: ScalePaths): FieldError[] {
  const path = `.${scale.replicas.join(".")}`;
  const value = valueAt(object, ...scale.replicas);
  if (value === undefined) return [];
  if (typeof value !== "number") {
    const type = Array.isArray(value) ? "[]interface {}" : typeof value === "boolean" ? "bool" : typeof value;
    return [
      invalid(path, 0, `${path} accessor error: ${String(value)} is of the type ${type}, expected int64`),
    ];
  }
  return value < 0 ? [invalid(path, value, "should be a non-negative integer")] : [];
}
