/** The door for browsers: label selectors alone, without what else is here. */
export { errorText } from "./errors.ts";
export type { Selector } from "./selector.ts";
export { parseSelector } from "./selector_text.ts";
