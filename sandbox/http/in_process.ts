/** Requests without a socket: the same routes, headers and bodies, for clients in the same process. */
import type { User } from "../writes/request.ts";
import { type Exchange, makeExchange, type RawResponse } from "./exchange.ts";
import { answer, type Routes } from "./router.ts";

export interface InProcessRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly user: User;
}

export interface InProcessResponse {
  head(status: number, headers: Readonly<Record<string, string>>): void;
  data(chunk: Buffer): void;
  end(): void;
  /** The connection broke: before an answer, or in the middle of it. */
  broken(): void;
}

/** Asks the server; what it answers arrives at once. Returns how the client leaves. */
export function askInProcess(
  routes: Routes,
  request: InProcessRequest,
  response: InProcessResponse,
): () => void {
  const raw = new Response(response);
  const exchange = exchangeOf(request, raw);
  if (exchange === undefined) {
    response.head(400, {});
    response.end();
    return () => undefined;
  }
  answer(routes, exchange).catch((error: unknown) => {
    routes.world.log("request failed inside the sandbox", { path: request.path, error: String(error) });
    raw.destroy();
  });
  return () => raw.leave();
}

function exchangeOf(request: InProcessRequest, response: Response): Exchange | undefined {
  const { method, path, headers, body, user } = request;
  const rawHeaders = Object.entries(headers).flat();
  return makeExchange({ method, url: path, headers, rawHeaders, body }, response, user);
}

class Response implements RawResponse {
  statusCode = 200;
  readonly writableLength = 0;
  writableEnded = false;
  destroyed = false;
  readonly #headers: Record<string, string> = {};
  readonly #to: InProcessResponse;
  readonly #onClose: (() => void)[] = [];
  #headSent = false;

  constructor(to: InProcessResponse) {
    this.#to = to;
  }

  setHeader(name: string, value: string | string[]): void {
    this.#headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }

  flushHeaders(): void {
    if (this.#headSent || this.destroyed) return;
    this.#headSent = true;
    this.#to.head(this.statusCode, this.#headers);
  }

  write(chunk: Buffer): boolean {
    if (this.destroyed || this.writableEnded) return false;
    this.flushHeaders();
    this.#to.data(chunk);
    return true;
  }

  end(chunk?: Buffer): void {
    if (this.destroyed || this.writableEnded) return;
    this.flushHeaders();
    if (chunk !== undefined && chunk.length > 0) this.#to.data(chunk);
    this.writableEnded = true;
    this.#to.end();
    this.#close();
  }

  destroy(): void {
    if (this.destroyed || this.writableEnded) return;
    this.destroyed = true;
    this.#to.broken();
    this.#close();
  }

  /** The client went away. */
  leave(): void {
    if (this.destroyed || this.writableEnded) return;
    this.destroyed = true;
    this.#close();
  }

  on(event: "close" | "error", listener: () => void): void {
    if (event === "close") this.#onClose.push(listener);
  }

  #close(): void {
    for (const listener of this.#onClose.splice(0)) listener();
  }
}
