/** The filter by labels, in the grammar of kubectl's `-l`. */
import { errorText, parseSelector } from "../../../kube/core/label_selectors.ts";

export interface LabelFilter {
  matches(labels: Readonly<Record<string, string>>): boolean;
  /** Why it cannot be read; then it matches everything. */
  readonly problem?: string;
}

/** `app=web,tier!=db`; nothing asks for nothing. */
export function labelFilter(text: string): LabelFilter {
  try {
    const selector = parseSelector(text);
    return { matches: (labels) => selector.matches(labels) };
  } catch (error) {
    return { matches: () => true, problem: errorText(error) };
  }
}
