/** Changes of objects that hold only for the version that was read. */
import { applyJsonPatch } from "../kube/core/index.ts";
import type { JsonPatchOperation, WriteOptions } from "../kube/index.ts";
import type { ClusterAccess } from "./command.ts";
import { type AnyObject, at, isFields, type Step, toAnyObject } from "./fields.ts";
import { objectResource, type ResourceType } from "./resource_types.ts";
import type { DryRun } from "./result.ts";
import type { Target } from "./target.ts";

/** What managed fields and the audit log call this program. */
export const fieldManager = "refit-cli";

export interface ObjectChange {
  readonly operations: readonly JsonPatchOperation[];
  readonly dryRun: DryRun;
}

/** A JSON patch, a conflict once the object is another than `seen`. With dry run `client` nothing is sent. */
export async function changeObject(
  access: ClusterAccess,
  target: Target,
  seen: AnyObject,
  change: ObjectChange,
): Promise<AnyObject> {
  if (change.dryRun === "client") return toAnyObject(applyJsonPatch(seen, change.operations));
  const version = seen.metadata.resourceVersion;
  // Setting the version that was read makes the server compare: another one is a 409.
  const guard: JsonPatchOperation[] =
    version === undefined ? [] : [{ op: "replace", path: "/metadata/resourceVersion", value: version }];
  return access.client.patch(
    objectResource(target.type),
    target.ref,
    { type: "json", body: [...guard, ...change.operations] },
    optionsOf(change.dryRun),
  );
}

/** Creates an object; with dry run `client` nothing is sent. */
export async function createObject(
  { client, namespace }: ClusterAccess,
  type: ResourceType,
  object: AnyObject,
  dryRun: DryRun,
): Promise<AnyObject> {
  if (dryRun === "client") return object;
  return client.create(objectResource(type), namespace, object, optionsOf(dryRun));
}

function optionsOf(dryRun: DryRun): WriteOptions {
  return { fieldManager, ...(dryRun === "server" ? { dryRun: true } : {}) };
}

/** Sets the value at a path, making the objects on the way that are missing. */
export function setOperations(
  object: AnyObject,
  path: readonly string[],
  value: unknown,
): JsonPatchOperation[] {
  const isMissing = (depth: number): boolean => !isFields(at(object, ...path.slice(0, depth)));
  const depth = path.findIndex((_, index) => index > 0 && isMissing(index));
  const made = depth < 0 ? path.length : depth;
  return [{ op: "add", path: pointer(path.slice(0, made)), value: nest(path.slice(made), value) }];
}

function nest(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
}

/** JSON pointer of RFC 6901. */
export function pointer(path: readonly Step[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
