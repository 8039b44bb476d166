/**
 * Objects in which some values are known only to Helm, as the text of a template. A hole is put into an object as a mark, a
 * text that goes through the code that makes the object like any other; the marks in its YAML are replaced by expressions.
 */
import { commentedYaml } from "../../cli/install/index.ts";

/** How a value of Helm stands in YAML: `word` can be no other YAML than text once quoted, `text` may hold anything. */
type ScalarType = "number" | "word" | "text";

type Hole =
  | { readonly kind: "scalar"; readonly type: ScalarType; readonly expression: string }
  | { readonly kind: "tree"; readonly expression: string }
  | { readonly kind: "spread"; readonly expression: string; readonly key?: string }
  | {
      readonly kind: "either";
      readonly condition: string;
      readonly then: unknown;
      readonly otherwise?: unknown;
    }
  | { readonly kind: "lines"; readonly lines: readonly string[] };

const markPattern = /⟦(\d+)⟧/g;
/** A field whose name or value is a mark, or an item that is one. */
const wholePattern = /^( *)((?:- )*)(?:⟦(\d+)⟧: null|(?:([^ ]+): )?⟦(\d+)⟧)$/;
/** Numbers cannot carry a mark: a hole that stands for one is a number that nothing else has. */
const firstNumber = 9_000_000;

/** The holes of one template. */
export class Holes {
  readonly #holes: Hole[] = [];

  #mark(hole: Hole): string {
    return `⟦${this.#holes.push(hole) - 1}⟧`;
  }

  /** A text: any that a user may write, or a `word` that the schema of the values lets through. */
  text(expression: string, type: "text" | "word" = "text"): string {
    return this.#mark({ kind: "scalar", type, expression });
  }

  /** Also within a text that is made of the number. */
  number(expression: string): number {
    return firstNumber + this.#holes.push({ kind: "scalar", type: "number", expression }) - 1;
  }

  /** The value of a field: an object or a list. */
  tree(expression: string): string {
    return this.#mark({ kind: "tree", expression });
  }

  /** Items among those of a list. */
  items(expression: string): string {
    return this.#mark({ kind: "spread", expression });
  }

  /** Fields among those of an object: of the value itself, or `key` with the value where it is not empty. */
  fields(expression: string, key?: string): Record<string, null> {
    return { [this.#mark({ kind: "spread", expression, ...(key === undefined ? {} : { key }) })]: null };
  }

  /** The value of a field or items of a list, by a condition. */
  either(condition: string, then: readonly unknown[], otherwise?: readonly unknown[]): string {
    return this.#mark({ kind: "either", condition, then, otherwise });
  }

  /** Fields among those of an object, by a condition. */
  fieldsIf(condition: string, then: object): Record<string, null> {
    return { [this.#mark({ kind: "either", condition, then })]: null };
  }

  /** Lines of a template, below a field. */
  lines(...lines: readonly string[]): string {
    return this.#mark({ kind: "lines", lines });
  }

  /** The template's text. Throws where a text would be read as an expression of Helm, or a hole stands where it cannot. */
  yaml(value: unknown, comments: Readonly<Record<string, string>> = {}): string {
    return this.#lines(value, 0, comments)
      .map((line) => `${line}\n`)
      .join("");
  }

  #lines(value: unknown, indent: number, comments: Readonly<Record<string, string>> = {}): string[] {
    const text = commentedYaml(this.#marked(value), comments);
    if (text.includes("{{")) throw new Error(`{{ in a text that is no expression: ${text}`);
    const lines = text.trimEnd().split("\n");
    return lines.flatMap((line) => this.#line(`${" ".repeat(indent)}${line}`));
  }

  #line(line: string): string[] {
    const [whole, spaces = "", dashes = "", field, key, value] = wholePattern.exec(line) ?? [];
    if (whole === undefined) return [this.#inline(line)];
    const hole = this.#holes[Number(field ?? value)];
    if (hole === undefined) throw new Error(`no hole for ${line}`);
    if (hole.kind === "scalar") {
      const filled = hole.type === "number" ? hole.expression : `${hole.expression} | quote`;
      return [`${spaces}${dashes}${key === undefined ? "" : `${key}: `}{{ ${filled} }}`];
    }
    if (key !== undefined) {
      const depth = spaces.length + dashes.length + 2;
      return [`${spaces}${dashes}${key}:`, ...this.#block(hole, depth)];
    }
    if (dashes !== (field === undefined ? "- " : "")) throw new Error(`a hole cannot stand here: ${line}`);
    return this.#block(hole, spaces.length);
  }

  #block(hole: Exclude<Hole, { kind: "scalar" }>, depth: number): string[] {
    const pad = " ".repeat(depth);
    switch (hole.kind) {
      case "lines":
        return hole.lines.map((line) => `${pad}${line}`);
      case "tree":
        return [`${pad}{{- toYaml ${hole.expression} | nindent ${depth} }}`];
      case "spread": {
        const inner = hole.key === undefined ? depth : depth + 2;
        return [
          `${pad}{{- with ${hole.expression} }}`,
          ...(hole.key === undefined ? [] : [`${pad}${hole.key}:`]),
          `${" ".repeat(inner)}{{- toYaml . | nindent ${inner} }}`,
          `${pad}{{- end }}`,
        ];
      }
      case "either":
        return [
          `${pad}{{- if ${hole.condition} }}`,
          ...this.#lines(hole.then, depth),
          ...(hole.otherwise === undefined
            ? []
            : [`${pad}{{- else }}`, ...this.#lines(hole.otherwise, depth)]),
          `${pad}{{- end }}`,
        ];
    }
  }

  /** Holes within a text. What a user wrote could be any YAML: such a line is put together and quoted by Helm. */
  #inline(line: string): string {
    const holes = [...line.matchAll(markPattern)].map(([, index]) => this.#holes[Number(index)]);
    const scalars = holes.flatMap((hole) => (hole?.kind === "scalar" ? [hole] : []));
    if (scalars.length !== holes.length) throw new Error(`a hole cannot stand within a text: ${line}`);
    if (!scalars.some(({ type }) => type === "text")) {
      let next = 0;
      return line.replace(markPattern, () => `{{ ${scalars[next++]?.expression} }}`);
    }
    const [, before = "", text = ""] = /^((?: |- )*(?:[^ ]+: )?)(.*)$/.exec(line) ?? [];
    if (/^["'|>]/.test(text)) throw new Error(`a hole cannot stand within a quoted text: ${line}`);
    const format = JSON.stringify(text.replaceAll("%", "%%").replace(markPattern, "%v"));
    const given = scalars.map(({ expression }) => `(${expression})`).join(" ");
    return `${before}{{ printf ${format} ${given} | quote }}`;
  }

  /** With marks in the place of the numbers that stand for holes, also where they became parts of texts. */
  #marked(value: unknown): unknown {
    if (typeof value === "number") return this.#markOf(value) ?? value;
    if (typeof value === "string") {
      const whole = /^\d{7}$/.test(value) ? this.#holes[Number(value) - firstNumber] : undefined;
      if (whole?.kind === "scalar") return this.#mark({ ...whole, type: "word" });
      return value.replace(/\b\d{7}\b/g, (digits) => this.#markOf(Number(digits)) ?? digits);
    }
    if (Array.isArray(value)) return value.map((item) => this.#marked(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#marked(item)]));
  }

  #markOf(number: number): string | undefined {
    return this.#holes[number - firstNumber] === undefined ? undefined : `⟦${number - firstNumber}⟧`;
  }
}
