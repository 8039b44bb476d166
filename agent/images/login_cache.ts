/** Logins that were read lately. Bounded: those that were set longest ago go first, with their passwords. */
import type { RegistryLogin } from "./docker_config.ts";

export interface KeptLogins {
  readonly logins: readonly RegistryLogin[];
  /** By the monotonic clock; later they are only better than nothing. */
  readonly until: number;
}

const mostKept = 256;

export class LoginCache {
  readonly #kept = new Map<string, KeptLogins>();

  get(key: string): KeptLogins | undefined {
    return this.#kept.get(key);
  }

  set(key: string, kept: KeptLogins): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostKept) break;
      this.#kept.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }
}
