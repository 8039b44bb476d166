/** GET as the kubelet does it for hooks and probes: no proxy, certificates not verified, redirects followed on the same host. */
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { JsonObject } from "../../kube/index.ts";
import { AgentError, messageOf } from "../errors.ts";

export interface GetRequest {
  readonly scheme: string;
  /** A name or an address. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly JsonObject[];
  /** Of the whole, redirects and the body included; 0: only the signal limits it. */
  readonly timeoutMs: number;
}

export interface GetAnswer {
  readonly code: number;
  readonly body: string;
}

const largestBody = 10 * 1024;
const mostRedirects = 10;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * The answer at the end of all redirects on the same host. One to another host is an answer itself: what runs elsewhere says
 * nothing of the container. Rejects with AgentError, and with the signal's reason.
 */
export async function kubeletGet(get: GetRequest, signal: AbortSignal): Promise<GetAnswer> {
  const limit = get.timeoutMs > 0 ? AbortSignal.timeout(get.timeoutMs) : undefined;
  const both = limit === undefined ? signal : AbortSignal.any([signal, limit]);
  try {
    return await follow(get, both);
  } catch (error) {
    signal.throwIfAborted();
    if (limit?.aborted) throw new AgentError("Timeout", "request timed out");
    throw error instanceof AgentError ? error : new AgentError("Runtime", messageOf(error), error);
  }
}

async function follow(get: GetRequest, signal: AbortSignal): Promise<GetAnswer> {
  const headers = headersOf(get.headers);
  let place: Place = { ...get, path: requestPath(get.path) };
  for (let followed = 0; ; followed++) {
    const { location, ...answer } = await getOnce(place, headers, signal);
    const next = location === undefined ? undefined : onSameHost(place, location);
    if (next === undefined || !redirects.has(answer.code)) return answer;
    if (followed + 1 >= mostRedirects)
      throw new AgentError("Runtime", `stopped after ${mostRedirects} redirects`);
    place = next;
  }
}

type Place = Pick<GetRequest, "scheme" | "host" | "port" | "path">;

/** What a request line cannot hold is escaped; a fragment is none of the server's business. */
function requestPath(path: string): string {
  const [beforeFragment = ""] = path.split("#", 1);
  const escaped = beforeFragment.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
  return escaped.startsWith("/") ? escaped : `/${escaped}`;
}

function headersOf(given: readonly JsonObject[]): Record<string, string> {
  const headers: Record<string, string> = { "User-Agent": "kube-probe/1.34", Accept: "*/*" };
  for (const { name, value } of given) if (typeof name === "string") headers[name] = String(value ?? "");
  return headers;
}

/** Where the redirect leads, when that is the same host on whatever port. */
function onSameHost({ scheme, host, port, path }: Place, location: string): Place | undefined {
  const base = new URL(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}${path}`);
  const to = URL.canParse(location, base.href) ? new URL(location, base.href) : undefined;
  if (to === undefined || to.hostname !== base.hostname) return undefined;
  const secure = to.protocol === "https:";
  if (!secure && to.protocol !== "http:") return undefined;
  return {
    scheme: secure ? "https" : "http",
    host,
    port: Number(to.port || (secure ? 443 : 80)),
    path: to.pathname + to.search,
  };
}

function getOnce(
  { scheme, host, port, path }: Place,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<GetAnswer & { readonly location: string | undefined }> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { host, port, path, headers: { ...headers }, signal, agent: false };
    // Probes and hooks reach the node's own pods by address: there is no name that a certificate could prove.
    const call =
      scheme === "https" ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    call.on("response", (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on("data", (part: Buffer) => {
        if (size < largestBody) parts.push(part);
        size += part.length;
        if (size >= largestBody) finish();
      });
      response.on("end", finish);
      response.on("error", reject);
      function finish(): void {
        resolve({
          code: response.statusCode ?? 0,
          body: Buffer.concat(parts).subarray(0, largestBody).toString(),
          location: response.headers.location,
        });
        response.destroy();
      }
    });
    call.on("error", reject);
    call.end();
  });
}
