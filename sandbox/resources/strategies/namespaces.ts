/** Namespaces, nodes, configuration. */
import { type FieldError, forbidden, invalid, jsonEqual } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, setAt, textAt } from "../../json.ts";
import type { Strategy } from "../resource.ts";

export const namespaceRules: Readonly<Record<string, Partial<Strategy>>> = {
  namespaces: {
    prepareCreate(draft) {
      const name = draft.metadata.name ?? "";
      draft.metadata.labels = { ...draft.metadata.labels, "kubernetes.io/metadata.name": name };
      draft["spec"] = { finalizers: ["kubernetes"] };
      draft["status"] = { phase: "Active" };
    },
    prepareUpdate(draft, stored, _context, subresource) {
      if (subresource !== "finalize") setAt(draft, ["spec"], stored["spec"]);
    },
  },
  nodes: {
    prepareCreate(draft) {
      draft["status"] ??= {};
    },
  },
  configmaps: { validateUpdate: staysAsItIs },
  secrets: {
    defaults(draft) {
      if (textAt(draft, "type") === "") draft["type"] = "Opaque";
      const texts = Object.entries(fieldsAt(draft, "stringData"));
      if (texts.length === 0) return;
      const encoded = texts.map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")]);
      draft["data"] = { ...fieldsAt(draft, "data"), ...Object.fromEntries(encoded) };
      delete draft["stringData"];
    },
    validateUpdate(object, stored) {
      const errors = staysAsItIs(object, stored);
      const type = textAt(object, "type");
      if (type !== textAt(stored, "type")) errors.push(invalid("type", type, "field is immutable"));
      return errors;
    },
  },
};

/** Configuration that is marked immutable. */
function staysAsItIs(object: StoredObject, stored: StoredObject): FieldError[] {
  if (stored["immutable"] !== true) return [];
  const errors: FieldError[] = [];
  const detail = "field is immutable when `immutable` is set";
  if (object["immutable"] !== true) errors.push(forbidden("immutable", detail));
  for (const name of ["data", "binaryData"]) {
    if (!jsonEqual(object[name], stored[name])) errors.push(forbidden(name, detail));
  }
  return errors;
}
