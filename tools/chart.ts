/**
 * The Helm chart in bundles/chart and the kustomize base in bundles/kustomize, as the manifest code and the table of values
 * give them. `node tools/chart.ts` writes them.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { stringify } from "yaml";
import {
  agentPort,
  commentedYaml,
  controllerPorts,
  explainedYaml,
  installObjects,
  installReasons,
  usualServerPorts,
} from "../cli/install/index.ts";
import { chartTemplates, definitionFiles } from "./chart/templates.ts";
import { agentImage, controllerImage, defaultValues, valueComments, valuesSchema } from "./chart/values.ts";
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
    files.set(`${definitionsFolder}/${name}`, stringify(definition, { lineWidth: 0 }));
  files.set(`${definitionsFolder}/kustomization.yaml`, kustomization([...definitionFiles().keys()]));
  files.set(
    "bundles/kustomize/kustomization.yaml",
    kustomization(["../chart/definitions", "manifests.yaml"]),
  );
  files.set("bundles/kustomize/manifests.yaml", plainManifests(String(version)));
  return files;
}

const definitionsFolder = "bundles/chart/definitions";

function kustomization(resources: readonly string[]): string {
  return stringify({ apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources });
}

/** What an installation applies beside the definitions. */
function plainManifests(version: string): string {
  return installObjects({
    namespace: "kruise-system",
    webhookHost: undefined,
    webhookPort: 9876,
    controller: {
      image: `${controllerImage}:${version}`,
      replicas: 2,
      flags: [],
      serverPorts: usualServerPorts,
      ports: controllerPorts,
    },
    agent: {
      image: `${agentImage}:${version}`,
      runtime: "node",
      socketFolder: "/var/run",
      port: agentPort,
      flags: [],
    },
  })
    .filter(({ kind }) => kind !== "CustomResourceDefinition")
    .map((object) => `---\n${explainedYaml(object, installReasons)}`)
    .join("");
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
  if (!existsSync(join(root, definitionsFolder))) return [];
  return readdirSync(join(root, definitionsFolder))
    .map((name) => `${definitionsFolder}/${name}`)
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
