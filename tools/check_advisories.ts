/**
 * `npm run check:advisories`: are there known vulnerabilities in what ships? Asks the registry as `npm audit --omit=dev` does.
 * A registry that cannot be asked is no failure: that is said, and nothing is known then. With `--require`, as a release has it,
 * it is one.
 */
import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

export interface Finding {
  readonly code: 0 | 1;
  readonly line: string;
}

/** `answer`: what `npm audit --json` printed; `isRequired`: whether no answer is a failure. */
export function findingOf(answer: string, isRequired: boolean): Finding {
  const found = countsIn(answer);
  if (typeof found === "string")
    return { code: isRequired ? 1 : 0, line: `advisories: no data, nothing was checked (${found})` };
  const total = found["total"] ?? 0;
  if (total === 0) return { code: 0, line: "advisories: none is known of what ships" };
  const parts = Object.entries(found).filter(([severity, count]) => severity !== "total" && count > 0);
  const list = parts.map(([severity, count]) => `${count} ${severity}`).join(", ");
  return {
    code: 1,
    line: `advisories: ${list}; \`npm audit --omit=dev\` names them and the versions without them`,
  };
}

/** By severity, with their total; a text: why nothing is known. */
function countsIn(answer: string): Readonly<Record<string, number>> | string {
  let report: null | { message?: string; metadata?: { vulnerabilities?: Record<string, number> } };
  try {
    report = JSON.parse(answer);
  } catch {
    return "npm audit printed no report";
  }
  return report?.metadata?.vulnerabilities ?? report?.message ?? "npm audit printed no counts";
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({ options: { require: { type: "boolean", default: false } } });
  const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], { encoding: "utf8" });
  const { code, line } = findingOf(stdout ?? "", values.require);
  process.stdout.write(`${line}\n`);
  process.exitCode = code;
}
