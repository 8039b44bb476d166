/** Field selectors: `status.phase!=Running,spec.nodeName=a`. */
import { ParseError } from "./errors.ts";
import { compareBytes } from "./go_text.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** `fieldValue` gives the text of a field, empty where the object has none. */
  matches(fieldValue: (field: string) => string): boolean;
}

/** Parses a field selector; the empty text matches everything. Throws ParseError `InvalidSelector`. */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort(compareBytes)) {
    if (term === "") continue;
    const match = /!=|==|=/.exec(term);
    if (match === null) {
      throw new ParseError("InvalidSelector", `invalid selector: '${text}'; can't understand '${term}'`);
    }
    const field = term.slice(0, match.index);
    const value = unescapeValue(term.slice(match.index + match[0].length));
    // A bare operator asks for nothing.
    if (field === "" && value === "") continue;
    requirements.push({ field, operator: match[0] === "!=" ? "!=" : "=", value });
  }
  return {
    requirements,
    matches: (fieldValue) =>
      requirements.every(
        ({ field, operator, value }) => (fieldValue(field) === value) === (operator === "="),
      ),
  };
}

function splitTerms(text: string): string[] {
  return text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? [];
}

function unescapeValue(text: string): string {
  return text.replace(/\\(.?)|[,=]/gsu, (whole, escaped: string | undefined) => {
    if (escaped === undefined) {
      const code = whole.codePointAt(0);
      throw new ParseError(
        "InvalidSelector",
        `invalid field selector: unescaped character in value: ${code}`,
      );
    }
    if (escaped !== "" && "\\,=".includes(escaped)) return escaped;
    throw new ParseError("InvalidSelector", `invalid field selector: invalid escape sequence: ${whole}`);
  });
}
