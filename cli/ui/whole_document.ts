/** The page's files inside one document, which then needs no server and no network. */
import type { Asset, Assets } from "./http/assets.ts";
import { policyOf } from "./http/policy.ts";

/**
 * What the head begins with: the policy, by which nothing is loaded that lacks `nonce`, a random word; and the modules by the names
 * under which others import them.
 */
export function wholeHead(assets: Assets, nonce: string, paths: readonly string[]): string[] {
  const imports = Object.fromEntries(paths.map((path) => [path.slice(1), addressOf(path, assets)]));
  return [
    `<meta http-equiv="content-security-policy" content="${policyOf(`'nonce-${nonce}'`, "data:")}" />`,
    `<script type="importmap" nonce="${nonce}">${JSON.stringify({ imports })}</script>`,
  ];
}

/** A module, and all that it imports. */
export function modulesFrom(entry: string, assets: Assets): string[] {
  const found = new Set([entry]);
  for (const path of found) {
    for (const [, , , to = ""] of textOf(assets.get(path)).matchAll(imported)) found.add(pathOf(to, path));
  }
  return [...found];
}

/** An address that holds the file. */
export function addressOf(path: string, assets: Assets): string {
  const asset = assets.get(path);
  if (asset === undefined) throw new Error(`the page has no file ${path}`);
  const text = path.endsWith(".js") ? withNames(textOf(asset), path) : textOf(asset);
  const type = asset.type.split(";")[0];
  return `data:${type};base64,${Buffer.from(text).toString("base64")}`;
}

const imported = /\b(from|import)(\s*)"([./][^"]+)"/g;

const pathOf = (to: string, from: string): string => new URL(to, `http://page${from}`).pathname;

/** A module inside an address knows no place that its imports could be relative to, so they become names. */
function withNames(text: string, path: string): string {
  return text.replaceAll(
    imported,
    (_, word: string, space: string, to: string) => `${word}${space}"${pathOf(to, path).slice(1)}"`,
  );
}

export const textOf = (asset: Asset | undefined): string => Buffer.from(asset?.body ?? "").toString();
