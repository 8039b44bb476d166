/** Durations as the API writes them: `1h30m`, `1.5h`, `300ms`. */
import { goQuote } from "../../kube/core/index.ts";

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
/** About 290 years: what 64 bits of nanoseconds hold. */
const mostMs = 2 ** 63 / 1e6;

/** Milliseconds of a duration, or what is wrong with it. */
export function durationMs(text: string): { ms: number } | { complaint: string } {
  const invalid = { complaint: `time: invalid duration ${goQuote(text)}` };
  const sign = text.startsWith("-") ? -1 : 1;
  let rest = text.replace(/^[+-]/, "");
  if (rest === "0") return { ms: 0 };
  if (rest === "") return invalid;
  let ms = 0;
  while (rest !== "") {
    const part = /^(\d+(?:\.\d*)?|\.\d+)([^\d.]*)/.exec(rest);
    if (part === null) return invalid;
    const [whole, amount = "", unit = ""] = part;
    if (unit === "") return { complaint: `time: missing unit in duration ${goQuote(text)}` };
    const factor = Object.hasOwn(unitMs, unit) ? unitMs[unit] : undefined;
    if (factor === undefined) {
      return { complaint: `time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}` };
    }
    ms += Number(amount) * factor;
    rest = rest.slice(whole.length);
  }
  return ms >= mostMs ? invalid : { ms: sign * ms };
}
