/** The page's HTTP server: on loopback alone, and for those who have the token. It only answers unless it is given a way to act. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorText } from "../../../kube/index.ts";
import type { Acting } from "../acting/acting.ts";
import type { Planning } from "../planning/planning.ts";
import { type Refusal, refusal } from "../refusals.ts";
import { actionPath, revisionsPath } from "../shared/actions.ts";
import { longestPlanRequest, planPath } from "../shared/plans.ts";
import type { OpenFeed } from "../watching/feed.ts";
import type { Asset, Assets } from "./assets.ts";
import { EventSender } from "./event_sender.ts";
import { decide, type GateOptions } from "./gate.ts";
import { policyOf } from "./policy.ts";

export interface PageServerOptions {
  readonly assets: Assets;
  readonly token: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** What a page follows: the fleet without a key, the nodes with theirs, else one workload. Undefined when there is none of that key. */
  open(key: string | undefined): Promise<OpenFeed | undefined>;
  /** Does what bodies ask for. Absent: no request changes anything. */
  readonly acting?: Pick<Acting, "act" | "revisions">;
  /** Plans what bodies ask about. Absent: nothing is planned. */
  readonly planning?: Pick<Planning, "plan">;
}

export interface PageServer {
  readonly port: number;
  stop(): Promise<void>;
}

const mostConnections = 128;
const mostStreams = 32;
/** A page that does not read loses its stream, and gets the whole state when it asks again. */
const mostUnsentBytes = 16 * 1024 * 1024;
/** Of a request for a change, in characters. */
const longestAction = 8_192;
const silenceMs = 15_000;

const safeHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    policyOf("'self'", "'self'"),
    "connect-src 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** Rejects with the system's error when the port is taken. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const serving = new Serving(options);
  const server = createServer({ maxHeaderSize: 8_192, requestTimeout: 10_000, headersTimeout: 5_000 });
  server.maxConnections = mostConnections;
  server.maxHeadersCount = 64;
  server.on("request", (request, response) => serving.answer(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : options.port;
  serving.gate = { token: options.token, port, posts: serving.posts };
  return {
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Serving {
  gate: GateOptions | undefined;
  readonly #options: PageServerOptions;
  #streams = 0;

  constructor(options: PageServerOptions) {
    this.#options = options;
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(safeHeaders)) response.setHeader(name, value);
    const { method = "", url = "", headers } = request;
    const decision = this.gate && decide({ method, url, headers }, this.gate);
    if (decision === undefined) refuse(response, 503, "it is starting");
    else if (decision.type === "refuse") refuse(response, decision.status, decision.message);
    else if (decision.type === "welcome")
      response.writeHead(303, { location: "/", "set-cookie": decision.cookie }).end();
    else if (decision.type === "read body") void this.#takeBody(decision.path, request, response);
    else if (decision.url.pathname === "/events")
      void this.#stream(decision.url.searchParams.get("workload") ?? undefined, response);
    else if (decision.url.pathname === revisionsPath)
      void this.#revisions(decision.url.searchParams.get("workload") ?? "", response);
    else this.#send(decision.url.pathname, headers["accept-encoding"], response);
  }

  #send(path: string, accepted: string | readonly string[] | undefined, response: ServerResponse): void {
    const asset = this.#options.assets.get(path);
    if (asset === undefined) refuse(response, 404, noPage);
    else sendAsset(asset, String(accepted ?? ""), response);
  }

  /** Paths that take a body. */
  get posts(): string[] {
    const { acting, planning } = this.#options;
    return [...(acting === undefined ? [] : [actionPath]), ...(planning === undefined ? [] : [planPath])];
  }

  async #takeBody(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body: string | undefined;
    try {
      body = await bodyOf(request, path === planPath ? longestPlanRequest : longestAction);
    } catch {
      // It broke off: nobody is left to be told.
      response.destroy();
      return;
    }
    if (body === undefined) return refuse(response, 413, "the request is too long");
    const { acting, planning } = this.#options;
    const answer = await (path === planPath ? planning?.plan(body) : acting?.act(body))?.catch(failure);
    if (answer === undefined) refuse(response, 405, "nothing is changed");
    else if ("status" in answer) refuse(response, answer.status, answer.message);
    else sendJson(response, answer);
  }

  async #revisions(key: string, response: ServerResponse): Promise<void> {
    const revisions = await this.#options.acting?.revisions(key).catch(failure);
    if (revisions === undefined) refuse(response, 404, noPage);
    else if ("status" in revisions) refuse(response, revisions.status, revisions.message);
    else sendJson(response, revisions);
  }

  async #stream(key: string | undefined, response: ServerResponse): Promise<void> {
    if (this.#streams >= mostStreams) return refuse(response, 503, "too many pages are open");
    this.#streams++;
    response.once("close", () => this.#streams--);
    const opened = await this.#options.open(key).catch(errorText);
    if (opened === undefined) return refuse(response, 404, "there is no such workload");
    if (typeof opened === "string") return refuse(response, 502, `the workload cannot be read: ${opened}`);
    if (response.destroyed) return opened.close();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const write = (text: string): void => {
      if (response.destroyed) return;
      response.write(text);
      if (response.writableLength > mostUnsentBytes) response.destroy();
    };
    const sender = new EventSender({ write, later: setImmediate });
    const leave = opened.feed.follow((change) => sender.send(change));
    // Tells both ends that the other is there.
    const alive = setInterval(() => write(": alive\n\n"), silenceMs);
    response.once("close", () => {
      clearInterval(alive);
      leave();
      opened.close();
    });
  }
}

/** Undefined when it is too long. Rejects when it breaks off. */
async function bodyOf(request: IncomingMessage, longest: number): Promise<string | undefined> {
  request.setEncoding("utf8");
  let text = "";
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    text += String(part);
    if (text.length > longest) return undefined;
  }
  return text;
}

const noPage = "there is no such page";

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

const failure = (error: unknown): Refusal => refusal(500, errorText(error));

function refuse(response: ServerResponse, status: number, message: string): void {
  // What else came with the request is not read.
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(`${message}\n`);
}

function sendAsset({ type, body, packed }: Asset, accepted: string, response: ServerResponse): void {
  const isPacked = /\bgzip\b/.test(accepted);
  const bytes = isPacked ? packed : body;
  response.writeHead(200, {
    "content-type": type,
    "content-length": bytes.byteLength,
    vary: "accept-encoding",
    ...(isPacked ? { "content-encoding": "gzip" } : {}),
  });
  response.end(bytes);
}
