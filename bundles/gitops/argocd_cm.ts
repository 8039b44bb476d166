/**
 * What argocd-cm needs to know of the kinds: argocd-cm.yaml, made of the scripts in resource.customizations and of
 * ignore_differences.ts. `node bundles/gitops/argocd_cm.ts` writes it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stringify } from "yaml";
import { ignoredDifferences } from "./ignore_differences.ts";

const file = join(import.meta.dirname, "argocd-cm.yaml");
const folder = join(import.meta.dirname, "resource.customizations");

export interface Customization {
  /** Group and kind, as Argo CD writes them: `apps.kruise.io_CloneSet`. */
  readonly name: string;
  readonly health: string;
  readonly actions: Actions | undefined;
}

interface Actions {
  /** Says which actions there are, and which are enabled. */
  readonly discovery: string;
  /** Script of each action, by name. */
  readonly scripts: ReadonlyMap<string, string>;
}

/** In the order of names. */
export function customizations(): Customization[] {
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, health: textOf(name, "health.lua"), actions: actionsOf(name) }));
}

const textOf = (...path: string[]): string => readFileSync(join(folder, ...path), "utf8");

function actionsOf(name: string): Actions | undefined {
  if (!existsSync(join(folder, name, "actions"))) return undefined;
  const names = readdirSync(join(folder, name, "actions")).map((script) => script.slice(0, -".lua".length));
  const scripts = names.sort().filter((action) => action !== "discovery");
  return {
    discovery: textOf(name, "actions/discovery.lua"),
    scripts: new Map(scripts.map((action) => [action, textOf(name, `actions/${action}.lua`)])),
  };
}

export const argocdCmText = (): string => readFileSync(file, "utf8");

export function madeText(): string {
  const data = customizations().flatMap(({ name, health, actions }) => {
    const jqPathExpressions = ignoredDifferences[name];
    return [
      [`resource.customizations.health.${name}`, health],
      ...(actions ? [[`resource.customizations.actions.${name}`, written(actionsValue(actions))]] : []),
      ...(jqPathExpressions
        ? [[`resource.customizations.ignoreDifferences.${name}`, written({ jqPathExpressions })]]
        : []),
    ];
  });
  const metadata = { name: "argocd-cm", labels: { "app.kubernetes.io/part-of": "argocd" } };
  const fragment = { apiVersion: "v1", kind: "ConfigMap", metadata, data: Object.fromEntries(data) };
  return `# Written by \`node bundles/gitops/argocd_cm.ts\`.\n${written(fragment)}`;
}

function actionsValue({ discovery, scripts }: Actions): object {
  const definitions = [...scripts].map(([name, script]) => ({ name, "action.lua": script }));
  return { "discovery.lua": discovery, definitions };
}

const written = (value: object): string => stringify(value, { lineWidth: 0 });

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFileSync(file, madeText());
