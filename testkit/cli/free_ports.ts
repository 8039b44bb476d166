/** Ports for processes that tests start, each given to one test alone. */
import { freePort } from "../../cli/index.ts";

/** Ports of the loopback interface; no other process gets them for as long as this one lives. */
export async function freePorts(wanted: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < wanted) ports.push(await freePort());
  return ports;
}

/** Takes ports from a list, in order. */
export function portAt(ports: readonly number[], index: number): number {
  const port = ports[index];
  if (port === undefined) throw new Error(`port ${index} of ${ports.length} was not reserved`);
  return port;
}
