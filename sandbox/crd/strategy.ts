/** The rules of custom kinds: everything comes from the schema of the version. */
import { dnsSubdomainErrors, type FieldError } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { Strategy } from "../resources/resource.ts";
import type { Shape } from "../resources/shape.ts";
import { applySchemaDefaults } from "./defaults.ts";
import { validateValue } from "./validate.ts";

/** `shapes` by apiVersion. */
export function customStrategy(shapes: ReadonlyMap<string, Shape>, hasStatus: boolean): Strategy {
  const validate = (object: StoredObject): FieldError[] => {
    const shape = shapes.get(object.apiVersion ?? "");
    return shape === undefined ? [] : validateValue(object, shape, "");
  };
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
    validateUpdate: validate,
    validateStatus: validate,
  };
}
