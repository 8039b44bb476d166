/** Exchanges over undici: the transport of the controller and the command line. */
import type { ConnectionOptions } from "node:tls";
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from "undici";
import type { Access } from "./credentials_types.ts";
import { KubeError } from "./errors.ts";
import type { SenderSettings } from "./sender.ts";
import { bareHost, isSocks, throughSocks, unknownProxy } from "./socks_proxy.ts";
import { type Transport, type TransportOptions, tlsFloor, transportOver } from "./transport.ts";

export function undiciTransport(options: TransportOptions): Transport {
  return transportOver(options, openPool);
}

function openPool(access: Access, { connections, connectMs }: SenderSettings): Dispatcher {
  const { origin } = new URL(access.server);
  const settings: Pool.Options = {
    allowH2: false,
    connections,
    keepAliveTimeout: 60_000,
    // An exchange has its own time-out, and a watch may be silent for long.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const connect = { ...tlsOptions(access), timeout: connectMs };
  if (access.proxy === undefined) return new Pool(origin, { ...settings, connect });
  const proxy = new URL(access.proxy);
  if (isSocks(proxy))
    return new Pool(origin, { ...settings, connect: socksConnector(proxy, connect, connectMs) });
  if (!/^https?:$/.test(proxy.protocol)) throw new KubeError("Config", unknownProxy(proxy));
  return new ProxyAgent({
    ...settings,
    uri: proxy.href,
    proxyTunnel: true,
    requestTls: connect,
    connectTimeout: connectMs,
    // A proxy that does not answer CONNECT is as good as no connection.
    clientFactory: (url, options) => new Pool(url, { ...options, headersTimeout: connectMs }),
  });
}

function tlsOptions({ tls: { ca, cert, key, passphrase, serverName, insecure } }: Access): ConnectionOptions {
  return {
    ca,
    cert,
    key,
    passphrase,
    servername: serverName,
    rejectUnauthorized: insecure !== true,
    minVersion: tlsFloor,
  };
}

/** TLS is spoken through the proxy with the server itself. */
function socksConnector(
  proxy: URL,
  settings: buildConnector.BuildOptions,
  connectMs: number,
): buildConnector.connector {
  const secure = buildConnector({ ...settings, allowH2: false });
  return (options, opened) => {
    const isSecure = options.protocol === "https:";
    const port = Number(options.port || (isSecure ? 443 : 80));
    throughSocks(proxy, { host: bareHost(options.hostname), port }, connectMs).then(
      (socket) =>
        isSecure ? secure({ ...options, httpSocket: socket }, opened) : opened(null, socket.setNoDelay()),
      (error: Error) => opened(error, null),
    );
  };
}
