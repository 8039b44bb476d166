/** The four kinds of patches. */
import { parse as parseYaml } from "yaml";
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicPatch,
  coreTypeOf,
  errorText,
  type FieldError,
  invalid as fieldInvalid,
  type JsonPatchOperation,
  PatchError,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, isFields } from "../json.ts";
import type { Revision } from "../revision.ts";
import { applyConfiguration } from "../writes/apply.ts";
import type { CreateParts } from "../writes/create.ts";
import type { WriteRequest } from "../writes/request.ts";
import { updateObject } from "../writes/update.ts";
import { convertObject, workingVersion } from "../writes/working.ts";
import { ApiError, badRequest, invalid, unsupportedMediaType } from "./api_error.ts";
import { expectedOf, typedObject } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import type { Target } from "./target.ts";

const jsonPatch = "application/json-patch+json";
const mergePatch = "application/merge-patch+json";
const strategicPatch = "application/strategic-merge-patch+json";
const applyPatch = "application/apply-patch+yaml";

const operationLimit = 10_000;

export async function patchChange(
  world: CreateParts,
  exchange: Exchange,
  target: Target,
  request: WriteRequest,
): Promise<Revision> {
  const type = exchange.header("content-type")?.split(";")[0]?.trim() ?? "";
  const accepted = target.served.resource.custom
    ? [jsonPatch, mergePatch, applyPatch]
    : [jsonPatch, mergePatch, strategicPatch, applyPatch];
  checkType(type, accepted);
  const text = (await exchange.body()).toString();
  if (type === applyPatch) {
    const configuration = parsePatch(text, true);
    if (!isFields(configuration)) throw badRequest("error decoding YAML: the configuration is not an object");
    return applyConfiguration(world, exchange, target, request, configuration);
  }
  const patch = parsePatch(text, false);
  return updateObject(world, request, async (current) => {
    const { served } = target;
    const before = await convertObject(current, served, served.apiVersion);
    const patched = refusals(type, () => applied(before, patch, type, served));
    const draft = typedObject(exchange, patched, expectedOf(served));
    checkIdentity(target, draft, before);
    return { draft: await convertObject(draft, served, workingVersion(served)) };
  });
}

/** A patch cannot make an object another one. */
function checkIdentity({ served, name }: Target, draft: StoredObject, before: StoredObject): void {
  const errors: FieldError[] = [];
  for (const field of ["name", "namespace", "uid"] as const) {
    const wanted = draft.metadata[field];
    if (wanted !== before.metadata[field])
      errors.push(fieldInvalid(`metadata.${field}`, wanted ?? "", "field is immutable"));
  }
  if (errors.length > 0) throw invalid(served, name, errors);
}

function checkType(type: string, accepted: readonly string[]): void {
  if (accepted.includes(type)) return;
  const known = [jsonPatch, mergePatch, strategicPatch, applyPatch].includes(type);
  throw known
    ? unsupportedMediaType(accepted)
    : new ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
}

/** A patch as a function, for subresources that are not stored themselves. Server-side apply merges it too. */
export async function mergedPatch(
  exchange: Exchange,
  apiVersion: string,
  kind: string,
): Promise<(current: StoredObject) => Fields> {
  const type = exchange.header("content-type")?.split(";")[0]?.trim() ?? "";
  const accepted = [jsonPatch, mergePatch, strategicPatch, applyPatch];
  checkType(type, accepted);
  const patch = parsePatch((await exchange.body()).toString(), type === applyPatch);
  const plain = type === applyPatch ? mergePatch : type;
  return (current) => refusals(type, () => applied(current, patch, plain, { apiVersion, kind }));
}

function parsePatch(text: string, yaml: boolean): unknown {
  try {
    return yaml ? parseYaml(text) : JSON.parse(text);
  } catch (error) {
    throw badRequest(`error decoding ${yaml ? "YAML" : "patch"}: ${errorText(error)}`);
  }
}

function applied(
  before: StoredObject,
  patch: unknown,
  type: string,
  typed: { readonly apiVersion: string; readonly kind: string },
): Fields {
  if (type === jsonPatch) {
    if (!isOperations(patch)) {
      throw badRequest(
        "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
      );
    }
    if (patch.length > operationLimit) {
      const message = `The allowed maximum operations in a JSON patch is ${operationLimit}, got ${patch.length}`;
      throw new ApiError(413, "RequestEntityTooLarge", message);
    }
    return applyJsonPatch(before, patch);
  }
  if (!isFields(patch)) throw badRequest("error decoding patch: the patch is not an object");
  if (type === mergePatch) return applyMergePatch(before, patch);
  const typeName = coreTypeOf(typed.apiVersion, typed.kind);
  if (typeName === undefined) {
    throw badRequest(`the sandbox has no strategic merge rules for ${typed.apiVersion} ${typed.kind}`);
  }
  return applyStrategicPatch(before, patch, typeName);
}

function isOperations(value: unknown): value is JsonPatchOperation[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item) => isFields(item) && typeof item["op"] === "string" && typeof item["path"] === "string",
    )
  );
}

/** A patch that does not fit the object is a bad request in the server's own words. */
function refusals<T>(type: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (type === strategicPatch) throw new ApiError(500, "", error.message);
    throw new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {});
  }
}
