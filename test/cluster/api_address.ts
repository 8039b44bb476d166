/**
 * The address at which pods find the API server, without kube-proxy: it belongs to a link of this machine, and what comes there
 * goes on to the server on loopback.
 */
import { execFile } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import { promisify } from "node:util";

const run = promisify(execFile);

/** First address of `--service-cluster-ip-range`, which the server gives to its own Service. */
export const apiServiceAddress = "10.96.0.1";

/** Makes the link, of this name. Resolves to what ends it. */
export async function serveApiAddress(link: string, serverPort: number): Promise<() => Promise<void>> {
  // Not the bridge of the pods: the plugin that makes it bears no other address there.
  await run("ip", ["link", "add", link, "type", "bridge"]);
  await run("ip", ["address", "add", `${apiServiceAddress}/32`, "dev", link]);
  await run("ip", ["link", "set", link, "up"]);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(serverPort, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.pipe(other);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(443, apiServiceAddress, resolve);
  });
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
    await run("ip", ["link", "delete", link]).catch(() => undefined);
  };
}
