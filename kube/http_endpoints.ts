/** Plain HTTP for probes and scrapers: /metrics, /healthz, /readyz with named checks. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { errorText } from "./core/errors.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics_types.ts";

/** Rejects, with a message that may be shown, when the part it checks is not well. */
export type Check = () => Promise<void>;

export interface HttpEndpointsOptions {
  /** `:8080`, `127.0.0.1:8080`; port 0 picks a free one. */
  address: string;
  log: Log;
  metrics: Pick<Metrics, "unexpectedError">;
  routes: Routes;
}

/** Path -> what it serves: to `GET` alone, or by method. */
export type Routes = Readonly<Record<string, Route | Methods>>;

export interface Methods {
  readonly GET: Route;
  /** Of a short text; never shared between requests. */
  readonly PUT?: (body: string) => Promise<Reply>;
}

export interface RouteRequest {
  readonly path: string;
  readonly verbose: boolean;
  readonly query: URLSearchParams;
}

export type Route = (request: RouteRequest) => Promise<Reply>;

export interface Reply {
  status: number;
  contentType: string;
  body: string;
}

export interface HttpEndpoints {
  readonly port: number;
  close(): Promise<void>;
}

/** Requests of probes and scrapers are short and soon there; what is not, comes from somebody else. */
const limits = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
};
/** Beyond that the oldest connection is closed for a new one: whoever holds many keeps no probe out. */
const mostConnections = 256;
const mostRequestsPerConnection = 1_000;
const longestBody = 1_024;

/** Serves until closed. Rejects when the address is taken or unreadable. */
export async function startHttpEndpoints(options: HttpEndpointsOptions): Promise<HttpEndpoints> {
  const { host, port } = parseAddress(options.address);
  const server = createServer(limits, answering(options));
  server.maxRequestsPerSocket = mostRequestsPerConnection;
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    const [oldest] = open.size < mostConnections ? [] : open;
    if (oldest !== undefined) {
      open.delete(oldest);
      oldest.destroy();
    }
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.listen({ port, host });
  await once(server, "listening");
  // Without file descriptors left each connection that cannot be accepted is an error.
  server.on("error", (error) => options.log.warn("endpoints: a connection was not accepted", { error }));
  const bound = server.address();
  return {
    port: isAddressInfo(bound) ? bound.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answering({ routes, log, metrics }: HttpEndpointsOptions): RequestListener {
  // Requests for the same thing at the same time share one answer: asking often costs little.
  const running = new Map<string, Promise<Reply>>();
  const run = (key: string, route: Route, asked: Parameters<Route>[0]): Promise<Reply> => {
    const shared = running.get(key);
    if (shared !== undefined) return shared;
    const reply = route(asked).finally(() => running.delete(key));
    running.set(key, reply);
    return reply;
  };
  const replyTo = async (request: IncomingMessage): Promise<Reply> => {
    const { url: target = "", method } = request;
    const url = URL.parse(target, "http://localhost");
    if (url === null) return plainText(400, "400 bad request\n");
    const path = url.pathname;
    const found = routes[path] ?? routes[parentOf(path)];
    if (found === undefined) return plainText(404, "404 page not found\n");
    const { GET: get, PUT: put }: Methods = typeof found === "function" ? { GET: found } : found;
    const query = url.searchParams;
    const verbose = query.has("verbose");
    try {
      if (method === "PUT" && put !== undefined) {
        const body = await bodyOf(request);
        return body === undefined ? plainText(413, "the body is too long\n") : await put(body);
      }
      if (method !== "GET" && method !== "HEAD")
        return plainText(405, put === undefined ? "only GET\n" : "only GET and PUT\n");
      return await run(`${path} ${verbose}`, get, { path, verbose, query });
    } catch (error) {
      metrics.unexpectedError("endpoint");
      log.error("endpoint failed", { path, error });
      return plainText(500, "internal error\n");
    }
  };
  return (request, response) => {
    // A client that goes away in the middle is no failure of ours.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    replyTo(request)
      .then((reply) => answer(response, reply))
      .catch((error: unknown) => log.error("endpoint failed", { error }));
  };
}

/** A route over named checks, answered as the API machinery does: `ok`, or one line for each check. */
export function checksRoute(name: string, checks: Readonly<Record<string, Check>>): Route {
  return async ({ path, verbose }) => {
    const only = path === `/${name}` ? undefined : path.slice(name.length + 2);
    const chosen = Object.entries(checks).filter(([check]) => only === undefined || check === only);
    if (only !== undefined && chosen.length === 0) return plainText(404, "404 page not found\n");
    const lines = await Promise.all(
      chosen.map(async ([check, run]) => {
        const failure = await run().then(() => undefined, errorText);
        return {
          failed: failure !== undefined,
          line: failure === undefined ? `[+]${check} ok` : `[-]${check} failed: ${failure}`,
        };
      }),
    );
    const failed = lines.some((each) => each.failed);
    if (!failed && !verbose) return plainText(200, "ok");
    const list = lines.map((each) => `${each.line}\n`).join("");
    return plainText(failed ? 500 : 200, `${list}${name} check ${failed ? "failed" : "passed"}\n`);
  };
}

/** A route over a metrics registry. */
export function metricsRoute(registry: { contentType: string; metrics(): Promise<string> }): Route {
  return async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() });
}

/** Splits `host:port`; an empty host is every address. */
export function parseAddress(address: string): { host: string | undefined; port: number } {
  const found = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(address);
  const port = Number(found?.[3]);
  if (!found || port > 65_535) throw new RangeError(`"${address}" is not host:port`);
  return { host: found[1] || found[2] || undefined, port };
}

function parentOf(path: string): string {
  return path.slice(0, path.indexOf("/", 1) < 0 ? path.length : path.indexOf("/", 1));
}

/** Undefined where it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let body = "";
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > longestBody) return undefined;
  }
  return body;
}

export function plainText(status: number, body: string): Reply {
  return { status, contentType: "text/plain; charset=utf-8", body };
}

function answer(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, {
    "content-type": reply.contentType,
    "x-content-type-options": "nosniff",
  });
  response.end(reply.body);
}

function isAddressInfo(value: unknown): value is AddressInfo {
  return typeof value === "object" && value !== null && "port" in value;
}
