/** Connections through a SOCKS 5 proxy, which resolves names. */
import type { Socket } from "node:net";

export interface TunnelTarget {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
}

export const isSocks = (proxy: URL): boolean => /^socks5?h?:$/.test(proxy.protocol);

/** A URL's host as connections want it: an IPv6 address without its brackets. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

export async function throughSocks(proxy: URL, target: TunnelTarget, timeoutMs: number): Promise<Socket> {
  // Few go through such a proxy.
  const { SocksClient } = await import("socks");
  const { socket } = await SocksClient.createConnection({
    command: "connect",
    proxy: {
      type: 5,
      host: bareHost(proxy.hostname),
      port: Number(proxy.port || 1080),
      userId: decodeURIComponent(proxy.username),
      password: decodeURIComponent(proxy.password),
    },
    destination: { ...target },
    timeout: timeoutMs,
  });
  return socket;
}

/** What is said of a proxy that nobody here can speak to. */
export function unknownProxy(proxy: URL): string {
  return `the proxy ${proxy.host} speaks ${proxy.protocol.replace(":", "")}; give an http, https or socks5 URL in the kubeconfig's proxy-url or HTTPS_PROXY`;
}
