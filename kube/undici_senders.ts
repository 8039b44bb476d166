/** Direct connections over undici. */
import type { Dispatcher, Pool as PoolType } from "undici";
import Pool from "undici/lib/dispatcher/pool.js";
import type { Access, TlsMaterial } from "./credentials_types.ts";
import type { Sender } from "./sender.ts";

export function openUndiciSenders(access: Access): (connections: number | null) => Sender {
  const origin = new URL(access.server).origin;
  const settings: PoolType.Options = {
    allowH2: false,
    keepAliveTimeout: 60_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    connect: { ...tlsOptions(access.tls), timeout: 10_000, keepAlive: true },
  };
  return (connections) => senderOf(new Pool(origin, { ...settings, connections }));
}

function senderOf(pool: Dispatcher): Sender {
  return {
    dispatch: (request, handler) => void pool.dispatch({ ...request }, handler),
    close: () => pool.close(),
    destroy: () => pool.destroy(),
  };
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
