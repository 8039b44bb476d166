/** The addresses of a cluster's pods. */

/** Networks that a process goes through: 10.100.0.0/16 to 10.199.0.0/16, each of 16 networks. */
const count = 100 * 16;

/**
 * A network for the pods of the cluster that is the `ordinal`-th (0 to 15) of this process: as far as it goes another one for each
 * process, and none that this machine has a route into: a bridge that an interrupted run left behind would get the requests.
 * Routes are what `ip route` prints: `default`, an address or a network stands first in a line.
 */
export function podSubnet(pid: number, ordinal: number, routes: string): string {
  const taken = routes
    .split("\n")
    .map((line) => rangeOf(line.split(" ", 1)[0] ?? ""))
    .filter((range) => range !== undefined);
  const first = (pid % 100) * 16 + ordinal;
  for (let step = 0; step < count; step += 16) {
    const index = (first + step) % count;
    const subnet = `10.${100 + Math.floor(index / 16)}.${16 * (index % 16)}.0/20`;
    const range = rangeOf(subnet);
    if (range !== undefined && !taken.some((other) => range.from <= other.to && other.from <= range.to))
      return subnet;
  }
  throw new Error(
    `this machine has routes into each network of 10.100.0.0 to 10.199.255.255 that a cluster's pods could have`,
  );
}

/** First and last address; of /15 and more none, since what is more specific goes before it. */
function rangeOf(network: string): { from: number; to: number } | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(network);
  if (match === null) return undefined;
  const [a = 0, b = 0, c = 0, d = 0, length = 32] = match
    .slice(1)
    .map((part) => (part === undefined ? 32 : Number(part)));
  if (length < 16) return undefined;
  const size = 2 ** (32 - length);
  const address = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
  const from = address - (address % size);
  return { from, to: from + size - 1 };
}
