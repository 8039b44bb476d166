/** The page as one document that needs no server, and the data in it. */
import { gzipSync } from "node:zlib";
import type { Assets } from "../http/assets.ts";
import { blockType, type RecordedLine } from "../shared/recorded.ts";
import { addressOf, modulesFrom, textOf, wholeHead } from "../whole_document.ts";

/**
 * The document without data, which is appended as blocks. What it loads is inside it: addresses of the page's files become
 * addresses that hold the file. `nonce`: a random word; nothing that lacks it is loaded.
 */
export function recordingDocument(assets: Assets, nonce: string): string {
  // What ships is one module that imports nothing.
  const head = wholeHead(assets, nonce, modulesFrom("/page/main.js", assets));
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
