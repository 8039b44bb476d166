/**
 * The HTTPS server of admission and conversion: HTTP/2 and HTTP/1.1 on one port. It accepts nothing before the first
 * certificate and takes over new ones without a restart. Bad clients cost a bounded amount of memory and time.
 */
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import { type Clock, isKubeError, type Log, messageOf, tlsFloor } from "../../../kube/index.ts";
import { answerConversion, type Converter } from "./conversion.ts";
import type { AdmissionHandler } from "./request.ts";
import { denied } from "./request.ts";
import { decodeReview, encodeProblem, encodeReview } from "./review.ts";

export interface ServingCertificate {
  /** PEM. */
  readonly key: string;
  /** PEM, the chain. */
  readonly cert: string;
}

export interface CertificateSource {
  /** Calls back with the present certificate, if there is one, and with each later one. Returns how to stop that. */
  subscribe(use: (certificate: ServingCertificate) => void): () => void;
}

export interface AdmissionMetrics {
  /** One answered review. `code` is that of the answer, 200 when allowed. */
  review(path: string, code: number, tookMs: number): void;
  /** A handler threw what none should. */
  failed(): void;
}

export const nullAdmissionMetrics: AdmissionMetrics = {
  review: () => undefined,
  failed: () => undefined,
};

export interface AdmissionServerOptions {
  /** 0: any free port. */
  port: number;
  /** Undefined: all addresses. */
  host: string | undefined;
  /** Lets other processes of this user listen on the same port; the kernel spreads connections over them. */
  sharePort?: boolean;
  certificates: CertificateSource;
  /** By path. */
  handlers: ReadonlyMap<string, AdmissionHandler>;
  convert: Converter;
  log: Log;
  metrics: AdmissionMetrics;
  clock: Clock;
  limits?: Partial<AdmissionLimits>;
}

interface AdmissionLimits {
  /** Bytes of an AdmissionReview. Twice the server's limit of an object (an update carries two) and some. */
  reviewBytes: number;
  /** Bytes of a ConversionReview: a whole list may come in one. */
  conversionBytes: number;
  /** Bytes of all bodies that are being received at a time. */
  bufferedBytes: number;
  /** Milliseconds until a body must have arrived. */
  bodyMs: number;
}

/**
 * Of one HTTP/2 session. The API server asks for many reviews at once and cancels those that time out; streams reset faster
 * than that, invalid frames and large lists of headers are somebody else's, and end the session. Floods of pings, settings and
 * continuations are ended by the protocol's implementation.
 */
const sessionLimits = {
  settings: { maxConcurrentStreams: 500, initialWindowSize: 1024 * 1024, maxHeaderListSize: 32 * 1024 },
  maxHeaderListPairs: 64,
  maxSettings: 32,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: 1000,
  streamResetRate: 100,
  unknownProtocolTimeout: 5_000,
};

/** Of HTTP/1.1, which shares the port. Types know them only on servers without HTTP/2. */
const http1Limits = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
};

const defaultLimits: AdmissionLimits = {
  reviewBytes: 7 * 1024 * 1024,
  conversionBytes: 64 * 1024 * 1024,
  bufferedBytes: 128 * 1024 * 1024,
  bodyMs: 15_000,
};

export class AdmissionServer {
  readonly #options: AdmissionServerOptions;
  readonly #limits: AdmissionLimits;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #server: Http2SecureServer | undefined;
  #unsubscribe: (() => void) | undefined;
  #buffered = 0;
  #port: number | undefined;

  constructor(options: AdmissionServerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /** The port in use; undefined before `listen`. */
  get port(): number | undefined {
    return this.#port;
  }

  /** Resolves when the port accepts connections: after the first certificate. */
  listen(): Promise<{ port: number }> {
    return new Promise((resolve, reject) => {
      this.#unsubscribe = this.#options.certificates.subscribe((certificate) => {
        if (this.#server !== undefined) {
          this.#server.setSecureContext({ ...certificate, minVersion: tlsFloor });
          this.#options.log.info("admission serves with a new certificate");
          return;
        }
        try {
          this.#start(certificate, resolve, reject);
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #start(
    certificate: ServingCertificate,
    resolve: (at: { port: number }) => void,
    reject: (error: unknown) => void,
  ): void {
    const server = createSecureServer({
      ...certificate,
      minVersion: tlsFloor,
      allowHTTP1: true,
      handshakeTimeout: 10_000,
      ...sessionLimits,
    });
    this.#server = server;
    server.maxConnections = 2000;
    Object.assign(server, http1Limits);
    server.setTimeout(300_000);
    server.on("connection", (socket: Socket) => remember(this.#sockets, socket));
    server.on("session", (session) => {
      session.on("error", () => undefined);
      remember(this.#sessions, session);
    });
    server.on("sessionError", (error) => this.#options.log.debug("admission: session broke", { error }));
    server.on("tlsClientError", (error) =>
      this.#options.log.debug("admission: TLS handshake failed", { error }),
    );
    server.on("request", (request, response) => {
      this.#serve(request, response).catch((error) => {
        this.#options.metrics.failed();
        this.#options.log.error("admission: request failed", { path: request.url, error });
        response.destroy();
      });
    });
    server.once("error", reject);
    const { port, host, sharePort } = this.#options;
    server.listen({ port, host, reusePort: sharePort ?? false }, () => {
      server.off("error", reject);
      server.on("error", (error) => this.#options.log.error("admission server failed", { error }));
      const address = server.address();
      this.#port = typeof address === "object" && address !== null ? address.port : this.#options.port;
      resolve({ port: this.#port });
    });
  }

  /** Stops accepting, lets running reviews end for `graceMs`, then breaks connections. */
  async close(graceMs = 2000): Promise<void> {
    this.#unsubscribe?.();
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(graceMs, () => {
        for (const socket of this.#sockets) socket.destroy();
      });
      for (const session of this.#sessions) session.close();
      server.close(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const path = request.url.split("?", 1)[0] ?? "";
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    if (path === "/healthz") return send(response, 200, "text/plain", "ok");
    const handler = this.#options.handlers.get(path);
    if (handler === undefined && path !== "/convert")
      return send(response, 404, "text/plain", `no webhook at ${path}\n`);
    if (request.method !== "POST") return send(response, 405, "text/plain", "only POST is answered here\n");
    const started = this.#options.clock.monotonic();
    const body = await this.#receive(
      request,
      handler === undefined ? this.#limits.conversionBytes : this.#limits.reviewBytes,
    );
    if (typeof body === "number") return this.#refuse(response, path, body, started);
    if (handler === undefined) {
      const { code, text } = answerConversion(body, this.#options.convert);
      send(response, code, "application/json", text);
      this.#options.metrics.review(path, code, this.#options.clock.monotonic() - started);
      return;
    }
    const contentType = request.headers["content-type"] ?? "";
    const review = /^application\/json\b/.test(contentType)
      ? decodeReview(body)
      : `contentType=${contentType}, expected application/json`;
    if (typeof review === "string") {
      send(response, 400, "application/json", encodeProblem(400, review));
      this.#options.metrics.review(path, 400, this.#options.clock.monotonic() - started);
      return;
    }
    const answer = await this.#ask(handler, path, review.request);
    send(response, 200, "application/json", encodeReview(review.apiVersion, review.request.uid, answer));
    this.#options.metrics.review(
      path,
      answer.allowed ? 200 : answer.code,
      this.#options.clock.monotonic() - started,
    );
  }

  async #ask(handler: AdmissionHandler, path: string, request: Parameters<AdmissionHandler>[0]) {
    try {
      return await handler(request);
    } catch (error) {
      const { namespace, name, operation } = request;
      if (!isKubeError(error)) this.#options.metrics.failed();
      this.#options.log.error("admission handler failed", { path, operation, namespace, name, error });
      return denied(500, messageOf(error));
    }
  }

  #refuse(response: Http2ServerResponse, path: string, code: number, started: number): void {
    if (code !== 0) {
      send(response, code, "application/json", encodeProblem(code, problems[code] ?? "request failed"));
      this.#options.metrics.review(path, code, this.#options.clock.monotonic() - started);
    }
  }

  /** The body, or the HTTP status with which to refuse it; 0 when the client has gone. */
  #receive(request: Http2ServerRequest, limit: number): Promise<Buffer | number> {
    return new Promise((resolve) => {
      const declared = Number(request.headers["content-length"] ?? 0);
      if (declared > limit) {
        request.resume();
        resolve(413);
        return;
      }
      // One buffer that grows: a body in pieces of one byte must not cost a hundred times its size.
      let bytes: Buffer = Buffer.alloc(0);
      let size = 0;
      let settled = false;
      const timer = this.#options.clock.after(this.#limits.bodyMs, () => {
        settle(408);
        request.destroy();
      });
      const settle = (result: Buffer | number) => {
        if (settled) return;
        settled = true;
        timer.cancel();
        this.#buffered -= size;
        if (typeof result === "number") request.resume();
        resolve(result);
      };
      request.on("data", (chunk: Buffer) => {
        if (settled) return;
        bytes = size === 0 ? chunk : appended(bytes, size, chunk);
        size += chunk.length;
        this.#buffered += chunk.length;
        if (size > limit) settle(413);
        else if (this.#buffered > this.#limits.bufferedBytes) settle(503);
      });
      request.on("end", () => settle(bytes.subarray(0, size)));
      request.on("aborted", () => settle(0));
      request.on("close", () => settle(0));
    });
  }
}

/** `bytes`, of which `size` are in use, with `chunk` behind them; twice as large where there is no room. */
function appended(bytes: Buffer, size: number, chunk: Buffer): Buffer {
  const needed = size + chunk.length;
  const target = needed <= bytes.length ? bytes : Buffer.allocUnsafeSlow(Math.max(needed, 2 * size));
  if (target !== bytes) bytes.copy(target, 0, 0, size);
  chunk.copy(target, size);
  return target;
}

function remember<T extends { once(event: "close", run: () => void): unknown }>(
  set: Set<T>,
  closable: T,
): void {
  set.add(closable);
  closable.once("close", () => set.delete(closable));
}

const problems: Readonly<Record<number, string>> = {
  408: "request body did not arrive in time",
  413: "request body is too large",
  503: "too many requests are being received",
};

function send(response: Http2ServerResponse, code: number, type: string, body: string | Buffer): void {
  if (response.destroyed || response.writableEnded) return;
  response.writeHead(code, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
