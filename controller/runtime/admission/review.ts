/** AdmissionReview of admission.k8s.io, versions v1 and v1beta1, from and to bytes. */
import { deepestJson, isJsonObject, isTooDeep, type JsonObject, own } from "../../../kube/core/index.ts";
import { messageOf } from "../../../kube/index.ts";
import { objectAt, textAt } from "../../native/json_fields.ts";
import type { AdmissionOperation, AdmissionRequest, AdmissionResponse } from "./request.ts";

const versions = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] as const;
type ReviewVersion = (typeof versions)[number];

export interface Review {
  readonly apiVersion: ReviewVersion;
  readonly request: AdmissionRequest;
}

/** The object in `body`, or a sentence that says why there is none. */
export function parseBody(body: Buffer): JsonObject | string {
  if (body.length === 0) return "request body is empty";
  if (isTooDeep(body)) return `request body is nested deeper than ${deepestJson} levels`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch (error) {
    return `request body is not JSON: ${messageOf(error)}`;
  }
  return isJsonObject(parsed) ? parsed : "request body is not an object";
}

/** The review in `body`, or a sentence that says why it is none. */
export function decodeReview(body: Buffer): Review | string {
  const parsed = parseBody(body);
  if (typeof parsed === "string") return parsed;
  const apiVersion = versions.find((version) => version === parsed["apiVersion"]);
  if (parsed["kind"] !== "AdmissionReview" || apiVersion === undefined) {
    return `request body is no AdmissionReview of ${versions.join(" or ")}`;
  }
  const request = own(parsed, "request");
  if (!isJsonObject(request)) return "AdmissionReview has no request";
  const uid = textAt(request, "uid");
  if (uid === "") return "AdmissionReview has no request.uid";
  const operation = operations.find((known) => known === request["operation"]);
  if (operation === undefined)
    return `AdmissionReview has an unknown operation ${JSON.stringify(request["operation"])}`;
  return { apiVersion, request: readRequest(request, uid, operation) };
}

const operations: readonly AdmissionOperation[] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

function readRequest(request: JsonObject, uid: string, operation: AdmissionOperation): AdmissionRequest {
  const resource = objectAt(request, "resource");
  return {
    uid,
    operation,
    group: textAt(resource, "group"),
    version: textAt(resource, "version"),
    resource: textAt(resource, "resource"),
    subresource: textAt(request, "subResource"),
    namespace: textAt(request, "namespace"),
    name: textAt(request, "name"),
    userName: textAt(objectAt(request, "userInfo"), "username"),
    dryRun: request["dryRun"] === true,
    object: object(request, "object"),
    oldObject: object(request, "oldObject"),
  };
}

function object(parent: JsonObject, key: string): JsonObject | undefined {
  const value = own(parent, key);
  return isJsonObject(value) ? value : undefined;
}

/** Of the refusals that clients tell apart by it. */
const reasons: Readonly<Record<number, string>> = { 403: "Forbidden", 429: "TooManyRequests" };

const plainUid = /^[-0-9A-Za-z]+$/;

/** The bytes of an answer. Most answers allow without a patch; they are put together from constants. */
export function encodeReview(apiVersion: ReviewVersion, uid: string, response: AdmissionResponse): Buffer {
  const head = `{"kind":"AdmissionReview","apiVersion":"${apiVersion}","response":{"uid":${plainUid.test(uid) ? `"${uid}"` : JSON.stringify(uid)},"allowed":`;
  if (!response.allowed) {
    const { code, message } = response;
    const reason = reasons[code];
    const status = reason === undefined ? { code, message } : { code, reason, message };
    return Buffer.from(`${head}false,"status":${JSON.stringify({ metadata: {}, ...status })}}}`);
  }
  const { patch, warnings } = response;
  const warned =
    warnings === undefined || warnings.length === 0 ? "" : `,"warnings":${JSON.stringify(warnings)}`;
  if (patch === undefined || patch.length === 0) return Buffer.from(`${head}true${warned}}}`);
  return withBase64(
    `${head}true,"patchType":"JSONPatch","patch":"`,
    Buffer.from(JSON.stringify(patch)),
    `"${warned}}}`,
  );
}

/** Nearly all of an answer is the patch: as part of a text it would be copied twice more on its way out. */
function withBase64(before: string, data: Buffer, after: string): Buffer {
  const length = 4 * Math.ceil(data.length / 3);
  const from = Buffer.byteLength(before);
  const bytes = Buffer.allocUnsafe(from + length + Buffer.byteLength(after));
  bytes.write(before);
  bytes.write(data.toString("base64"), from, "latin1");
  bytes.write(after, from + length);
  return bytes;
}

/** The answer to a body that is no review. */
export function encodeProblem(code: number, message: string): Buffer {
  return encodeReview("admission.k8s.io/v1", "", { allowed: false, code, message });
}
