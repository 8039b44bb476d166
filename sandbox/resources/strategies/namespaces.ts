/** Namespaces and nodes. */
import { setAt, textAt } from "../../json.ts";
import type { Strategy } from "../resource.ts";

export const namespaceRules: Readonly<Record<string, Partial<Strategy>>> = {
  namespaces: {
    defaults(draft) {
      const name = draft.metadata.name ?? "";
      if (name !== "")
        draft.metadata.labels = { "kubernetes.io/metadata.name": name, ...draft.metadata.labels };
    },
    prepareCreate(draft) {
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
  serviceaccounts: {},
  secrets: {
    defaults(draft) {
      if (textAt(draft, "type") === "") draft["type"] = "Opaque";
    },
  },
};
