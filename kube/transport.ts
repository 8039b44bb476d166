/** HTTP/1.1: one pool for requests, one for watches, made again when the TLS material changes. */
import type { Clock } from "./clock.ts";
import type { Access } from "./credentials_types.ts";
import { KubeError } from "./errors.ts";
import type { OpenSender, RawHeaders, SendController, Sender, SendHandler, SendRequest } from "./sender.ts";
import { mostInFlight } from "./window_size.ts";

/** Older versions of TLS are spoken by no client and no server of this program, whatever flags of the runtime allow. */
export const tlsFloor = "TLSv1.2";

export interface HttpRequest {
  method: string;
  /** Path and query, below the server's base path. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  signal?: AbortSignal | undefined;
  timeoutMs: number;
  /** A longer answer is refused with `TooLarge`. */
  maxBytes: number;
}

export interface HttpResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

export interface HttpStream {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Ends when the server closes; throws KubeError `Network` when the connection breaks. */
  chunks: AsyncIterable<Uint8Array>;
}

export interface Transport {
  send(access: Access, request: HttpRequest): Promise<HttpResponse>;
  /** `timeoutMs` bounds the time to the answer's head; the body may last. */
  open(access: Access, request: HttpRequest): Promise<HttpStream>;
  close(): Promise<void>;
}

export interface TransportOptions {
  clock: Clock;
  /** Connections for requests; default: as many as a window lets be in flight, and some for what does not wait for it. */
  connections?: number;
  /** A connection that does not stand after so long is given up; default: 10 s. */
  connectMs?: number;
}

/**
 * The network's own patience is minutes: a host that was out of reach for a while would be looked for again long after
 * it is back.
 */
const defaultConnectMs = 10_000;

const mostConnections = mostInFlight + 8;

interface Pools {
  readonly requests: Sender;
  readonly streams: Sender;
}

/** What every transport does; `open` is how it makes connections. */
export function transportOver(options: TransportOptions, open: OpenSender): Transport {
  const { clock, connections = mostConnections, connectMs = defaultConnectMs } = options;
  let made: { readonly pools: Pools; readonly connection: string } | undefined;
  const poolsFor = (access: Access): Pools => {
    if (made?.connection === access.connection) return made.pools;
    const pools = {
      requests: open(access, { connections, connectMs }),
      streams: open(access, { connections: null, connectMs }),
    };
    if (made) retire(made.pools).catch(() => undefined);
    made = { pools, connection: access.connection };
    return pools;
  };
  return {
    async send(access, request) {
      return new Exchange(clock, access, request).collect(poolsFor(access).requests);
    },
    async open(access, request) {
      return new Exchange(clock, access, request).stream(poolsFor(access).streams);
    },
    async close() {
      const last = made;
      made = undefined;
      if (last) await retire(last.pools);
    },
  };
}

/** Requests under way may finish; streams are cut, their owners resume them on the new connections. */
async function retire(pools: Pools): Promise<void> {
  await Promise.all([pools.requests.close(), pools.streams.destroy()]);
}

/** One request and its answer. */
class Exchange {
  readonly #clock: Clock;
  readonly #request: HttpRequest;
  readonly #options: SendRequest;
  #controller: SendController | undefined;
  #sent = false;
  #broken: KubeError | undefined;

  constructor(clock: Clock, access: Access, request: HttpRequest) {
    this.#clock = clock;
    this.#request = request;
    const url = new URL(access.server);
    this.#options = {
      origin: url.origin,
      path: url.pathname.replace(/\/+$/, "") + request.path,
      method: request.method,
      headers: { ...request.headers, ...repeatable(access.headers) },
      body: request.body ?? null,
    };
  }

  collect(pool: Sender): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const end = this.#watchdog(reject);
      const chunks: Uint8Array[] = [];
      let size = 0;
      let status = 0;
      let headers: Record<string, string> = {};
      this.#dispatch(pool, {
        onResponseStart: (_controller, statusCode, raw) => {
          status = statusCode;
          headers = flatten(raw);
        },
        onResponseData: (_controller, chunk) => {
          size += chunk.byteLength;
          if (size > this.#request.maxBytes) this.#break(this.#tooLarge());
          else chunks.push(chunk);
        },
        onResponseEnd: () => {
          end();
          resolve({
            status,
            headers,
            body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size),
          });
        },
        onResponseError: (_controller, error) => {
          end();
          reject(this.#broken ?? this.#networkError(error));
        },
      });
    });
  }

  stream(pool: Sender): Promise<HttpStream> {
    return new Promise((resolve, reject) => {
      const end = this.#watchdog(reject);
      const chunks = new ChunkQueue(
        () => this.#controller?.pause(),
        () => this.#controller?.resume(),
        () => this.#break(new KubeError("Aborted", `${this.#name()}: the reader left`)),
      );
      this.#dispatch(pool, {
        onResponseStart: (_controller, status, raw) => {
          end.timer();
          resolve({ status, headers: flatten(raw), chunks });
        },
        onResponseData: (_controller, chunk) => chunks.push(chunk),
        onResponseEnd: () => {
          end();
          chunks.end();
        },
        onResponseError: (_controller, error) => {
          end();
          const reason = this.#broken ?? this.#networkError(error);
          chunks.fail(reason);
          reject(reason);
        },
      });
    });
  }

  #dispatch(pool: Sender, handler: Omit<SendHandler, "onRequestStart">): void {
    pool.dispatch(this.#options, {
      ...handler,
      onRequestStart: (controller) => {
        this.#controller = controller;
        if (this.#broken) controller.abort(this.#broken);
        else this.#sent = true;
      },
    });
  }

  /** Breaks the exchange on time-out and abort. Returns how to end the watch; `.timer()` ends only the time-out. */
  #watchdog(reject: (error: KubeError) => void): (() => void) & { timer: () => void } {
    const { signal, timeoutMs } = this.#request;
    const fail = (error: KubeError): void => {
      this.#break(error);
      // A request still in the pool's line has no controller yet: answer at once, drop it when its turn comes.
      if (!this.#controller) reject(error);
    };
    const timer = this.#clock.after(timeoutMs, () =>
      fail(
        new KubeError("Timeout", `${this.#name()}: no answer within ${timeoutMs} ms`, {
          ambiguous: this.#sent,
        }),
      ),
    );
    const onAbort = (): void =>
      fail(
        new KubeError("Aborted", `${this.#name()}: aborted`, {
          cause: signal?.reason,
          ambiguous: this.#sent,
        }),
      );
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    return Object.assign(end, { timer: () => timer.cancel() });
  }

  #break(error: KubeError): void {
    this.#broken ??= error;
    this.#controller?.abort(this.#broken);
  }

  #networkError(error: Error): KubeError {
    const detail = [codeOf(error), error.message].filter((part) => part !== "").join(": ");
    return new KubeError("Network", `${this.#name()} at ${this.#options.origin}: ${detail}`, {
      cause: error,
      ambiguous: this.#sent,
    });
  }

  #tooLarge(): KubeError {
    return new KubeError(
      "TooLarge",
      `${this.#name()}: the answer is larger than ${this.#request.maxBytes} bytes`,
    );
  }

  #name(): string {
    return `${this.#request.method} ${this.#request.path.split("?")[0]}`;
  }
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

function repeatable(
  headers: Readonly<Record<string, string | readonly string[]>>,
): Record<string, string | string[]> {
  const lines: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    lines[name] = typeof value === "string" ? value : [...value];
  }
  return lines;
}

function flatten(raw: RawHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

/** Bytes that wait to be read; the sender is paused while more than this waits. */
const highWater = 4 * 1024 * 1024;

/** A one-reader queue of chunks with back pressure. */
class ChunkQueue implements AsyncIterable<Uint8Array> {
  readonly #pause: () => void;
  readonly #resume: () => void;
  readonly #leave: () => void;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #paused = false;
  #ended = false;
  #error: KubeError | undefined;
  #wake: (() => void) | undefined;

  constructor(pause: () => void, resume: () => void, leave: () => void) {
    this.#pause = pause;
    this.#resume = resume;
    this.#leave = leave;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes > highWater && !this.#paused) {
      this.#paused = true;
      this.#pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(error: KubeError): void {
    this.#error = error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) {
          this.#bytes -= chunk.byteLength;
          if (this.#paused && this.#bytes < highWater / 2) {
            this.#paused = false;
            this.#resume();
          }
          yield chunk;
          continue;
        }
        if (this.#error) throw this.#error;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      if (!this.#ended && !this.#error) this.#leave();
    }
  }
}
