/**
 * Exec probes within a bounded memory. An answer is in memory as a whole, and more than once, before anything of it can
 * be cut; runtimes let a command print 16 MiB. So a probe has little room first, and one that needed more has its next
 * runs with more room, one such probe at a time. What prints still more has no result, as with other errors.
 */
import type { Clock, Log } from "../../kube/index.ts";
import { type ExecSyncRequest, type ExecSyncResponse, type Input, methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError } from "../errors.ts";
import { Slots } from "./slots.ts";

const usualBytes = 256 * 1024;
/** Of the 16 MiB that a runtime sends: what has been read goes late, and 16 MiB would add 60 MB to an agent. */
const largestBytes = 4 * 1024 * 1024;
const usualSlots = 16;
/** The runtime's own time to end a command that has timed out. */
const afterTimeoutMs = 5_000;

export class ExecProbes {
  readonly #usual: Slots;
  readonly #large: Slots;
  /** Probes that printed more than `usualBytes`. */
  readonly #loud = new WeakSet<object>();
  /** Probes that printed more than `largestBytes`: logged once. */
  readonly #tooLoud = new WeakSet<object>();
  readonly #log: Log;

  constructor(clock: Clock, log: Log) {
    this.#log = log;
    this.#usual = new Slots(clock, usualSlots);
    this.#large = new Slots(clock, 1);
  }

  /** `probe`: the object that says so, the same at each run. Throws AgentError; `TooLarge` once before it is given more room. */
  async run(
    probe: object,
    client: CriClient,
    request: Input<ExecSyncRequest> & { readonly timeout: number },
    signal: AbortSignal,
  ): Promise<ExecSyncResponse> {
    const loud = this.#loud.has(probe);
    const options = {
      timeoutMs: request.timeout * 1000 + afterTimeoutMs,
      maxResponseBytes: loud ? largestBytes : usualBytes,
      signal,
    };
    try {
      const slots = loud ? this.#large : this.#usual;
      return await slots.use(() => client.call(methods.ExecSync, request, options), signal);
    } catch (error) {
      if (isAgentError(error, "TooLarge")) {
        if (loud && !this.#tooLoud.has(probe)) {
          this.#tooLoud.add(probe);
          const text = "a probe has no result, its command prints more than 4 MiB: let it print less";
          this.#log.warn(text, { container: request.container_id, command: request.cmd });
        }
        this.#loud.add(probe);
      }
      throw error;
    }
  }
}
