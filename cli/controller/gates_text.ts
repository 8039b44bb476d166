/** The feature gates, as the help lists them. */
import { featureGateDefaults } from "../../controller/index.ts";

/** Gate, stage and default, a line each. */
export function gatesText(): string {
  const width = Math.max(...featureGateDefaults.map(({ name }) => name.length));
  const lines = featureGateDefaults.map(
    ({ name, stage, enabled }) => `  ${name.padEnd(width)}  ${stage.padEnd(5)}  ${enabled ? "on" : "off"}`,
  );
  return ["Feature gates (--feature-gates), with their stage and default:", ...lines].join("\n");
}
