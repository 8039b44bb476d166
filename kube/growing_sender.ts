/** A pool of connections that is exchanged for a faster one once there is much to send. */
import type { Clock } from "./clock.ts";
import type { Sender, SendHandler, SendRequest } from "./sender.ts";

/** So many requests within so long are worth the faster pool's memory. */
export const BUSY_REQUESTS = 300;
export const BUSY_WITHIN_MS = 10_000;

export class GrowingSender implements Sender {
  readonly #clock: Clock;
  readonly #openFaster: () => Promise<Sender>;
  #sender: Sender;
  #growing: Promise<void> | undefined;
  #isClosed = false;
  #counted = 0;
  #countedSince = 0;

  constructor(clock: Clock, first: Sender, openFaster: () => Promise<Sender>) {
    this.#clock = clock;
    this.#sender = first;
    this.#openFaster = openFaster;
  }

  dispatch(request: SendRequest, handler: SendHandler): void {
    if (this.#growing === undefined && this.#isBusy()) this.#growing = this.#grow();
    this.#sender.dispatch(request, handler);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#growing, this.#sender.close()]);
  }

  async destroy(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#growing, this.#sender.destroy()]);
  }

  #isBusy(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#countedSince > BUSY_WITHIN_MS) {
      this.#countedSince = now;
      this.#counted = 0;
    }
    this.#counted += 1;
    return this.#counted > BUSY_REQUESTS;
  }

  /** Requests under way end where they began. Without the faster pool it goes on as it is. */
  async #grow(): Promise<void> {
    const faster = await this.#openFaster().catch(() => undefined);
    if (faster === undefined) return;
    if (this.#isClosed) return faster.close();
    const former = this.#sender;
    this.#sender = faster;
    await former.close();
  }
}
