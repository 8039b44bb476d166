import { cloneJson } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import type { Fields } from "../../json.ts";

/** Gives each new object this status. */
export function initialStatus(status: Fields): (draft: StoredObject) => void {
  return (draft) => {
    draft["status"] = cloneJson(status);
  };
}
