/** The disk of a node, where its agent keeps files: it takes its time, may be full, and holds what was half done by who died. */
import type { StateFiles } from "../agent/index.ts";
import type { Clock, Random } from "../kube/index.ts";

const slowestMs = 3;

export class Disk {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #files = new Map<string, Uint8Array>();
  #isFull = false;
  #damagedAt = Number.NEGATIVE_INFINITY;
  #stepped: () => void = () => undefined;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** As one life of an agent sees them: nothing more of what it does happens once its clock is dead. */
  files(process: Clock): StateFiles {
    const pause = (): Promise<void> => process.sleep(this.#random() * slowestMs);
    const step = async (write: () => void): Promise<void> => {
      await pause();
      write();
      this.#stepped();
    };
    return {
      read: async (name) => {
        await pause();
        return this.#file(name);
      },
      write: async (name, text) => {
        const bytes = Buffer.from(text);
        await step(() => this.#files.set(name, bytes.subarray(0, 0)));
        await step(() => this.#files.set(name, bytes.subarray(0, bytes.length / 2)));
        await pause();
        if (this.#isFull) throw failure("ENOSPC", "no space left on device, write");
        this.#files.set(name, bytes);
        this.#stepped();
      },
      rename: (from, to) =>
        step(() => {
          this.#files.set(to, this.#file(from));
          this.#files.delete(from);
        }),
      sync: pause,
    };
  }

  /** When files were last damaged or could not be written: milliseconds of the clock. */
  get damagedAt(): number {
    return this.#isFull ? this.#clock.monotonic() : this.#damagedAt;
  }

  fill(): void {
    this.#isFull = true;
  }

  free(): void {
    this.#damagedAt = this.damagedAt;
    this.#isFull = false;
  }

  /** A file keeps its first half, or as much garbage as it had content. */
  tear(share: number, how: "half" | "garbage"): void {
    const name = this.#chosen(share);
    if (name === undefined) return;
    const bytes = this.#file(name);
    this.#files.set(name, how === "half" ? bytes.subarray(0, bytes.length / 2) : bytes.map((byte) => ~byte));
    this.#damagedAt = this.#clock.monotonic();
  }

  lose(share: number): void {
    const name = this.#chosen(share);
    if (name === undefined) return;
    this.#files.delete(name);
    this.#damagedAt = this.#clock.monotonic();
  }

  /** What its agent has done to the node beside writing. */
  step(): void {
    this.#stepped();
  }

  /** Calls once, after so many steps, each of which writes a part of a file or is `step`. Returns how to give that up. */
  afterSteps(steps: number, happen: () => void): () => void {
    let left = steps;
    const giveUp = (): void => {
      this.#stepped = () => undefined;
    };
    this.#stepped = () => {
      left -= 1;
      if (left > 0) return;
      giveUp();
      happen();
    };
    return giveUp;
  }

  #chosen(share: number): string | undefined {
    const names = [...this.#files.keys()].sort();
    return names[Math.floor(share * names.length)];
  }

  #file(name: string): Uint8Array {
    const bytes = this.#files.get(name);
    if (bytes === undefined) throw failure("ENOENT", `no such file or directory, open '${name}'`);
    return bytes;
  }
}

function failure(code: string, text: string): Error {
  return Object.assign(new Error(`${code}: ${text}`), { code });
}
