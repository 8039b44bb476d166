/** Where sockets of runtimes may be, and who answers there: on a host its file system and gRPC. */
import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type CriClient, type CriClientOptions, createCriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import type { Answer } from "./candidates.ts";

export interface Sockets {
  /** Why nobody can be asked there, or undefined when there is a socket. */
  lookAt(path: string): Promise<Answer | undefined>;
  connect(path: string, options: CriClientOptions): CriClient;
  /** Calls `wake` when a socket, or a folder on the way to one, appears. */
  folders(paths: readonly string[], roots: readonly string[], wake: () => void): SocketFolders;
}

export interface SocketFolders {
  /** Looks for the folders again: they come and go with the runtime. */
  watch(): void;
  close(): void;
}

export const hostSockets: Sockets = {
  lookAt,
  connect: createCriClient,
  folders: (paths, roots, wake) => new FolderWatch(paths, roots, wake),
};

async function lookAt(path: string): Promise<Answer | undefined> {
  try {
    const found = await stat(path);
    return found.isSocket()
      ? undefined
      : { path, outcome: "not a socket", detail: "exists, but is not a socket" };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR")
      return { path, outcome: "missing", detail: "does not exist" };
    return { path, outcome: "no permission", detail: `cannot be looked at: ${messageOf(error)}` };
  }
}

class FolderWatch implements SocketFolders {
  readonly #watchers: FSWatcher[] = [];
  readonly #names = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #wake: () => void;

  constructor(paths: readonly string[], roots: readonly string[], wake: () => void) {
    this.#wake = wake;
    for (const path of paths) {
      for (let at = path; at !== dirname(at); at = dirname(at)) {
        this.#names.add(basename(at));
        this.#folders.add(dirname(at));
        if (roots.includes(dirname(at))) break;
      }
    }
  }

  watch(): void {
    this.close();
    for (const folder of this.#folders) {
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          if (name === null || this.#names.has(name)) this.#wake();
        });
        watcher.on("error", () => watcher.close());
        this.#watchers.push(watcher);
      } catch {
        // Not there, or not readable: its parents and the rounds notice it.
      }
    }
  }

  close(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }
}
