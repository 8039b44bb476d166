/**
 * A slow and unreliable way to an API server, on loopback: the manager under test goes through it, nobody else. Each request waits,
 * and some are answered with an error, half of those that write after the write took effect.
 */
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import type { Clock, Random } from "../../kube/index.ts";

export interface Faults {
  /** Before a request goes on. */
  readonly latencyMs: number;
  /** Share of the requests that are answered with an error, 0 to 1. */
  readonly errors: number;
}

export interface FaultyServerOptions {
  readonly server: string;
  /** PEM; absent: the system's roots. */
  readonly ca?: string | undefined;
  readonly faults: Faults;
  readonly clock: Clock;
  readonly random: Random;
}

export interface FaultyServer {
  readonly url: string;
  /** So far. */
  readonly answered: { readonly before: number; readonly after: number };
  stop(): Promise<void>;
}

const codes = [500, 503, 429] as const;
type Code = (typeof codes)[number];
const reasons: Readonly<Record<Code, string>> = {
  500: "InternalError",
  503: "ServiceUnavailable",
  429: "TooManyRequests",
};
const writes: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export async function startFaultyServer(options: FaultyServerOptions): Promise<FaultyServer> {
  const listener = new Listener(options);
  await listener.listen();
  return listener;
}

class Listener implements FaultyServer {
  readonly answered = { before: 0, after: 0 };
  readonly #options: FaultyServerOptions;
  readonly #http = http.createServer((request, response) => void this.#serve(request, response));
  readonly #agent: http.Agent;
  readonly #send: typeof http.request;

  constructor(options: FaultyServerOptions) {
    this.#options = options;
    const isTls = options.server.startsWith("https:");
    this.#agent = isTls
      ? new https.Agent({ keepAlive: true, ca: options.ca })
      : new http.Agent({ keepAlive: true });
    this.#send = isTls ? https.request : http.request;
  }

  get url(): string {
    const address = this.#http.address();
    return `http://127.0.0.1:${isPlace(address) ? address.port : 0}`;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#http.once("error", reject);
      this.#http.listen(0, "127.0.0.1", resolve);
    });
  }

  stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    this.#http.closeAllConnections();
    this.#agent.destroy();
    return closed;
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { clock, faults } = this.#options;
    const fault = this.#draw(writes.has(request.method ?? ""));
    if (faults.latencyMs > 0) await clock.sleep(faults.latencyMs);
    if (fault?.when === "before") {
      this.answered.before++;
      request.resume();
      refuse(response, fault.code);
      return;
    }
    this.#forward(request, response, fault?.code);
  }

  #draw(isWrite: boolean): { code: Code; when: "before" | "after" } | undefined {
    const { random, faults } = this.#options;
    if (random() >= faults.errors) return undefined;
    const code = codes[Math.floor(random() * codes.length)] ?? 500;
    // What is refused for now has no effect on any server.
    return { code, when: isWrite && code !== 429 && random() < 0.5 ? "after" : "before" };
  }

  /** With an error, what the server did stays, and its answer is lost. */
  #forward(request: http.IncomingMessage, response: http.ServerResponse, error: Code | undefined): void {
    const { method, url = "/", headers } = request;
    const { host: _, ...others } = headers;
    const target = new URL(url, this.#options.server);
    const onward = this.#send(target, { method, headers: others, agent: this.#agent }, (answer) => {
      if (error === undefined) {
        response.writeHead(answer.statusCode ?? 502, headersOf(answer));
        response.flushHeaders();
        answer.pipe(response);
        answer.once("error", () => response.destroy());
        return;
      }
      this.answered.after++;
      answer.resume();
      answer.once("end", () => refuse(response, error));
    });
    onward.once("error", () => response.destroy());
    response.once("close", () => onward.destroy());
    request.pipe(onward);
  }
}

/** Those of the connection are of the connection to the server. */
function headersOf({ headers }: http.IncomingMessage): http.OutgoingHttpHeaders {
  const { connection: _, "keep-alive": __, "transfer-encoding": ___, ...others } = headers;
  return others;
}

function refuse(response: http.ServerResponse, code: Code): void {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    message: "an error of the bench",
    reason: reasons[code],
    code,
  };
  const headers = { "content-type": "application/json", ...(code === 429 ? { "retry-after": "1" } : {}) };
  response.writeHead(code, headers).end(JSON.stringify(status));
}

function isPlace(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
