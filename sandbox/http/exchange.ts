/** One request and its answer, over HTTP/1.1 or HTTP/2. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Fields } from "../json.ts";
import type { User } from "../writes/request.ts";
import { ApiError } from "./api_error.ts";
import { protobufStatus } from "./protobuf.ts";

export type RawRequest = IncomingMessage | Http2ServerRequest;

/** A request whose body is there already. */
export interface WholeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** What both response classes have; the compatibility layer of HTTP/2 lacks a common type. */
export interface RawResponse {
  statusCode: number;
  readonly writableLength: number;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  setHeader(name: string, value: string | string[]): unknown;
  write(chunk: Buffer): boolean;
  end(chunk?: Buffer): unknown;
  destroy(error?: Error): unknown;
  on(event: "close" | "error", listener: () => void): unknown;
}

/** Largest request body, as the API server limits it (3 MiB). */
const bodyLimit = 3 * 1024 * 1024;

export interface Reply {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the created object, where the path does not tell. */
  readonly created?: string;
}

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly userAgent: string;
  header(name: string): string | undefined;
  /** Names and values of all headers in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
  body(): Promise<Buffer>;
  /** Texts for Warning headers. */
  readonly warnings: string[];
  readonly response: RawResponse;
  /** Aborts when the client is gone. */
  readonly closed: AbortSignal;
  /** Cuts the connection below the request. */
  drop(): void;
}

/** One for all: the reason that a signal makes by itself costs a stack for each request. */
const clientGone = new Error("the client is gone");

/** Undefined when the request names no path that can be read, as `//` and what goes on behind it. */
export function makeExchange(
  request: RawRequest | WholeRequest,
  response: RawResponse,
  user: User,
): Exchange | undefined {
  const url = URL.parse(request.url ?? "/", "https://sandbox");
  if (url === null) return undefined;
  // Few ask for the signal, and to abort one costs as much as to parse a request.
  let gone: AbortController | undefined;
  let isClosed = false;
  let body: Promise<Buffer> | undefined;
  response.on("close", () => {
    isClosed = true;
    gone?.abort(clientGone);
  });
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
  return {
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    user,
    userAgent: header("user-agent") ?? "",
    header,
    rawHeaders: request.rawHeaders,
    body: () => {
      body ??= "body" in request ? withinLimit(request.body) : readBody(request);
      return body;
    },
    warnings: [],
    response,
    get closed() {
      gone ??= new AbortController();
      if (isClosed) gone.abort(clientGone);
      return gone.signal;
    },
    drop: () => ("body" in request ? response.destroy() : dropConnection(request)),
  };
}

function dropConnection(request: RawRequest): void {
  if ("stream" in request && request.stream !== undefined) request.stream.session?.destroy();
  else request.socket.destroy();
}

async function withinLimit(body: Buffer): Promise<Buffer> {
  if (body.length > bodyLimit) throw tooLarge();
  return body;
}

function tooLarge(): ApiError {
  return new ApiError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${bodyLimit}`);
}

async function readBody(request: RawRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes: Buffer = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > bodyLimit) throw tooLarge();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

export function sendReply(exchange: Exchange, reply: Reply): void {
  const { response, warnings } = exchange;
  if (response.destroyed || response.writableEnded) return;
  response.statusCode = reply.code;
  response.setHeader("content-type", reply.contentType);
  response.setHeader("cache-control", "no-cache, private");
  response.setHeader("content-length", String(reply.body.length));
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  setWarnings(response, warnings);
  if (exchange.method === "HEAD") response.end();
  else response.end(reply.body);
}

export function setWarnings(response: RawResponse, warnings: readonly string[]): void {
  if (warnings.length === 0) return;
  const texts = [...new Set(warnings)].map((text) => `299 - ${quoted(text)}`);
  response.setHeader("warning", texts);
}

function quoted(text: string): string {
  // Header values are single-line ASCII.
  const line = text.replace(/[^\x20-\x7e]+/g, " ");
  return `"${line.replace(/["\\]/g, "\\$&")}"`;
}

export function textReply(code: number, text: string): Reply {
  return { code, contentType: "text/plain; charset=utf-8", body: Buffer.from(text) };
}

export function jsonReply(code: number, value: unknown): Reply {
  return { code, contentType: "application/json", body: Buffer.from(`${JSON.stringify(value)}\n`) };
}

/** A Status in protobuf for clients that prefer it, else in JSON. */
export function statusReply(exchange: Exchange, code: number, status: Fields): Reply {
  const contentType = "application/vnd.kubernetes.protobuf";
  if (!(exchange.header("accept") ?? "").startsWith(contentType)) return jsonReply(code, status);
  return { code, contentType, body: protobufStatus(status) };
}

/** True when the client showed a certificate of the sandbox's authority. The socket of HTTP/2 is a proxy. */
export function isAuthorized(request: RawRequest): boolean {
  const socket = "stream" in request ? request.stream.session?.socket : request.socket;
  return socket !== undefined && Reflect.get(socket, "authorized") === true;
}

/** Sends status and headers before the first byte of a body is there. */
export function flushHeaders(response: RawResponse): void {
  if ("flushHeaders" in response && typeof response.flushHeaders === "function") response.flushHeaders();
}
