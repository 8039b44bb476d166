/**
 * One request of the client: a slot of the window, credentials, the send itself, and what to do when it fails.
 * Retry rules: refused before it was carried out (429, 503 with Retry-After, no connection) -> any request again;
 * broken or timed out on the way -> only what may be carried out twice; 401 -> once more with new credentials.
 */
import type { Priority } from "./client_types.ts";
import type { Clock, Random } from "./clock.ts";
import type { Credentials } from "./credentials_types.ts";
import { isKubeError, KubeError } from "./errors.ts";
import type { Fence } from "./fence.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics_types.ts";
import { refusal } from "./status.ts";
import type { HttpResponse, HttpStream, Transport } from "./transport.ts";
import type { SlotOutcome, Window } from "./window.ts";

export interface Call {
  verb: string;
  method: string;
  /** Plural with `/subresource`, for metrics and messages. */
  resource: string;
  path: string;
  accept: string;
  contentType?: string;
  body?: string;
  /** Makes the body once the request has a slot of the window, in place of `body`. */
  bodyWhenSent?: (() => string) | undefined;
  /** May be carried out twice without a difference, or is refused the second time by its precondition. */
  repeatable: boolean;
  /** False: a 429 means something to the caller (a budget refuses an eviction), not that the server is busy. */
  waitsWhenBusy?: boolean;
  priority: Priority;
  flow: string;
  signal?: AbortSignal | undefined;
  /** Asked once the request has a slot of the window: where not, it is not sent. */
  isWanted?: (() => boolean) | undefined;
  timeoutMs: number;
}

export interface Answer extends HttpResponse {
  /** An earlier attempt may have been carried out already. */
  repeated: boolean;
}

export interface RequesterOptions {
  credentials: Credentials;
  transport: Transport;
  window: Window;
  clock: Clock;
  random: Random;
  metrics: Metrics;
  log: Log;
  userAgent: string;
  maxBytes: number;
  attempts: number;
  fence: Fence;
}

export class Requester {
  readonly #options: RequesterOptions;
  /** Of the server asked last: reading an address costs more than all else of counting. */
  #host = { server: "", host: "" };

  constructor(options: RequesterOptions) {
    this.#options = options;
  }

  /** The answer with a 2xx status; everything else throws KubeError. */
  async send(call: Call): Promise<Answer> {
    let refreshed = false;
    let repeated = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return { ...(await this.#attempt(call)), repeated };
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.code === "Unauthorized" && !refreshed) {
          refreshed = true;
          await this.#options.credentials.refresh();
          continue;
        }
        repeated ||= error.ambiguous;
        const delayMs = attempt < this.#options.attempts ? this.#retryDelay(call, error, attempt) : undefined;
        if (delayMs === undefined) throw repeated && !error.ambiguous ? ambiguously(error) : error;
        this.#options.metrics.retry(call.verb, call.resource, error.code);
        const { verb, resource } = call;
        this.#options.log.debug("request is retried", { verb, resource, delayMs, error });
        await this.#sleep(delayMs, call);
      }
    }
  }

  /** Opens a stream: past the window, no retries, which are the watch's business. */
  async open(call: Call): Promise<HttpStream> {
    const { credentials, transport, metrics } = this.#options;
    const started = this.#options.clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      const access = await credentials.access();
      const stream = await transport.open(access, this.#request(call)).catch((error: unknown) => {
        this.#count(call, access.server, started, "<error>", 0);
        throw error;
      });
      this.#count(call, access.server, started, String(stream.status), 0);
      if (stream.status === 200) return stream;
      const body = await readSome(stream.chunks);
      if (stream.status === 401 && attempt === 1) {
        await credentials.refresh();
        metrics.retry(call.verb, call.resource, "Unauthorized");
        continue;
      }
      throw refusal(`${call.verb} ${call.resource}`, stream.status, stream.headers, body);
    }
  }

  async #attempt({ bodyWhenSent, ...asked }: Call): Promise<HttpResponse> {
    const { window, credentials, transport, clock, metrics, fence } = this.#options;
    const { stages } = metrics;
    const askedAt = stages === undefined ? 0 : clock.monotonic();
    const slot = await window.acquire(asked.priority, asked.flow, asked.signal).catch((cause: unknown) => {
      throw isKubeError(cause)
        ? cause
        : new KubeError("Aborted", `${asked.verb} ${asked.resource}: aborted`, { cause });
    });
    stages?.windowWaited(asked.priority, clock.monotonic() - askedAt);
    let outcome: SlotOutcome = "uncounted";
    try {
      const access = await credentials.access();
      fence.check();
      if (asked.signal?.aborted || asked.isWanted?.() === false)
        throw new KubeError("Aborted", `${asked.verb} ${asked.resource}: aborted`, {
          cause: asked.signal?.reason,
        });
      const call = bodyWhenSent === undefined ? asked : { ...asked, body: bodyWhenSent() };
      const started = clock.monotonic();
      const response = await transport.send(access, this.#request(call)).catch((error: unknown) => {
        this.#count(call, access.server, started, "<error>", 0);
        if (isKubeError(error, "Timeout")) outcome = "refused";
        throw error;
      });
      this.#count(call, access.server, started, String(response.status), response.body.byteLength);
      stages?.answered(call.priority, clock.monotonic() - started);
      if (response.status >= 200 && response.status < 300) {
        // The time of a list says more about its length than about the server.
        if (call.verb !== "LIST") outcome = "answered";
        return response;
      }
      const { status, headers, body } = response;
      const error = refusal(`${call.verb} ${call.resource}`, status, headers, body);
      if (error.code === "TooManyRequests" && call.waitsWhenBusy !== false) {
        outcome = "refused";
        window.pause(error.retryAfterMs ?? 1000);
      } else if (error.status !== undefined && error.status < 500) outcome = "answered";
      throw error;
    } finally {
      slot.release(outcome);
    }
  }

  #request(call: Call): Parameters<Transport["send"]>[1] {
    const headers: Record<string, string> = { accept: call.accept, "user-agent": this.#options.userAgent };
    if (call.body !== undefined) headers["content-type"] = call.contentType ?? "application/json";
    return {
      method: call.method,
      path: call.path,
      headers,
      ...(call.body === undefined ? {} : { body: call.body }),
      signal: call.signal,
      timeoutMs: call.timeoutMs,
      maxBytes: this.#options.maxBytes,
    };
  }

  /** Milliseconds until the next attempt; undefined: do not try again. */
  #retryDelay(call: Call, error: KubeError, attempt: number): number | undefined {
    const backoff = Math.min(100 * 2 ** (attempt - 1), 5_000) * (0.5 + this.#options.random());
    switch (error.code) {
      case "TooManyRequests":
        if (call.waitsWhenBusy === false) return undefined;
        return (error.retryAfterMs ?? 1000) * (1 + 0.1 * this.#options.random());
      case "Network":
        return error.ambiguous && !call.repeatable ? undefined : backoff;
      case "Unavailable":
        // With Retry-After the server says that it did not begin.
        if (error.retryAfterMs !== undefined) return Math.max(error.retryAfterMs, backoff);
        return call.repeatable ? backoff : undefined;
      case "ServerError":
      case "Timeout":
        // Our own time-out is the caller's bound; the server's is worth another try.
        return error.status !== undefined && call.repeatable
          ? Math.max(error.retryAfterMs ?? 0, backoff)
          : undefined;
      default:
        return undefined;
    }
  }

  async #sleep(ms: number, call: Call): Promise<void> {
    try {
      await this.#options.clock.sleep(ms, call.signal);
    } catch (cause) {
      throw new KubeError("Aborted", `${call.verb} ${call.resource}: aborted`, { cause });
    }
  }

  #count(call: Call, server: string, started: number, code: string, bytesIn: number): void {
    if (this.#host.server !== server) this.#host = { server, host: new URL(server).host };
    this.#options.metrics.request(this.#host.host, {
      verb: call.verb,
      method: call.method,
      resource: call.resource,
      code,
      durationMs: this.#options.clock.monotonic() - started,
      bytesOut: call.body === undefined ? 0 : Buffer.byteLength(call.body),
      bytesIn,
    });
  }
}

/** The last attempt was refused, but an earlier one may have been carried out. */
function ambiguously(error: KubeError): KubeError {
  const { status, reason, retryAfterMs, causes, about, said } = error;
  const details = { status, reason, retryAfterMs, causes, about, said, ambiguous: true, cause: error };
  return new KubeError(error.code, error.message, details);
}

const longestRefusal = 256 * 1024;

async function readSome(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      parts.push(chunk);
      size += chunk.byteLength;
      if (size > longestRefusal) break;
    }
  } catch {
    // The status line already says what matters.
  }
  return Buffer.concat(parts);
}
