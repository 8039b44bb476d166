/** Admission of EphemeralJobs. Spec: containers 5.6. */
import { SchemaError, validateEphemeralJob } from "../../crds/index.ts";
import { formatFieldErrors } from "../../kube/core/index.ts";
import { type AdmissionHandler, allowed, denied } from "../admission/request.ts";

/** The handler of `/validate-apps-kruise-io-v1alpha1-ephemeraljob`. */
export const validateEphemeralJobRequest: AdmissionHandler = ({ object }) => {
  if (object === undefined) return denied(400, "there is no content to decode");
  // Stored while no webhook looked, it may be malformed: its finalizer can still go.
  if (Object(object["metadata"]).deletionTimestamp !== undefined) return allowed;
  try {
    const errors = validateEphemeralJob(object);
    return errors.length === 0 ? allowed : denied(400, formatFieldErrors(errors));
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
};
