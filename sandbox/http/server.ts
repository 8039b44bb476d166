/** The HTTPS listener: HTTP/2 and HTTP/1.1 on one port, clients known by certificate or token. */
import { once } from "node:events";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Certificates } from "../certificates.ts";
import { adminUser, anonymousUser, type Tokens } from "../tokens.ts";
import type { User } from "../writes/request.ts";
import { ApiError } from "./api_error.ts";
import {
  isAuthorized,
  jsonReply,
  makeExchange,
  type RawRequest,
  type RawResponse,
  sendReply,
} from "./exchange.ts";
import { answer, type Routes } from "./router.ts";

interface Listener {
  readonly port: number;
  stop(): Promise<void>;
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly certificates: Certificates;
  readonly tokens: Tokens;
  readonly routes: Routes;
}

/** Streams of one connection; as many watches as a large client can want. */
const streamsPerConnection = 10_000;

export async function listen(options: ListenOptions): Promise<Listener> {
  const { certificates, routes, tokens } = options;
  const server = createSecureServer({
    allowHTTP1: true,
    key: certificates.serverKey,
    cert: certificates.serverCert,
    ca: certificates.caCert,
    requestCert: true,
    rejectUnauthorized: false,
    // Megabytes that wait in one connection; streams beyond the default of 10 would be refused.
    maxSessionMemory: 4096,
    // Clients that cancel many requests, as load tests do, are no attack here.
    streamResetBurst: streamsPerConnection * 100,
    streamResetRate: streamsPerConnection * 100,
    settings: { maxConcurrentStreams: streamsPerConnection, initialWindowSize: 1 << 20 },
    handshakeTimeout: 10_000,
  });
  Object.assign(server, {
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    // As long as a real API server: clients must not use a connection again while it is being closed.
    keepAliveTimeout: 90_000,
    connectionsCheckingInterval: 5_000,
  });
  const stopConnections = trackConnections(server);
  server.on("request", (request: RawRequest, response: RawResponse) => {
    request.on("error", () => {});
    response.on("error", () => {});
    serve(request, response).catch((error: unknown) => {
      routes.world.log("request failed inside the sandbox", { path: request.url, error: String(error) });
      response.destroy();
    });
  });

  async function serve(request: RawRequest, response: RawResponse): Promise<void> {
    const user = userOf(request, tokens);
    const exchange = makeExchange(request, response, user ?? anonymousUser);
    if (exchange === undefined) {
      response.statusCode = 400;
      response.end(Buffer.from("400 Bad Request: malformed request target\n"));
      return;
    }
    if (user === undefined) {
      sendReply(exchange, jsonReply(401, new ApiError(401, "Unauthorized", "Unauthorized").toStatus()));
      return;
    }
    await answer(routes, exchange);
  }

  server.listen(options.port, options.host);
  await once(server, "listening");
  server.on("error", (error) => routes.world.log("a connection was not accepted", { error: String(error) }));
  const address = server.address();
  return {
    port: isAddress(address) ? address.port : options.port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        stopConnections();
      }),
  };
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}

function trackConnections(server: Http2SecureServer): () => void {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  server.on("secureConnection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("sessionError", () => {});
  server.on("tlsClientError", () => {});
  return () => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  };
}

/** Undefined for a token that nobody issued. */
function userOf(request: RawRequest, tokens: Tokens): User | undefined {
  const { authorization } = request.headers;
  const token = typeof authorization === "string" ? /^Bearer (.+)$/.exec(authorization)?.[1] : undefined;
  if (token !== undefined) return tokens.userOf(token);
  // Only the administrator's certificate comes from the sandbox's own authority.
  return isAuthorized(request) ? adminUser : anonymousUser;
}
