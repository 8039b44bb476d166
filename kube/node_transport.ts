/** Exchanges over `node:http` and `node:https`: the transport of the agent. */
import { once } from "node:events";
import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import * as tls from "node:tls";
import { Agent, type AgentConnectOpts } from "agent-base";
import { HttpsProxyAgent } from "https-proxy-agent";
import type { Clock } from "./clock.ts";
import type { Access, TlsMaterial } from "./credentials_types.ts";
import { KubeError } from "./errors.ts";
import type { SendController, Sender, SenderSettings, SendHandler, SendRequest } from "./sender.ts";
import { bareHost, isSocks, type TunnelTarget, throughSocks, unknownProxy } from "./socks_proxy.ts";
import { type Transport, type TransportOptions, tlsFloor, transportOver } from "./transport.ts";

/** Idle connections are closed after so long. */
const keepAliveMs = 60_000;

/** The transport of a process that must stay small: undici's parser, compiled from WebAssembly, takes 17 MB more. */
export function nodeTransport(options: TransportOptions): Transport {
  return transportOver(options, (access, settings) => openAgent(access, settings, options.clock));
}

function openAgent(access: Access, { connections, connectMs }: SenderSettings, clock: Clock): Sender {
  const server = new URL(access.server);
  const secure = server.protocol === "https:";
  const settings = { keepAlive: true, timeout: keepAliveMs, maxSockets: connections ?? Infinity };
  const tlsSettings = { ...settings, ...tlsOptions(access.tls) };
  const agent =
    access.proxy !== undefined
      ? new TunnelAgent(tlsSettings, knownProxy(access.proxy), secure, connectMs, clock)
      : secure
        ? new https.Agent(tlsSettings)
        : new http.Agent(settings);
  return new NodeSender(server, secure, agent, connectMs, clock);
}

function knownProxy(url: string): URL {
  const proxy = new URL(url);
  if (isSocks(proxy) || /^https?:$/.test(proxy.protocol)) return proxy;
  throw new KubeError("Config", unknownProxy(proxy));
}

function tlsOptions(material: TlsMaterial): https.AgentOptions {
  const { ca, cert, key, passphrase, serverName, insecure } = material;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(insecure ? { rejectUnauthorized: false } : {}),
    minVersion: tlsFloor,
  };
}

/** Connections that a proxy makes; TLS is spoken through them, with the server itself. */
class TunnelAgent extends Agent {
  readonly #proxy: URL;
  readonly #secure: boolean;
  readonly #tls: tls.ConnectionOptions;
  readonly #connectMs: number;
  readonly #clock: Clock;

  constructor(
    settings: http.AgentOptions & tls.ConnectionOptions,
    proxy: URL,
    secure: boolean,
    connectMs: number,
    clock: Clock,
  ) {
    super(settings);
    // Connections are ready when they are handed over, secured or not.
    this.protocol = "http:";
    this.#clock = clock;
    this.#proxy = proxy;
    this.#secure = secure;
    this.#tls = settings;
    this.#connectMs = connectMs;
  }

  override async connect(request: ClientRequest, options: AgentConnectOpts): Promise<Duplex> {
    const target = { host: options.host ?? "", port: Number(options.port) };
    const over = new AbortController();
    const limit = this.#clock.after(this.#connectMs, () => over.abort(late(this.#connectMs)));
    try {
      const socket = await (isSocks(this.#proxy)
        ? throughSocks(this.#proxy, target, this.#connectMs)
        : throughConnect(this.#proxy, target, request, over.signal));
      return this.#secure ? await this.#secureOver(socket, target.host, over.signal) : socket;
    } catch (error) {
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      limit.cancel();
    }
  }

  async #secureOver(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
    const servername = this.#tls.servername ?? (isIP(host) ? "" : host);
    const secured = tls.connect({ ...this.#tls, socket, host, servername });
    try {
      await once(secured, "secureConnect", { signal });
    } catch (error) {
      secured.destroy();
      throw error;
    }
    return secured;
  }
}

/** An answer of the proxy that is no consent would come back as that of the server. */
async function throughConnect(
  proxy: URL,
  target: TunnelTarget,
  request: ClientRequest,
  signal: AbortSignal,
): Promise<Socket> {
  const settings = { signal };
  const connector = new HttpsProxyAgent(proxy, settings);
  let status: number | undefined;
  request.once("proxyConnect", ({ statusCode }: { statusCode: number }) => {
    status = statusCode;
  });
  const socket = await connector.connect(request, { ...target, secureEndpoint: false });
  if (status === 200) return socket;
  socket.destroy();
  throw new Error(`the proxy ${proxy.hostname} refused CONNECT ${target.host}:${target.port}: ${status}`);
}

function late(connectMs: number): Error {
  return Object.assign(new Error(`no connection within ${connectMs} ms`), { code: "ETIMEDOUT" });
}

class NodeSender implements Sender {
  readonly #server: URL;
  readonly #secure: boolean;
  readonly #agent: HttpAgent;
  readonly #connectMs: number;
  readonly #clock: Clock;
  readonly #running = new Set<ClientRequest>();
  #idle: (() => void) | undefined;

  constructor(server: URL, secure: boolean, agent: HttpAgent, connectMs: number, clock: Clock) {
    this.#connectMs = connectMs;
    this.#server = server;
    this.#secure = secure;
    this.#agent = agent;
    this.#clock = clock;
  }

  dispatch(send: SendRequest, handler: SendHandler): void {
    const secure = this.#secure && !(this.#agent instanceof TunnelAgent);
    const options: RequestOptions = {
      agent: this.#agent,
      protocol: secure ? "https:" : "http:",
      host: bareHost(this.#server.hostname),
      port: this.#server.port || (this.#secure ? 443 : 80),
      path: send.path,
      method: send.method,
      headers: {
        ...send.headers,
        ...(send.body === null ? {} : { "content-length": String(Buffer.byteLength(send.body)) }),
      },
    };
    const request = secure ? https.request(options) : http.request(options);
    this.#running.add(request);
    new NodeExchange(request, handler, secure, this.#connectMs, this.#clock);
    request.once("close", () => {
      this.#running.delete(request);
      if (this.#running.size === 0) this.#idle?.();
    });
    request.end(send.body ?? undefined);
  }

  async close(): Promise<void> {
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    this.#agent.destroy();
  }

  async destroy(): Promise<void> {
    for (const request of this.#running) request.destroy();
    this.#agent.destroy();
  }
}

/**
 * Turns the events of one request into the handler's calls; exactly one of end and error is the last. The handler, and with it
 * the body, is let go of then: a connection that is kept alive holds on to the request that it was made for.
 */
class NodeExchange implements SendController {
  readonly #request: ClientRequest;
  readonly #connectMs: number;
  readonly #clock: Clock;
  /** Undefined when it is over. */
  #handler: SendHandler | undefined;
  #response: IncomingMessage | undefined;

  constructor(
    request: ClientRequest,
    handler: SendHandler,
    secure: boolean,
    connectMs: number,
    clock: Clock,
  ) {
    this.#connectMs = connectMs;
    this.#request = request;
    this.#handler = handler;
    this.#clock = clock;
    request.once("socket", (socket) => this.#whenConnected(socket, secure ? "secureConnect" : "connect"));
    request.once("response", (response) => this.#answer(response));
    // Breaking off can be reported more than once.
    request.on("error", (error) => this.#fail(error));
    request.once("close", () => this.#fail(new Error("other side closed")));
  }

  abort(reason: Error): void {
    // Without the reason: the socket of an answer that is already complete has nobody who hears of errors.
    this.#request.destroy();
    this.#fail(reason);
  }

  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  #whenConnected(socket: Socket, event: "secureConnect" | "connect"): void {
    const start = (): void => this.#handler?.onRequestStart(this);
    if (this.#request.reusedSocket || !socket.connecting) {
      start();
      return;
    }
    const limit = this.#clock.after(this.#connectMs, () => this.#request.destroy(late(this.#connectMs)));
    this.#request.once("close", () => limit.cancel());
    socket.once(event, () => {
      limit.cancel();
      start();
    });
  }

  #answer(response: IncomingMessage): void {
    this.#response = response;
    this.#handler?.onResponseStart(this, response.statusCode ?? 0, response.headers);
    response.on("data", (chunk: Uint8Array) => this.#handler?.onResponseData(this, chunk));
    response.once("end", () => {
      // A body that ended before its length ends with an error instead.
      if (response.complete) this.#over()?.onResponseEnd();
    });
    response.on("error", (error) => this.#fail(error));
  }

  #fail(error: Error): void {
    this.#over()?.onResponseError(this, error);
  }

  #over(): SendHandler | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    return handler;
  }
}
