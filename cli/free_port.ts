/** Ports for processes that are about to start. */
import { createServer } from "node:net";

/** Below the ports of outgoing connections (Linux: from 32,768), which may be taken by the time that the process listens. */
const first = 20_000;
const count = 12_000;

/**
 * The first one from `from` on, and around, on which nobody listens. On Linux no other process gets it here for as long as this one
 * lives: between the look and the moment at which something listens, and while a process that uses it is started again, nothing
 * else would hold it.
 */
export async function freePort(from = first + Math.floor(Math.random() * count)): Promise<number> {
  for (let step = 0; step < count; step++) {
    const port = first + ((from - first + step) % count);
    if ((await isFree(port)) && (await reserve(port))) return port;
  }
  throw new Error(`no port is free from ${first} to ${first + count - 1}`);
}

/** Whether nobody listens on the port, as far as loopback knows: a look on all addresses would open it to the network. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** By a socket in Linux's abstract name space: one process can have it, and it goes with the process. */
function reserve(port: number): Promise<boolean> {
  if (process.platform !== "linux") return Promise.resolve(true);
  return new Promise((resolve) => {
    const server = createServer().unref();
    server.once("error", () => resolve(false));
    server.listen(`\0refit-port-${port}`, () => resolve(true));
  });
}
