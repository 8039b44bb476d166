/**
 * The agent's memory across restarts: small JSON sections, each a file that is written whole or not at all. A header
 * carries length and SHA-256 of the content; a file that does not fit its header is not used, its predecessor is.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../kube/index.ts";
import { messageOf } from "../errors.ts";

export interface StateStore {
  /** The section's last whole content, or undefined. Never throws: damage is logged. */
  read(section: string): Promise<unknown>;
  /** Remembers the content; writes follow each other, the latest content wins. Failures are logged and repeated at the next call. */
  write(section: string, content: unknown): void;
  /** Resolves when everything given so far is on disk or was given up. */
  flush(): Promise<void>;
}

/** The folder of the files, by their names. Rejects as `node:fs` does. */
export interface StateFiles {
  read(name: string): Promise<Uint8Array>;
  /** A file with this content, which is on the disk when this resolves. */
  write(name: string, text: string): Promise<void>;
  /** In the place of what has the new name. */
  rename(from: string, to: string): Promise<void>;
  /** Names are on the disk when this resolves. */
  sync(): Promise<void>;
}

const magic = "refit-state 1";
const sectionPattern = /^[a-z][a-z_]*$/;
const largest = 64 * 1024 * 1024;

export function createStateStore(files: StateFiles, log: Log): StateStore {
  const waiting = new Map<string, string>();
  const running = new Map<string, Promise<void>>();

  async function drain(section: string): Promise<void> {
    for (let text = waiting.get(section); text !== undefined; text = waiting.get(section)) {
      waiting.delete(section);
      try {
        await writeWhole(files, fileOf(section), encodeState(text));
      } catch (error) {
        log.error("the agent's state could not be saved, the last saved one stays", {
          section,
          error: messageOf(error),
        });
      }
    }
    // In the same turn as the last look, so that a write after it starts another one.
    running.delete(section);
  }

  return {
    async read(section) {
      const name = fileOf(checked(section));
      for (const file of [name, `${name}.old`]) {
        const found = await readWhole(files, file);
        if (found.ok) return found.content;
        if (found.reason) log.warn("a saved state is not used", { file, reason: found.reason });
      }
      return undefined;
    },
    write(section, content) {
      waiting.set(checked(section), JSON.stringify(content));
      if (running.has(section)) return;
      running.set(section, drain(section));
    },
    async flush() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

function checked(section: string): string {
  if (!sectionPattern.test(section))
    throw new TypeError(`${JSON.stringify(section)} is not the name of a section`);
  return section;
}

function fileOf(section: string): string {
  return `${section}.json`;
}

export function encodeState(text: string): string {
  const hash = createHash("sha256").update(text).digest("hex");
  return `${magic} ${Buffer.byteLength(text)} ${hash}\n${text}`;
}

export type Decoded =
  | { readonly ok: true; readonly content: unknown }
  | { readonly ok: false; readonly reason: string };

/** Checks header, length and hash; never throws. */
export function decodeState(bytes: Uint8Array): Decoded {
  const end = bytes.indexOf(10);
  const header = new TextDecoder().decode(bytes.subarray(0, Math.max(0, end)));
  const match = /^refit-state 1 (\d+) ([0-9a-f]{64})$/.exec(header);
  if (!match) return { ok: false, reason: "no header of a saved state" };
  const body = bytes.subarray(end + 1);
  if (body.byteLength !== Number(match[1]))
    return { ok: false, reason: `${body.byteLength} bytes instead of ${match[1]}` };
  if (createHash("sha256").update(body).digest("hex") !== match[2])
    return { ok: false, reason: "the checksum differs" };
  try {
    return { ok: true, content: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

async function readWhole(files: StateFiles, name: string): Promise<Decoded> {
  try {
    const bytes = await files.read(name);
    return bytes.byteLength > largest ? { ok: false, reason: "too large" } : decodeState(bytes);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return { ok: false, reason: code === "ENOENT" ? "" : messageOf(error) };
  }
}

/** New file, flushed, then renamed over the old one, which stays as `.old`. */
async function writeWhole(files: StateFiles, name: string, text: string): Promise<void> {
  const fresh = `${name}.new`;
  await files.write(fresh, text);
  await files.rename(name, `${name}.old`).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  });
  await files.rename(fresh, name);
  await files.sync();
}

/** Those of a folder, which is made when it is written to. */
export function filesIn(folder: string): StateFiles {
  return {
    read: (name) => readFile(join(folder, name)),
    async write(name, text) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await open(join(folder, name), "w", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
    },
    rename: (from, to) => rename(join(folder, from), join(folder, to)),
    async sync() {
      const itself = await open(folder, "r");
      try {
        await itself.sync();
      } finally {
        await itself.close();
      }
    },
  };
}
