/** The files of the page as they go over the wire, by their paths. */
import { gzipSync } from "node:zlib";
import { pageFiles } from "../page_files.ts";

export interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
  readonly packed: Uint8Array;
}

export type Assets = ReadonlyMap<string, Asset>;

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

export async function pageAssets(): Promise<Assets> {
  return assetsOf(await pageFiles());
}

/** `files`: text by path. */
export function assetsOf(files: Readonly<Record<string, string>>): Assets {
  const assets = new Map<string, Asset>();
  for (const [path, text] of Object.entries(files)) {
    const ending = path.slice(path.lastIndexOf(".") + 1);
    const body = Buffer.from(text);
    const asset = { type: types[ending] ?? "text/plain", body, packed: gzipSync(body, { level: 9 }) };
    assets.set(path === "/index.html" ? "/" : path, asset);
  }
  return assets;
}
