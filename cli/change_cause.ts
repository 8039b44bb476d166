/**
 * The annotation that says why a template is as it is. Controllers copy it to the revision that they make of the template:
 * one that stays on the workload would describe the next revision, too.
 */
import type { JsonPatchOperation } from "../kube/index.ts";
import { type AnyObject, textAt } from "./fields.ts";
import { pointer, setOperations } from "./write.ts";

const path = ["metadata", "annotations", "kubernetes.io/change-cause"];

/** Undefined where nobody has said. */
export function changeCauseOf(object: AnyObject): string | undefined {
  return textAt(object, ...path) || undefined;
}

/** For a change of the template by a command: as with kubectl, only workloads that name causes get one. */
export function causeOfCommand(object: AnyObject, commandLine: string): JsonPatchOperation[] {
  return changeCauseOf(object) === undefined ? [] : restoredCause(object, commandLine);
}

/** For a template that is put back: its cause comes back with it. */
export function restoredCause(object: AnyObject, cause: string | undefined): JsonPatchOperation[] {
  if (cause !== undefined) return setOperations(object, path, cause);
  return textAt(object, ...path) === undefined ? [] : [{ op: "remove", path: pointer(path) }];
}
