/** Label selectors out of unchecked input. */
import type { SelectorInput } from "../../selector.ts";
import type { Cursor } from "./cursor.ts";
import { textMap } from "./object_meta.ts";

/** The selector that an object holds; what is of another type is left out. */
export function selectorInput(cursor: Cursor | undefined): SelectorInput | undefined {
  if (cursor === undefined) return undefined;
  return {
    matchLabels: textMap(cursor, "matchLabels"),
    matchExpressions: cursor.objects("matchExpressions").map((expression) => ({
      key: expression.text("key"),
      operator: expression.text("operator"),
      values: expression.texts("values"),
    })),
  };
}
