/** Connections over undici: direct, and through proxies that speak SOCKS. */
import type { Dispatcher, Pool as PoolType } from "undici";
import Pool from "undici/lib/dispatcher/pool.js";
import type { Access, TlsMaterial } from "./credentials_types.ts";
import type { Sender } from "./sender.ts";

export async function openUndiciSenders(access: Access): Promise<(connections: number | null) => Sender> {
  const make = await poolMaker(access);
  return (connections) => senderOf(make(connections));
}

function senderOf(pool: Dispatcher): Sender {
  return {
    dispatch: (request, handler) => void pool.dispatch({ ...request }, handler),
    close: () => pool.close(),
    destroy: () => pool.destroy(),
  };
}

async function poolMaker(access: Access): Promise<(connections: number | null) => Dispatcher> {
  const origin = new URL(access.server).origin;
  const shared = {
    allowH2: false,
    keepAliveTimeout: 60_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
  };
  const tls = tlsOptions(access.tls);
  if (access.proxy === undefined) {
    const settings: PoolType.Options = { ...shared, connect: { ...tls, timeout: 10_000, keepAlive: true } };
    return (connections) => new Pool(origin, { ...settings, connections });
  }
  const { default: Socks5ProxyAgent } = await import("undici/lib/dispatcher/socks5-proxy-agent.js");
  const proxy = access.proxy;
  return (connections) => new Socks5ProxyAgent(proxy, { ...shared, connections, requestTls: tls });
}

function tlsOptions(tls: TlsMaterial): Record<string, string | boolean> {
  const options: Record<string, string | boolean> = {};
  if (tls.ca !== undefined) options["ca"] = tls.ca;
  if (tls.cert !== undefined) options["cert"] = tls.cert;
  if (tls.key !== undefined) options["key"] = tls.key;
  if (tls.passphrase !== undefined) options["passphrase"] = tls.passphrase;
  if (tls.serverName !== undefined) options["servername"] = tls.serverName;
  if (tls.insecure) options["rejectUnauthorized"] = false;
  return options;
}
