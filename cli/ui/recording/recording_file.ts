/** The file that "refit ui --record" writes: a document that grows at its end, and opens however much of it was written. */
import { type FileHandle, open } from "node:fs/promises";
import { CliError } from "../../errors.ts";
import { fileReason } from "../../file_reason.ts";
import type { RecordedLine, RecordingEnd } from "../shared/recorded.ts";
import { blockOf } from "./recording_document.ts";

/** Of the whole file. A page that plays it holds some ten times as much. */
export const mostBytes = 16 * 1024 * 1024;
/** For the block that says how it ended. */
const bytesOfEnd = 512;

export class RecordingFile {
  readonly #file: FileHandle;
  readonly #most: number;
  #size: number;
  #isEnded = false;

  private constructor(file: FileHandle, size: number, most: number) {
    this.#file = file;
    this.#size = size;
    this.#most = most;
  }

  /** Only its owner reads it. Throws CliError when the file is there already, or cannot be written. */
  static async create(path: string, document: string, most = mostBytes): Promise<RecordingFile> {
    const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
      throw new CliError(`cannot record to ${path}: ${whyNot(cause)}`, { cause });
    });
    await file.appendFile(document);
    return new RecordingFile(file, Buffer.byteLength(document), most);
  }

  /** False when the file is full: then it says so, and these lines and all later ones are left out. */
  async write(lines: readonly RecordedLine[]): Promise<boolean> {
    if (this.#isEnded) return false;
    const block = blockOf(lines);
    if (this.#size + block.length + bytesOfEnd > this.#most) {
      await this.end("full");
      return false;
    }
    this.#size += block.length;
    await this.#file.appendFile(block);
    return true;
  }

  /** Says how it ended, and closes the file. Only the first end counts. */
  async end(end: RecordingEnd): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      await this.#file.appendFile(blockOf([{ end }]));
    } finally {
      await this.#file.close();
    }
  }
}

function whyNot(cause: unknown): string {
  const isThere = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
  return isThere ? "there is such a file already; choose another name" : fileReason(cause);
}
