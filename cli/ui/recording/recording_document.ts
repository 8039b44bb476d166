/** The page as one document that needs no server, and the data in it. */
import { gzipSync } from "node:zlib";
import type { Asset, Assets } from "../http/assets.ts";
import { policyOf } from "../http/policy.ts";
import { blockType, type RecordedLine } from "../shared/recorded.ts";

/**
 * The document without data, which is appended as blocks. What it loads is inside it: addresses of the page's files become
 * addresses that hold the file. `nonce`: a random word; nothing that lacks it is loaded.
 */
export function recordingDocument(assets: Assets, nonce: string): string {
  const policy = policyOf(`'nonce-${nonce}'`, "data:");
  const head = [
    `<meta http-equiv="content-security-policy" content="${policy}" />`,
    `<script type="importmap" nonce="${nonce}">${JSON.stringify({ imports: modulesOf(assets) })}</script>`,
  ];
  return textOf(assets.get("/"))
    .replace(/<meta charset="[^"]*" \/>/, (charset) => [charset, ...head].join("\n    "))
    .replaceAll(/(href|src)="(\/page\/[^"]+)"/g, (_, name: string, path: string) => {
      return `${name}="${addressOf(path, assets)}" nonce="${nonce}"`;
    })
    .replace(/\s*<\/body>\s*<\/html>\s*$/, "\n");
}

/** One block. Base64 has no letter that means something in a document, so no text of a cluster can leave its place. */
export function blockOf(lines: readonly RecordedLine[]): string {
  const packed = gzipSync(lines.map((line) => JSON.stringify(line)).join("\n"));
  return `<script type="${blockType}">${packed.toString("base64")}</script>\n`;
}

/** What the blocks of a recording hold; nothing else of the file is looked at. */
export function blocksIn(text: string): string[] {
  const block = new RegExp(`<script type="${blockType}">([A-Za-z0-9+/=]+)</script>`, "g");
  return [...text.matchAll(block)].map(([, data = ""]) => data);
}

/** The page of this program with the data of a recording: scripts that stand in the file are not taken over. */
export function documentWithData(assets: Assets, blocks: readonly string[]): string {
  const data = blocks.map((block) => `<script type="${blockType}">${block}</script>`).join("\n");
  return textOf(assets.get("/")).replace("</body>", () => `${data}\n  </body>`);
}

/** Modules by the names under which others import them. What ships is one module that imports nothing. */
function modulesOf(assets: Assets): Record<string, string> {
  const paths = [...assets.keys()].filter((path) => path.endsWith(".js"));
  return Object.fromEntries(paths.map((path) => [path.slice(1), addressOf(path, assets)]));
}

function addressOf(path: string, assets: Assets): string {
  const asset = assets.get(path);
  if (asset === undefined) throw new Error(`the page has no file ${path}`);
  const text = path.endsWith(".js") ? withNames(textOf(asset), path) : textOf(asset);
  const type = asset.type.split(";")[0];
  return `data:${type};base64,${Buffer.from(text).toString("base64")}`;
}

/** A module inside an address knows no place that its imports could be relative to, so they become names. */
function withNames(text: string, path: string): string {
  return text.replaceAll(
    /\b(from|import)(\s*)"([./][^"]+)"/g,
    (_, word: string, space: string, to: string) => {
      return `${word}${space}"${new URL(to, `http://page${path}`).pathname.slice(1)}"`;
    },
  );
}

const textOf = (asset: Asset | undefined): string => Buffer.from(asset?.body ?? "").toString();
