import { isKubeError } from "../../../kube/index.ts";
import { describeError } from "../../errors.ts";
import { cannotTell } from "../../why/answer.ts";
import { missingRight } from "../../why/causes/reader.ts";

/** Why something could not be read: a right that is missing in plain words, any other failure in those of the server. */
export function unreadLine(what: string, error: unknown): string {
  const rule = isKubeError(error, "Forbidden") ? missingRight(error.message) : undefined;
  return rule === undefined
    ? `${what}: ${describeError(error)}`
    : cannotTell([{ what, why: "not allowed", rule }]);
}
