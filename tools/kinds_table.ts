/** The table of kinds in docs/compatibility.md, as the list of kinds gives it. `node tools/kinds_table.ts` writes it. */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type KindDefinition, kinds } from "../crds/index.ts";

const file = new URL("../docs/compatibility.md", import.meta.url);

export const compatibility = (): string => readFileSync(file, "utf8");

/** The document with the table that there should be. */
export function withKindsTable(document: string): string {
  const rows = kinds.map(
    (kind) => `| ${kind.kind} | ${definitionText(kind)} | ${stateText(kind, document)} |`,
  );
  const table = ["| kind | definition | notes |", "|---|---|---|", ...rows];
  return document.replace(/\| kind \| definition .*?\n\n/s, `${table.join("\n")}\n\n`);
}

function definitionText({ versions, conversion }: KindDefinition): string {
  const names = versions.map(({ name, storage }) =>
    storage && versions.length > 1 ? `${name} (storage)` : name,
  );
  return `${names.join(", ")}${conversion === "None" ? "" : ", converted by webhook"}`;
}

function stateText({ kind }: KindDefinition, document: string): string {
  const heading = document.match(new RegExp(`^## (.*\\b${kind}\\b.*)$`, "m"))?.[1];
  if (heading === undefined) return "none";
  const anchor = heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
  return `[notes](#${anchor})`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  writeFileSync(file, withKindsTable(compatibility()));
