/** Options of the bench's commands: what node:util parses, and what the help says. */

export interface Option {
  readonly type: "string";
  readonly default?: string;
  readonly multiple?: boolean;
  /** How the help calls the value. */
  readonly value: string;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, Option>>;

/** A line an option, with its default. */
export function optionLines(table: OptionTable): string[] {
  const heads = Object.entries(table).map(([name, { value }]) => `--${name} ${value}`);
  const width = Math.max(...heads.map((head) => head.length));
  return Object.values(table).map((option, index) => {
    const initial = option.default === undefined ? "" : ` Default ${option.default}.`;
    return `  ${(heads[index] ?? "").padEnd(width)}  ${option.help}${initial}`;
  });
}
