/** Ports for processes that tests start, each given to one test alone. */
import { createServer } from "node:net";
import { isFree } from "../../cli/index.ts";

/** Below those that the product takes by itself (`cli/free_port.ts`) and those of outgoing connections. */
const first = 10_000;
const count = 10_000;

/**
 * Ports of the loopback interface on which nobody listens, and which no other test process gets for as long as this one
 * lives: between a look and the moment at which a process listens, and while one that was killed is away, nothing else
 * would hold them.
 */
export async function freePorts(wanted: number): Promise<number[]> {
  const ports: number[] = [];
  const from = Math.floor(Math.random() * count);
  for (let step = 0; step < count && ports.length < wanted; step++) {
    const port = first + ((from + step) % count);
    if ((await isFree(port)) && (await reserve(port))) ports.push(port);
  }
  if (ports.length < wanted) throw new Error(`no port is free from ${first} to ${first + count - 1}`);
  return ports;
}

/** Takes ports from a list, in order. */
export function portAt(ports: readonly number[], index: number): number {
  const port = ports[index];
  if (port === undefined) throw new Error(`port ${index} of ${ports.length} was not reserved`);
  return port;
}

/** By a socket in Linux's abstract name space: one process can have it, and it goes with the process. */
function reserve(port: number): Promise<boolean> {
  if (process.platform !== "linux") return Promise.resolve(true);
  return new Promise((resolve) => {
    const server = createServer().unref();
    server.once("error", () => resolve(false));
    server.listen(`\0refit-test-port-${port}`, () => resolve(true));
  });
}
