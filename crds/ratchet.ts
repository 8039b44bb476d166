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
    const stored = new Set(validate(old, undefined, ...context).map(sameness));
    return errors.filter((error) => !stored.has(sameness(error)));
  };
}

/** Of an object as a value only some part is wrong: the rest of it may change. */
function sameness({ type, path, value, detail }: FieldError): string {
  return JSON.stringify([type, path, typeof value === "object" ? null : value, detail]);
}
