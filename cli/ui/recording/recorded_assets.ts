/** What `refit ui FILE.html` serves: a recording in the page, without a cluster. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { CliError } from "../../errors.ts";
import { fileReason } from "../../file_reason.ts";
import type { Assets } from "../http/assets.ts";
import { blocksIn, documentWithData } from "./recording_document.ts";

/** The page's files, where the page holds a recording. Throws CliError when the file cannot be read or is none. */
export async function assetsWithRecording(assets: Assets, path: string): Promise<Assets> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new CliError(`cannot read ${path}: ${fileReason(cause)}`, { cause });
  });
  const blocks = blocksIn(text);
  if (blocks.length === 0)
    throw new CliError(`${path} is no recording: it must be a file that "refit ui --record" wrote`);
  const body = Buffer.from(documentWithData(assets, blocks));
  const type = assets.get("/")?.type ?? "text/html; charset=utf-8";
  return new Map([...assets, ["/", { type, body, packed: gzipSync(body) }]]);
}
