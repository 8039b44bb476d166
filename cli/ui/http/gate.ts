/** Who is let in: decided from a request's head alone, before anything is done for it. */
import { createHash, timingSafeEqual } from "node:crypto";

export interface RequestHead {
  readonly method: string;
  readonly url: string;
  /** Several of one name are joined by Node, or are a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface GateOptions {
  readonly token: string;
  readonly port: number;
  /** Paths of requests with a body. */
  readonly posts: readonly string[];
}

export type Decision =
  | { readonly type: "refuse"; readonly status: number; readonly message: string }
  /** The token was in the address: it becomes a cookie, and the address loses it. */
  | { readonly type: "welcome"; readonly cookie: string }
  | { readonly type: "pass"; readonly url: URL }
  /** What is asked for stands in the body. */
  | { readonly type: "read body"; readonly path: string };

const longestUrl = 2_048;

export function decide(head: RequestHead, options: GateOptions): Decision {
  const { method, url, headers } = head;
  if (url.length > longestUrl) return refuse(414, "the address is too long");
  const isPost = options.posts.length > 0 && method === "POST";
  if (method !== "GET" && !isPost) return refuse(405, "only GET is answered");
  const hosts = [`127.0.0.1:${options.port}`, `localhost:${options.port}`];
  // A page of another origin can give its own name our address; its requests name that host.
  const host = textOf(headers["host"]);
  if (!hosts.includes(host)) return refuse(403, "this host is not the one that was printed");
  const origin = headers["origin"];
  if (origin !== undefined && textOf(origin) !== `http://${host}`) return refuse(403, anotherOrigin);
  return isPost ? decidePost(head, options) : decideRead(head, host, options);
}

function decideRead({ url, headers }: RequestHead, host: string, { token, port }: GateOptions): Decision {
  const parsed = URL.parse(url, `http://${host}`);
  if (parsed === null || parsed.host !== host || !url.startsWith("/"))
    return refuse(400, "the address is malformed");
  const given = parsed.searchParams.get("token");
  if (given !== null && parsed.pathname === "/") {
    if (!isSame(given, token)) return refuse(403, notToken);
    return { type: "welcome", cookie: `${cookieName(port)}=${token}; HttpOnly; SameSite=Strict; Path=/` };
  }
  if (!isFromSite(headers, ["same-origin", "none"])) return refuse(403, anotherOrigin);
  return hasCookie(headers, token, port) ? { type: "pass", url: parsed } : refuse(403, notToken);
}

/** Browsers name the origin of each such request, and ask first before they send this type to another one. */
function decidePost({ url, headers }: RequestHead, { token, port, posts }: GateOptions): Decision {
  if (headers["origin"] === undefined || !isFromSite(headers, ["same-origin"]))
    return refuse(403, anotherOrigin);
  if (!hasCookie(headers, token, port)) return refuse(403, notToken);
  if (!posts.includes(url)) return refuse(404, "nothing takes a request of this kind at this address");
  if (textOf(headers["content-type"]) !== "application/json")
    return refuse(415, "the content type must be application/json");
  return { type: "read body", path: url };
}

const anotherOrigin = "another origin asks";
const notToken = 'open the address that "refit ui" printed';

/** Cookies know no ports: two pages of this kind on one machine must not take each other's. */
const cookieName = (port: number): string => `refit-ui-${port}`;

function refuse(status: number, message: string): Decision {
  return { type: "refuse", status, message };
}

const textOf = (value: string | readonly string[] | undefined): string =>
  typeof value === "string" ? value : "";

function isFromSite(headers: RequestHead["headers"], allowed: readonly string[]): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined || allowed.includes(textOf(site));
}

function hasCookie(headers: RequestHead["headers"], token: string, port: number): boolean {
  return isSame(cookieOf(textOf(headers["cookie"]), cookieName(port)), token);
}

function cookieOf(header: string, name: string): string {
  const found = header
    .split(";")
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? "";
}

/** Hashes have one length, and comparing them takes the same time however much is equal. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
