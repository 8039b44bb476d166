/** Answers that a command prints as one object, for scripts: `-o json` or `-o yaml`. */
import { textFlag } from "./arguments.ts";
import type { Call } from "./command.ts";
import { CliError } from "./errors.ts";
import { renderObject } from "./result.ts";
import type { Target } from "./target.ts";

export type AnswerFormat = "json" | "yaml";

export const answerFlag = {
  output: textFlag("json|yaml", "Form of the output, for scripts.", { short: "o" }),
} as const;

/** Undefined: sentences. Throws CliError. */
export function answerFormat({ flags }: Call): AnswerFormat | undefined {
  const text = flags.text("output") ?? "";
  if (text === "") return undefined;
  if (text === "json" || text === "yaml") return text;
  throw new CliError(`invalid value "${text}" for --output: must be json or yaml`);
}

export function printObject({ io }: Call, value: object, format: AnswerFormat): void {
  io.stdout.write(renderObject(value, format));
}

/** Which object an answer is about. */
export interface AnsweredObject {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export function answeredObject({ type, ref }: Target): AnsweredObject {
  const { group, kind } = type;
  const { namespace, name } = ref;
  return namespace === undefined ? { group, kind, name } : { group, kind, namespace, name };
}
