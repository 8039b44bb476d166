/**
 * gRPC over HTTP/2 on a unix socket, as far as CRI needs it: unary calls and server streams, without TLS, compression,
 * retries or balancing. A whole gRPC library costs the agent 5 MB resident for a socket on the same machine.
 * Spec: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import * as http2 from "node:http2";
import * as net from "node:net";
import type { Clock } from "../../kube/index.ts";
import { messageOf } from "../errors.ts";
import { MessageReader, messageFrame } from "./grpc_frames.ts";
import { GrpcError, grpcStatus, statusOfHttp, statusOfReset } from "./grpc_status.ts";

export interface Channel {
  /** Resolves with the one message of the answer; throws GrpcError. */
  unary(
    path: string,
    message: Uint8Array,
    options: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<Uint8Array>;
  /** The messages as they arrive, without a deadline; throws GrpcError. Leaving the loop cancels the call. */
  stream(path: string, message: Uint8Array, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): void;
}

export interface ChannelOptions {
  readonly clock: Clock;
  /** Bytes of one message. */
  readonly maxMessageBytes: number;
}

const windowBytes = 1024 * 1024;

export function openChannel(socket: string, options: ChannelOptions): Channel {
  return new UnixChannel(socket, options);
}

/** One connection, made with the first call and again with the first one after it broke. */
class UnixChannel implements Channel {
  readonly #socket: string;
  readonly #options: ChannelOptions;
  #session: http2.ClientHttp2Session | undefined;
  #closed = false;

  constructor(socket: string, options: ChannelOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  unary(
    path: string,
    message: Uint8Array,
    options: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const messages: Uint8Array[] = [];
      const call = this.#start(path, message, options.timeoutMs, {
        message: (one) => messages.push(one),
        end(error) {
          timer.cancel();
          options.signal?.removeEventListener("abort", abort);
          if (error) return reject(error);
          const [answer] = messages;
          if (answer && messages.length === 1) return resolve(answer);
          reject(new GrpcError(grpcStatus.INTERNAL, `${messages.length} messages instead of one`));
        },
      });
      const timer = this.#options.clock.after(options.timeoutMs, () => {
        call.cancel(new GrpcError(grpcStatus.DEADLINE_EXCEEDED, `no answer within ${options.timeoutMs} ms`));
      });
      const abort = (): void =>
        call.cancel(new GrpcError(grpcStatus.CANCELLED, messageOf(options.signal?.reason)));
      options.signal?.addEventListener("abort", abort, { once: true });
      if (options.signal?.aborted) abort();
    });
  }

  async *stream(path: string, message: Uint8Array, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const waiting: Uint8Array[] = [];
    let over: { error: GrpcError | undefined } | undefined;
    let wake = (): void => undefined;
    const call = this.#start(path, message, undefined, {
      message(one) {
        waiting.push(one);
        wake();
      },
      end(error) {
        over = { error };
        wake();
      },
    });
    const abort = (): void => call.cancel(new GrpcError(grpcStatus.CANCELLED, messageOf(signal.reason)));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      for (;;) {
        const next = waiting.shift();
        if (next) yield next;
        else if (over) {
          if (over.error) throw over.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener("abort", abort);
      call.cancel(new GrpcError(grpcStatus.CANCELLED, "the reader left"));
    }
  }

  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#session = undefined;
  }

  #start(path: string, message: Uint8Array, timeoutMs: number | undefined, handler: CallHandler): Call {
    if (this.#closed) {
      handler.end(new GrpcError(grpcStatus.CANCELLED, "the channel is closed"));
      return { cancel: () => undefined };
    }
    const session = this.#connected();
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "refit-agent",
      ...(timeoutMs === undefined ? {} : { "grpc-timeout": `${Math.max(1, Math.ceil(timeoutMs))}m` }),
    });
    const call = new RunningCall(stream, handler, this.#options.maxMessageBytes);
    stream.end(messageFrame(message));
    return {
      cancel: (error) => {
        call.cancel(error);
        // Accepted, but never a word of HTTP/2: the next call is better off with a connection of its own.
        if (error.status === grpcStatus.DEADLINE_EXCEEDED && !spoken.has(session)) session.destroy();
      },
    };
  }

  #connected(): http2.ClientHttp2Session {
    const held = this.#session;
    if (held && !held.closed && !held.destroyed) return held;
    const session = http2.connect("http://localhost", {
      createConnection: () => net.connect(this.#socket),
      settings: { enablePush: false, initialWindowSize: windowBytes },
    });
    session.once("remoteSettings", () => spoken.add(session));
    const forget = (): void => {
      if (this.#session === session) this.#session = undefined;
    };
    // Calls in flight hear of a broken connection as the end of their own stream.
    session.on("error", forget);
    session.once("close", forget);
    session.once("goaway", forget);
    this.#session = session;
    return session;
  }
}

/** Connections on which the peer has sent its settings. */
const spoken = new WeakSet<http2.ClientHttp2Session>();

interface Call {
  cancel(error: GrpcError): void;
}

interface CallHandler {
  message(bytes: Uint8Array): void;
  /** Called once, last; undefined: the call ended well. */
  end(error: GrpcError | undefined): void;
}

class RunningCall implements Call {
  readonly #stream: http2.ClientHttp2Stream;
  readonly #handler: CallHandler;
  readonly #reader: MessageReader;
  /** What the peer said in its trailers, or why the call was broken off here. */
  #outcome: GrpcError | "OK" | undefined;
  #broken: Error | undefined;
  #httpStatus = 0;
  #over = false;

  constructor(stream: http2.ClientHttp2Stream, handler: CallHandler, maxMessageBytes: number) {
    this.#stream = stream;
    this.#handler = handler;
    this.#reader = new MessageReader(maxMessageBytes);
    stream.once("response", (headers) => {
      this.#httpStatus = Number(headers[":status"] ?? 0);
      this.#heard(headers);
    });
    stream.once("trailers", (headers) => this.#heard(headers));
    stream.on("data", (chunk: Uint8Array) => this.#read(chunk));
    stream.once("error", (error) => {
      this.#broken = error;
    });
    stream.once("close", () => this.#end());
  }

  cancel(error: GrpcError): void {
    if (this.#over) return;
    this.#outcome ??= error;
    this.#stream.close(http2.constants.NGHTTP2_CANCEL);
    this.#end();
  }

  #read(chunk: Uint8Array): void {
    // Deno hands over data before the head of the answer: then the status is not known yet.
    if (this.#over || (this.#httpStatus !== 0 && this.#httpStatus !== 200)) return;
    try {
      for (const message of this.#reader.push(chunk)) this.#handler.message(message);
    } catch (error) {
      this.cancel(
        error instanceof GrpcError ? error : new GrpcError(grpcStatus.INTERNAL, messageOf(error), error),
      );
    }
  }

  #heard(headers: http2.IncomingHttpHeaders): void {
    const text = headers["grpc-status"];
    if (text === undefined || this.#outcome !== undefined) return;
    const status = Number(text);
    const details = decoded(String(headers["grpc-message"] ?? ""));
    this.#outcome = status === grpcStatus.OK ? "OK" : new GrpcError(status, details);
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.end(this.#verdict());
  }

  #verdict(): GrpcError | undefined {
    if (this.#outcome === "OK") {
      if (!this.#reader.isInsideMessage) return undefined;
      return new GrpcError(grpcStatus.INTERNAL, "the answer ended inside a message");
    }
    if (this.#outcome) return this.#outcome;
    if (this.#httpStatus !== 0 && this.#httpStatus !== 200) {
      return new GrpcError(statusOfHttp(this.#httpStatus), `HTTP status ${this.#httpStatus}`);
    }
    const { rstCode } = this.#stream;
    const why = this.#broken ? rootMessage(this.#broken) : `the stream ended without a status (${rstCode})`;
    return new GrpcError(statusOfReset(rstCode ?? 0, this.#broken !== undefined), why, this.#broken);
  }
}

/** The connection's own error says more than "the pending stream has been canceled". */
function rootMessage(error: Error): string {
  return error.cause instanceof Error ? rootMessage(error.cause) : error.message;
}

/** Messages are percent-encoded; one that is not is taken as it came. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
