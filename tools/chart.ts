/** The Helm chart in bundles/chart, as the manifest code and the table of values give it. `node tools/chart.ts` writes it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { stringify } from "yaml";
import { commentedYaml } from "../cli/install/index.ts";
import { chartTemplates, definitionFiles } from "./chart/templates.ts";
import { defaultValues, valueComments, valuesSchema } from "./chart/values.ts";
import { withValuesTable } from "./chart/values_table.ts";

export const root = join(import.meta.dirname, "..");

/** Text of each file that is made, by its path from the project's root. */
export function chartFiles(): ReadonlyMap<string, string> {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const files = new Map<string, string>([
    ["bundles/chart/Chart.yaml", chartYaml(String(version))],
    ["bundles/chart/values.yaml", `${valuesHeader}${commentedYaml(defaultValues(), valueComments())}`],
    ["bundles/chart/values.schema.json", `${JSON.stringify(valuesSchema(), undefined, 2)}\n`],
    ["docs/helm.md", withValuesTable(readFileSync(join(root, "docs/helm.md"), "utf8"))],
  ]);
  for (const [name, text] of chartTemplates()) files.set(`bundles/chart/templates/${name}`, text);
  for (const [name, definition] of definitionFiles())
    files.set(`bundles/chart/definitions/${name}`, stringify(definition, { lineWidth: 0 }));
  return files;
}

function chartYaml(version: string): string {
  return stringify({
    apiVersion: "v2",
    name: "refit",
    description:
      "Kubernetes workloads, refitted in place: the OpenKruise API by one lean controller and one light agent per node.",
    type: "application",
    version,
    appVersion: version,
    // Servers before do not know match conditions of webhooks.
    kubeVersion: ">=1.27.0-0",
  });
}

const valuesHeader =
  "# Written by `node tools/chart.ts` from tools/chart/values.ts. docs/helm.md says more about each value.\n";

/** Paths of files that are not as they would be made, and of definitions that are not made any more. */
export function staleFiles(): string[] {
  const made = chartFiles();
  const wrong = [...made].filter(([path, text]) => contentOf(path) !== text).map(([path]) => path);
  return [...wrong, ...obsoleteDefinitions(made)];
}

function contentOf(path: string): string | undefined {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined;
}

function obsoleteDefinitions(made: ReadonlyMap<string, string>): string[] {
  const folder = "bundles/chart/definitions";
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((path) => !made.has(path));
}

function writeFiles(): void {
  const made = chartFiles();
  for (const path of obsoleteDefinitions(made)) rmSync(join(root, path));
  for (const [path, text] of made) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFiles();
