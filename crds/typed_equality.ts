/** Whether two values mean the same to clients with types. */
import { encodeTyped, jsonEqual } from "../kube/core/index.ts";
import { wireStruct } from "./wire_types.ts";

/**
 * Typed clients write zeros that nobody gave them (`resources: {}`, `creationTimestamp: null`) and drop those that somebody did
 * (`serviceName: ""`). Neither is a change of what may not change. `type`: a name in wire_types.ts, or of a core type.
 */
export function sameAsTyped(left: unknown, right: unknown, type: string): boolean {
  return jsonEqual(encodeTyped(left, type, wireStruct), encodeTyped(right, type, wireStruct));
}
