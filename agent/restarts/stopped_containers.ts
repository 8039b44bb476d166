/** What this node stopped for requests; survives a crash of the agent. */
import { isJsonObject } from "../../kube/index.ts";

export type StoppedContent = Readonly<Record<string, Readonly<Record<string, string>>>>;

export class StoppedContainers {
  readonly #save: (content: StoppedContent) => Promise<void>;
  /** Request uid -> container -> id of the container that was stopped for it. */
  readonly #stopped = new Map<string, ReadonlyMap<string, string>>();

  /**
   * `save` is called with the whole content after each change, and resolves when that is on disk or was given up; `saved` is what it
   * was called with last.
   */
  constructor(saved: unknown, save: (content: StoppedContent) => Promise<void>) {
    this.#save = save;
    for (const [uid, containers] of Object.entries(isJsonObject(saved) ? saved : {})) {
      if (!isJsonObject(containers)) continue;
      const ids = Object.entries(containers).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      );
      this.#stopped.set(uid, new Map(ids));
    }
  }

  of(requestUid: string): ReadonlyMap<string, string> {
    return this.#stopped.get(requestUid) ?? new Map();
  }

  /** Before the stop: an agent that died after it would stop what runs then once more for a request by force. */
  async add(requestUid: string, container: string, containerId: string): Promise<void> {
    this.#stopped.set(requestUid, new Map([...this.of(requestUid), [container, containerId]]));
    await this.#changed();
  }

  forget(requestUid: string): void {
    if (this.#stopped.delete(requestUid)) void this.#changed();
  }

  /** Forgets all requests but these. */
  keepOnly(requestUids: ReadonlySet<string>): void {
    const gone = [...this.#stopped.keys()].filter((uid) => !requestUids.has(uid));
    for (const uid of gone) this.#stopped.delete(uid);
    if (gone.length > 0) void this.#changed();
  }

  #changed(): Promise<void> {
    return this.#save(
      Object.fromEntries([...this.#stopped].map(([uid, ids]) => [uid, Object.fromEntries(ids)])),
    );
  }
}
