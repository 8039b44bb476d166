/** Null members of a request's object count as absent, whatever the handler does. */
import { withoutNulls } from "../../crds/index.ts";
import { diffPositional } from "../../kube/core/index.ts";
import { type AdmissionHandler, patched } from "./request.ts";

/** The mutating handler, asked about the object without nulls; its answer also drops them from the admitted one. */
export function droppingNulls(handler: AdmissionHandler): AdmissionHandler {
  return async (request) => {
    if (request.object === undefined) return handler(request);
    const object = withoutNulls(request.object);
    const answer = await handler(object === request.object ? request : { ...request, object });
    if (!answer.allowed || object === request.object) return answer;
    const dropping = patched([...diffPositional(request.object, object), ...(answer.patch ?? [])]);
    return { ...answer, ...dropping };
  };
}
