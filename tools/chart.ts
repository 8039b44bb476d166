/**
 * What the Helm chart in bundles/chart and the kustomize base in bundles/kustomize hold of the code: definitions, rights and
 * webhooks, and what an installation applies. `node tools/chart.ts` writes them. The rest of the chart is written by hand.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { stringify, type ToStringOptions } from "yaml";
import {
  agentPort,
  controllerPorts,
  explainedYaml,
  type InstallOptions,
  installObjects,
  installReasons,
  usualServerPorts,
} from "../cli/install/index.ts";
import { kinds, type PolicyRule, policyRule } from "../controller/index.ts";

export const root = join(import.meta.dirname, "..");
export const controllerImage = "refit/controller";
export const agentImage = "refit/agent";
export const version = String(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);

const definitionsFolder = "bundles/chart/definitions";

/** Text of each file that is made, by its path from the project's root. */
export function chartFiles(): ReadonlyMap<string, string> {
  const objects = installObjects(installOptions("kruise-system"));
  const isDefinition = ({ kind }: InstallObject): boolean => kind === "CustomResourceDefinition";
  const files = new Map<string, string>();
  for (const definition of objects.filter(isDefinition))
    files.set(
      `${definitionsFolder}/${definition.metadata.name}.yaml`,
      stringify(definition, { lineWidth: 0 }),
    );
  const definitions = [...files.keys()].map((path) => path.slice(definitionsFolder.length + 1));
  files.set(`${definitionsFolder}/kustomization.yaml`, kustomization(definitions));
  files.set("bundles/chart/rules.yaml", written(rules()));
  // Every text in quotes: a namespace, which takes the place of a word, may look like a number.
  files.set("bundles/chart/webhooks.yaml", written(webhooks(), { defaultStringType: "QUOTE_DOUBLE" }));
  files.set(
    "bundles/kustomize/kustomization.yaml",
    kustomization(["../chart/definitions", "manifests.yaml"]),
  );
  const applied = objects.filter((object) => !isDefinition(object));
  files.set(
    "bundles/kustomize/manifests.yaml",
    applied.map((object) => `---\n${explainedYaml(object, installReasons)}`).join(""),
  );
  return files;
}

type InstallObject = ReturnType<typeof installObjects>[number];

function installOptions(namespace: string): InstallOptions {
  return {
    namespace,
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
  };
}

function kustomization(resources: readonly string[]): string {
  return stringify({ apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources });
}

function written(value: object, style: ToStringOptions = {}): string {
  const options = { aliasDuplicateObjects: false, defaultKeyType: "PLAIN", lineWidth: 0, ...style } as const;
  return `# Written by \`node tools/chart.ts\`.\n${stringify(value, options)}`;
}

/** Rules by the name of the role. What the definition guard may list is a value of the chart. */
function rules(): Readonly<Record<string, unknown>> {
  const roles = installObjects({
    ...installOptions("kruise-system"),
    distributesResources: true,
  }).filter(({ kind }) => kind === "ClusterRole" || kind === "Role");
  return {
    ...Object.fromEntries(roles.map((role) => [role.metadata.name, role["rules"]])),
    "kruise-helm-hook-role": uninstallRules(),
  };
}

/** To see, before anything is removed, whether objects are left that would go with their definitions. Spec: platform 9, 15. */
export function uninstallRules(): PolicyRule[] {
  const listed = Map.groupBy(
    kinds.filter(({ perNode }) => !perNode),
    ({ resource }) => resource.group,
  );
  return [...listed].map(([group, of]) =>
    policyRule(
      group,
      of.map(({ resource }) => resource.plural),
      ["list"],
    ),
  );
}

/** Webhooks by the type of their configuration, with a word in the place of the namespace. */
function webhooks(): Readonly<Record<string, unknown>> {
  const suffix = "WebhookConfiguration";
  const configurations = installObjects(installOptions("INSTALLATION-NAMESPACE")).filter(({ kind }) =>
    kind?.endsWith(suffix),
  );
  return Object.fromEntries(
    configurations.map(({ kind, webhooks }) => [kind?.slice(0, -suffix.length), webhooks]),
  );
}

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
