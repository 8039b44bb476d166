/** The table of values in docs/helm.md. */
import { type ChartValue, chartValues } from "./values.ts";

const begin = "<!-- values -->\n";
const end = "<!-- end of values -->\n";

/** The document with the table that there should be between its marks. Throws where it has no marks. */
export function withValuesTable(document: string): string {
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from)
    throw new Error(`the document needs the lines ${begin.trim()} and ${end.trim()}`);
  const rows = chartValues.map(
    (value) =>
      `| \`${value.path}\` | ${stateOf(value)} | ${cell(value.default)} | ${cell(value.reference)} | ${value.help} |`,
  );
  const table = [
    "| value | here | default | in OpenKruise's chart | what it does |",
    "|---|---|---|---|---|",
    ...rows,
  ];
  return `${document.slice(0, from)}${begin}\n${table.join("\n")}\n\n${document.slice(to)}`;
}

function stateOf(value: ChartValue): string {
  if (value.default === undefined) return "without effect";
  if (value.reference === undefined) return "new";
  const isSame =
    value.reference === "the same" || JSON.stringify(value.reference) === JSON.stringify(value.default);
  return isSame ? "kept" : "kept, other default";
}

function cell(value: unknown): string {
  if (value === undefined) return "";
  if (value === "the same") return value;
  const json = JSON.stringify(value);
  return json.length > 60 ? "see values.yaml" : `\`${json}\``;
}
