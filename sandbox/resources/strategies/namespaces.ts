/** Namespaces and nodes. */
import { setAt, textAt } from "../../json.ts";
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
  serviceaccounts: {},
  secrets: {
    defaults(draft) {
      if (textAt(draft, "type") === "") draft["type"] = "Opaque";
    },
  },
};
