/** A reader of the Prometheus text format, as strict as a scraper: what it does not know is an error. */

export interface ParsedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: { readonly labels: Record<string, string>; readonly value: number }[];
}

const headPattern = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s;
const samplePattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|NaN|\+Inf)$/s;
const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/y;

/** Families in their order. Throws for lines that do not belong to the format, for families that come twice, for equal samples. */
export function parsedMetrics(text: string): ParsedFamily[] {
  const families = new Map<string, { help: string; type: string; samples: ParsedFamily["samples"] }>();
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, word, name = "", rest = ""] = headPattern.exec(line) ?? [];
    if (word === "HELP") {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      families.set(name, { help: unescaped(rest), type: "", samples: [] });
    } else if (word === "TYPE") familyOf(families, name).type = rest;
    else addSample(families, line);
  }
  return [...families].map(([name, family]) => ({ name, ...family }));
}

function addSample(families: Map<string, { type: string; samples: ParsedFamily["samples"] }>, line: string) {
  const found = samplePattern.exec(line);
  if (found === null) throw new Error(`not of the format: ${line}`);
  const [, name = "", labels = "", value] = found;
  const base = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
  const { samples, type } = familyOf(families, base);
  const sample = { labels: parsedLabels(labels), value: Number(value) };
  const isSame = ({ labels: other }: { labels: object }) =>
    JSON.stringify(other) === JSON.stringify(sample.labels);
  if (type === "gauge" && samples.some(isSame)) throw new Error(`comes twice: ${line}`);
  samples.push(sample);
}

function familyOf<T>(families: Map<string, T>, name: string): T {
  const family = families.get(name);
  if (family === undefined) throw new Error(`${name} has no help`);
  return family;
}

function parsedLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  labelPattern.lastIndex = 0;
  while (labelPattern.lastIndex < text.length) {
    const at = labelPattern.lastIndex;
    const [, name = "", value = ""] = labelPattern.exec(text) ?? [];
    if (name === "" || Object.hasOwn(labels, name)) throw new Error(`not of the format: ${text.slice(at)}`);
    labels[name] = unescaped(value);
  }
  return labels;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}
