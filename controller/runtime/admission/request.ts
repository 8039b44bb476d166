/** What an admission handler is asked and what it answers, independent of the review's version. */
import type { JsonObject, JsonPatchOperation } from "../../../kube/core/index.ts";

export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  /** Plural of the resource. */
  readonly resource: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** May be empty while the server has yet to make it from `generateName`. */
  readonly name: string;
  readonly userName: string;
  readonly dryRun: boolean;
  /** Absent on DELETE. */
  readonly object: JsonObject | undefined;
  /** Present on UPDATE and DELETE, in the version of `object`. */
  readonly oldObject: JsonObject | undefined;
}

export type AdmissionResponse =
  | {
      readonly allowed: true;
      /** Turns the object into the admitted one; absent or empty: as it is. */
      readonly patch?: readonly JsonPatchOperation[];
      readonly warnings?: readonly string[];
    }
  | {
      readonly allowed: false;
      /** HTTP status that the API server's client sees. */
      readonly code: number;
      readonly message: string;
    };

/** Must not change the request. A thrown error becomes a denial with code 500. */
export type AdmissionHandler = (request: AdmissionRequest) => AdmissionResponse | Promise<AdmissionResponse>;

/** The answer that needs no bytes of its own. */
export const allowed: AdmissionResponse = { allowed: true };

export function denied(code: number, message: string): AdmissionResponse {
  return { allowed: false, code, message };
}

export function patched(patch: readonly JsonPatchOperation[]): AdmissionResponse {
  return patch.length === 0 ? allowed : { allowed: true, patch };
}
