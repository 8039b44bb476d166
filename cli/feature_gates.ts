/** Feature gates that users name. */
import { FeatureGateError, type FeatureGates, parseFeatureGates } from "../controller/index.ts";
import { CliError } from "./errors.ts";

/** Throws CliError for gates that are not known; `words` say where they come from and what to do. */
export function featureGates(
  text: string,
  words = (problem: string) => `--feature-gates: ${problem}`,
): FeatureGates {
  try {
    return parseFeatureGates(text);
  } catch (error) {
    if (!(error instanceof FeatureGateError)) throw error;
    throw new CliError(words(error.message), { cause: error });
  }
}
