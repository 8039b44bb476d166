/** For tests of admission. */

import type { AdmissionRequest } from "../../controller/runtime/admission/request.ts";
import { frozen } from "./frozen_builder.ts";

/** What the API server asks: about a creation, an update if there is an old object, a deletion if there is only that. */
export function admissionRequest(given: Partial<AdmissionRequest>): AdmissionRequest {
  const { object, oldObject } = given;
  const { apiVersion = "v1", kind = "Pod", metadata } = Object(object ?? oldObject);
  const [version, group = ""] = String(apiVersion).split("/").reverse();
  return {
    uid: "u",
    operation: object === undefined ? "DELETE" : oldObject === undefined ? "CREATE" : "UPDATE",
    group,
    version: version ?? "",
    resource: `${String(kind).toLowerCase()}s`,
    subresource: "",
    namespace: "default",
    name: metadata?.name ?? "",
    userName: "someone",
    dryRun: false,
    ...given,
    // No handler may change what it is asked about.
    object: frozen(object),
    oldObject: frozen(oldObject),
  };
}
