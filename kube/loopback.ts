/** Names and addresses under which a machine reaches itself, and nobody else does. */
import { BlockList, isIP } from "node:net";

const addresses = new BlockList();
addresses.addSubnet("127.0.0.0", 8, "ipv4");
addresses.addAddress("::1", "ipv6");

/** Other names may lead elsewhere for others: what they resolve to here says nothing about them. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  return addresses.check(host, family === 6 ? "ipv6" : "ipv4");
}
