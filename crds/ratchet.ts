/** What is refused of an update: what is new in it. */
import type { FieldError } from "../kube/core/index.ts";

type Validate<T, Context extends readonly unknown[]> = (
  next: T,
  old?: T,
  ...context: Context
) => FieldError[];

/**
 * The rules, without the errors that the stored object has already. It may come from where rules were others, or from a time
 * when no webhook looked: that must not keep anybody from changing the rest of it.
 */
export function ratcheted<T, Context extends readonly unknown[]>(
  validate: Validate<T, Context>,
): Validate<T, Context> {
  return (next, old, ...context) => {
    const errors = validate(next, old, ...context);
    if (old === undefined || errors.length === 0) return errors;
    const stored = counted(validate(old, undefined, ...context).map(sameness));
    // As often as it is stored: of a list whose errors name the list alone, one more is a new one.
    return errors.filter((error) => {
      const same = sameness(error);
      const left = stored.get(same) ?? 0;
      stored.set(same, left - 1);
      return left <= 0;
    });
  };
}

/** The same of rules that complain in plain words: the first complaint for which the stored object gives no reason. */
export function newComplaint<T>(
  complaintsOf: (object: T) => readonly string[],
  next: T,
  old: T | undefined,
): string | undefined {
  const stored = new Set(old === undefined ? [] : complaintsOf(old));
  return complaintsOf(next).find((complaint) => !stored.has(complaint));
}

function counted(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Of an object as a value only some part is wrong: the rest of it may change. */
function sameness({ type, path, value, detail }: FieldError): string {
  return JSON.stringify([type, path, typeof value === "object" ? null : value, detail]);
}
