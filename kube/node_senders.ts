/** Connections over `node:http` and `node:https`, kept alive: direct, and through proxies. */
import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type Socket } from "node:net";
import { Duplex } from "node:stream";
import * as tls from "node:tls";
import type { Clock } from "./clock.ts";
import type { Access, TlsMaterial } from "./credentials_types.ts";
import type { SendController, Sender, SendHandler, SendRequest } from "./sender.ts";
import { openTunnel } from "./tunnel.ts";

/** Idle connections are closed after so long. */
const keepAliveMs = 60_000;
/**
 * A connection that does not stand after so long is given up. The network's own patience is minutes: a host that was
 * out of reach for a while would be looked for again long after it is back.
 */
const connectMs = 10_000;

export async function openNodeSenders(
  access: Access,
  clock: Clock,
): Promise<(connections: number | null) => Sender> {
  const server = new URL(access.server);
  const secure = server.protocol === "https:";
  return (connections) => {
    const settings = { keepAlive: true, timeout: keepAliveMs, maxSockets: connections ?? Infinity };
    const tlsSettings = { ...settings, ...tlsOptions(access.tls) };
    const agent =
      access.proxy !== undefined
        ? new TunnelAgent(tlsSettings, new URL(access.proxy), secure, clock)
        : secure
          ? new https.Agent(tlsSettings)
          : new http.Agent(settings);
    return new NodeSender(server, secure, agent, clock);
  };
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
  };
}

/** Connections that a proxy makes; TLS is spoken through them, with the server itself. */
class TunnelAgent extends http.Agent {
  readonly #proxy: URL;
  readonly #secure: boolean;
  readonly #tls: tls.ConnectionOptions;
  readonly #clock: Clock;

  constructor(
    settings: http.AgentOptions & tls.ConnectionOptions,
    proxy: URL,
    secure: boolean,
    clock: Clock,
  ) {
    super(settings);
    this.#clock = clock;
    this.#proxy = proxy;
    this.#secure = secure;
    this.#tls = settings;
  }

  override createConnection(
    options: http.ClientRequestArgs,
    connected: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const host = options.host ?? "";
    const limit = this.#clock.after(connectMs, () => giveUp(late()));
    const giveUp = openTunnel(this.#proxy, { host, port: Number(options.port) }, (opened) => {
      limit.cancel();
      if (opened instanceof Error) connected(opened, new Duplex());
      else if (this.#secure) this.#secureOver(opened, host, connected);
      else connected(null, opened);
    });
    return undefined;
  }

  #secureOver(socket: Socket, host: string, connected: (error: Error | null, stream: Duplex) => void): void {
    const servername = this.#tls.servername ?? (isIP(host) ? "" : host);
    const secured = tls.connect({ ...this.#tls, socket, host, servername });
    const fail = (error: Error): void => connected(error, new Duplex());
    const securing = this.#clock.after(connectMs, () => secured.destroy(late()));
    secured.once("error", fail);
    secured.once("close", () => securing.cancel());
    secured.once("secureConnect", () => {
      securing.cancel();
      secured.off("error", fail);
      connected(null, secured);
    });
  }
}

function late(): Error {
  return Object.assign(new Error(`no connection within ${connectMs} ms`), { code: "ETIMEDOUT" });
}

class NodeSender implements Sender {
  readonly #server: URL;
  readonly #secure: boolean;
  readonly #agent: HttpAgent;
  readonly #clock: Clock;
  readonly #running = new Set<ClientRequest>();
  #idle: (() => void) | undefined;

  constructor(server: URL, secure: boolean, agent: HttpAgent, clock: Clock) {
    this.#server = server;
    this.#secure = secure;
    this.#agent = agent;
    this.#clock = clock;
  }

  dispatch(send: SendRequest, handler: SendHandler): void {
    const options: RequestOptions = {
      agent: this.#agent,
      host: this.#server.hostname.replace(/^\[|\]$/g, ""),
      port: this.#server.port || (this.#secure ? 443 : 80),
      path: send.path,
      method: send.method,
      headers: {
        ...send.headers,
        ...(send.body === null ? {} : { "content-length": String(Buffer.byteLength(send.body)) }),
      },
    };
    // A tunnel's connections are ready when the agent hands them over, secured or not.
    const secure = this.#secure && !(this.#agent instanceof TunnelAgent);
    const request = secure ? https.request(options) : http.request(options);
    this.#running.add(request);
    new NodeExchange(request, handler, secure, this.#clock);
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
  readonly #clock: Clock;
  /** Undefined when it is over. */
  #handler: SendHandler | undefined;
  #response: IncomingMessage | undefined;

  constructor(request: ClientRequest, handler: SendHandler, secure: boolean, clock: Clock) {
    this.#request = request;
    this.#handler = handler;
    this.#clock = clock;
    request.once("socket", (socket) => this.#whenConnected(socket, secure ? "secureConnect" : "connect"));
    request.once("response", (response) => this.#answer(response));
    // Breaking off can be told more than once.
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
    const limit = this.#clock.after(connectMs, () => this.#request.destroy(late()));
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
