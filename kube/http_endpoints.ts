/** Plain HTTP for probes and scrapers: /metrics, /healthz, /readyz with named checks. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "./log.ts";

/** Rejects, with a message that may be shown, when the part it checks is not well. */
export type Check = () => Promise<void>;

export interface HttpEndpointsOptions {
  /** `:8080`, `127.0.0.1:8080`; port 0 picks a free one. */
  address: string;
  log: Log;
  /** Path -> what it serves. */
  routes: Readonly<Record<string, Route>>;
}

export type Route = (request: { path: string; verbose: boolean }) => Promise<Reply>;

export interface Reply {
  status: number;
  contentType: string;
  body: string;
}

export interface HttpEndpoints {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves until closed. Rejects when the address is taken or unreadable. */
export async function startHttpEndpoints(options: HttpEndpointsOptions): Promise<HttpEndpoints> {
  const { host, port } = parseAddress(options.address);
  const server = createServer((request, response) => {
    // A path like `//` is no URL.
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (url === null) return answer(response, text(400, "not a path\n"));
    const route = options.routes[url.pathname] ?? options.routes[parentOf(url.pathname)];
    if (!route) return answer(response, text(404, "404 page not found\n"));
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, text(405, "only GET\n"));
    route({ path: url.pathname, verbose: url.searchParams.has("verbose") }).then(
      (reply) => answer(response, reply),
      (error: unknown) => {
        options.log.error("endpoint failed", { path: url.pathname, error });
        answer(response, text(500, "internal error\n"));
      },
    );
    return undefined;
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, resolve);
  });
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

/** A route over named checks, answered as the API machinery does: `ok`, or one line for each check. */
export function checksRoute(name: string, checks: Readonly<Record<string, Check>>): Route {
  return async ({ path, verbose }) => {
    const only = path === `/${name}` ? undefined : path.slice(name.length + 2);
    const chosen = Object.entries(checks).filter(([check]) => only === undefined || check === only);
    if (only !== undefined && chosen.length === 0) return text(404, "404 page not found\n");
    const lines = await Promise.all(
      chosen.map(async ([check, run]) => {
        const failure = await run().then(
          () => undefined,
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        );
        return {
          failed: failure !== undefined,
          line: failure === undefined ? `[+]${check} ok` : `[-]${check} failed: ${failure}`,
        };
      }),
    );
    const failed = lines.some((each) => each.failed);
    if (!failed && !verbose) return text(200, "ok");
    const list = lines.map((each) => `${each.line}\n`).join("");
    return text(failed ? 500 : 200, `${list}${name} check ${failed ? "failed" : "passed"}\n`);
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

function text(status: number, body: string): Reply {
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
