/** Connections that a proxy makes to somewhere else: on CONNECT of HTTP, or by SOCKS 5 (RFC 1928, passwords by RFC 1929). */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type Socket } from "node:net";

export interface TunnelTarget {
  /** Name or address; a proxy resolves names itself. */
  readonly host: string;
  readonly port: number;
}

/** `opened` is called once, with the socket or with why there is none. Returns how to give up; `opened` is told the reason. */
export function openTunnel(
  proxy: URL,
  target: TunnelTarget,
  opened: (result: Socket | Error) => void,
): (reason: Error) => void {
  if (/^https?:$/.test(proxy.protocol)) return byConnect(proxy, target, opened);
  if (/^socks5?h?:$/.test(proxy.protocol)) return bySocks(proxy, target, opened);
  opened(new Error(`the proxy ${proxy.host} speaks ${proxy.protocol} instead of http, https or socks5`));
  return () => undefined;
}

const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

function byConnect(
  proxy: URL,
  { host, port }: TunnelTarget,
  opened: (result: Socket | Error) => void,
): (reason: Error) => void {
  const target = `${host}:${port}`;
  const secure = proxy.protocol === "https:";
  const { username, password } = proxy;
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const asking = (secure ? httpsRequest : httpRequest)({
    host: bareHost(proxy),
    port: proxy.port || (secure ? 443 : 80),
    method: "CONNECT",
    path: target,
    agent: false,
    headers: {
      host: target,
      ...(username === "" ? {} : { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
    },
  });
  asking.once("error", opened);
  asking.once("connect", (answer: IncomingMessage, socket: Socket) => {
    asking.off("error", opened);
    if (answer.statusCode === 200) return opened(socket);
    socket.destroy();
    return opened(new Error(`the proxy ${proxy.hostname} refused CONNECT ${target}: ${answer.statusCode}`));
  });
  asking.end();
  return (reason) => asking.destroy(reason);
}

function bySocks(
  proxy: URL,
  target: TunnelTarget,
  opened: (result: Socket | Error) => void,
): (reason: Error) => void {
  const socket = connect({ host: bareHost(proxy), port: Number(proxy.port || 1080) });
  // Whoever waits for bytes hears of errors, too; between two waits nobody does.
  const unheard = (): void => undefined;
  socket.on("error", unheard);
  greet(socket, proxy, target).then(
    () => {
      socket.off("error", unheard);
      opened(socket);
    },
    (error: Error) => {
      socket.destroy();
      opened(error);
    },
  );
  return (reason) => socket.destroy(reason);
}

const version = 5;
const methods = { open: 0, password: 2 } as const;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;
/** By the code of a reply. */
const refusals = [
  "",
  "it failed",
  "not allowed",
  "network unreachable",
  "host unreachable",
  "connection refused",
  "too many hops",
  "it makes no connections",
  "it does not know such addresses",
] as const;

async function greet(socket: Socket, proxy: URL, { host, port }: TunnelTarget): Promise<void> {
  const refused = (why: string): Error =>
    new Error(`the proxy ${proxy.hostname} refused ${host}:${port}: ${why}`);
  const offered = proxy.username === "" ? [methods.open] : [methods.open, methods.password];
  socket.write(Buffer.from([version, offered.length, ...offered]));
  const [spoken, method] = await exactly(socket, 2);
  if (spoken !== version) throw refused("it does not speak SOCKS 5");
  if (method === methods.password && proxy.username !== "") {
    const [user, password] = [proxy.username, proxy.password].map((part) =>
      counted(decodeURIComponent(part)),
    );
    socket.write(Buffer.concat([Buffer.of(1), user ?? Buffer.of(0), password ?? Buffer.of(0)]));
    const [, status] = await exactly(socket, 2);
    if (status !== 0) throw refused("the password is wrong");
  } else if (method !== methods.open) throw refused("it wants another login");
  socket.write(Buffer.concat([Buffer.of(version, 1, 0), address(host), Buffer.of(port >> 8, port & 255)]));
  const [, reply = 1, , type] = await exactly(socket, 4);
  if (reply !== 0) throw refused(refusals[reply] ?? `code ${reply}`);
  // The address that the proxy speaks from ends the reply.
  const length =
    type === addressTypes.ipv4 ? 4 : type === addressTypes.ipv6 ? 16 : ((await exactly(socket, 1))[0] ?? 0);
  await exactly(socket, length + 2);
}

/** Text after its length in one byte; nothing longer can be said. */
function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error("longer than SOCKS can say");
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function address(host: string): Buffer {
  const family = isIP(host);
  if (family === 4) return Buffer.of(addressTypes.ipv4, ...host.split(".").map(Number));
  if (family === 6)
    return Buffer.of(addressTypes.ipv6, ...ipv6Words(host).flatMap((word) => [word >> 8, word & 255]));
  return Buffer.concat([Buffer.of(addressTypes.name), counted(host)]);
}

function ipv6Words(host: string): number[] {
  // A URL's host is written in groups of hexadecimal digits only.
  const [left = [], right = []] = new URL(`http://[${host}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((word) => word !== ""));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].map((word) => Number.parseInt(word, 16));
}

const cut = "the proxy ended the connection";

/** The next `size` bytes, and none of what follows them. */
function exactly(socket: Socket, size: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const bytes: unknown = socket.read(size);
      if (!Buffer.isBuffer(bytes)) return;
      stop();
      if (bytes.length === size) resolve(bytes);
      else reject(new Error(cut));
    };
    const gone = (error?: unknown): void => {
      stop();
      reject(error instanceof Error ? error : new Error(cut));
    };
    const events = { readable: look, error: gone, close: gone, end: gone } as const;
    const stop = (): void => {
      for (const [name, listener] of Object.entries(events)) socket.off(name, listener);
    };
    for (const [name, listener] of Object.entries(events)) socket.on(name, listener);
    look();
  });
}
