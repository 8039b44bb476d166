/** Options of the programs that run acceptance suites: what node:util parses, and what their `--help` says. */

interface SuiteOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** How the help calls the value. */
  readonly value?: string;
  readonly default?: string | boolean;
  readonly help: string;
}

export type SuiteOptions = Readonly<Record<string, SuiteOption>>;

/** What `read` makes of the command line; a refusal is one line, and ends the process with code 2. */
export function readArguments<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return process.exit(2);
  }
}

/** What a program is, how it is called, and a line an option. */
export function usageOf(about: string, call: string, options: SuiteOptions): string {
  const heads = Object.entries(options).map(([name, { value }]) => `--${name}${value ? ` ${value}` : ""}`);
  const width = Math.max(...heads.map((head) => head.length));
  const lines = Object.values(options).map(({ help, default: initial }, index) => {
    const ending = typeof initial === "string" ? ` Default ${initial}.` : "";
    return `  ${(heads[index] ?? "").padEnd(width)}  ${help}${ending}`;
  });
  return `${about}\n\nUsage: ${call}\n\nOptions:\n${lines.join("\n")}`;
}

/** Numbers and titles of suites, a line each. */
export function suiteLines(suites: readonly { readonly number: string; readonly title: string }[]): string {
  const titles = new Map(suites.map(({ number, title }) => [number, title]));
  return [...titles]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([number, title]) => `  ${number.padEnd(4)} ${title}`)
    .join("\n");
}
