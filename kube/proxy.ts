/** Which proxy leads to a URL, by the usual environment variables. */
import { BlockList, isIP } from "node:net";
import { isLoopback } from "./loopback.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** `HTTPS_PROXY`, `HTTP_PROXY` (lower case too), unless `NO_PROXY` names the host. Loopback never goes by proxy. */
export function proxyFor(url: URL, env: Environment): string | undefined {
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name] || env[name.toLowerCase()];
  if (!proxy || isLoopback(hostOf(url))) return undefined;
  if (isExempt(url, env["NO_PROXY"] || env["no_proxy"] || "")) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
}

function isExempt(url: URL, list: string): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && exempts(entry, host, port));
}

/** One entry of NO_PROXY: `*`, an address, a CIDR, `example.org` (with subdomains), `.example.org`, each with `:port`. */
function exempts(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return inRange(entry, host);
  const bare = entry.replace(/^\*?\./, ".");
  const withPort = /^([^:]+|\[.*\]):(\d+)$/.exec(bare);
  if (withPort && withPort[2] !== port) return false;
  const name = (withPort?.[1] ?? bare).replace(/^\[|\]$/g, "");
  if (isIP(name) !== 0 || isIP(host) !== 0) return name === host;
  if (name.startsWith(".")) return host.endsWith(name);
  return host === name || host.endsWith(`.${name}`);
}

function inRange(range: string, host: string): boolean {
  const [address = "", bits = ""] = range.split("/");
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family) return false;
  const type = family === 6 ? "ipv6" : "ipv4";
  const length = Number(bits);
  if (!Number.isInteger(length) || length < 0 || length > (family === 6 ? 128 : 32)) return false;
  const ranges = new BlockList();
  ranges.addSubnet(address, length, type);
  return ranges.check(host, type);
}
