/** Statuses that admission writes, too: many times a second while many pods come or go at once. */
import { createMergePatch } from "../../kube/core/index.ts";
import type { StatusPatch } from "../plan/effects.ts";

/**
 * Writes `status` on the version that it was worked out of. The object may be another one by the time that the request is sent: then
 * the plan is renewed, unless the spec has changed, which needs another pass.
 */
export function exactStatus(
  { status: before = {} }: { readonly status?: object | undefined },
  status: object,
): StatusPatch {
  return { type: "patch status", status: createMergePatch(before, status), exact: true, renewable: true };
}
