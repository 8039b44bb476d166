/** Which sockets processes listen on, as Linux lists them in /proc: no program has to be there for it. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { BlockList } from "node:net";

export interface ListeningSocket {
  readonly protocol: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
}

/** State column: LISTEN of TCP; of UDP a socket that is bound and has no peer. */
const listeningStates = { tcp: "0A", udp: "07" } as const;

/** Those of the processes, each once. */
export function listeningSockets(pids: readonly number[]): ListeningSocket[] {
  const inodes = new Set(pids.flatMap(socketInodes));
  return (["tcp", "udp"] as const).flatMap((protocol) =>
    ["", "6"].flatMap((family) => {
      const [, ...lines] = readFileSync(`/proc/net/${protocol}${family}`, "utf8").trimEnd().split("\n");
      return lines.flatMap((line): ListeningSocket[] => {
        const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
        if (state !== listeningStates[protocol] || !inodes.has(inode)) return [];
        const [address = "", port = ""] = local.split(":");
        return [{ protocol, address: addressOf(address), port: Number.parseInt(port, 16) }];
      });
    }),
  );
}

/** The processes of a group, with those that they started in it. */
export function processesOfGroup(group: number): number[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    // Behind the name, which may hold blanks and brackets: state, parent, group.
    const stat = readOrNothing(() => readFileSync(`/proc/${entry}/stat`, "utf8"));
    const [, , processGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(processGroup) === group ? [Number(entry)] : [];
  });
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether nobody but this machine reaches the socket. */
export function isOnLoopback({ address }: ListeningSocket): boolean {
  return loopback.check(address, address.includes(":") ? "ipv6" : "ipv4");
}

function socketInodes(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    const target = readOrNothing(() => readlinkSync(`${folder}/${fd}`));
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
  });
}

/** A process or a descriptor may go between the list and the look. */
function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/** From words of 32 bits in the byte order of the machine, in hexadecimal digits: little endian wherever Node runs. */
function addressOf(digits: string): string {
  const bytes = (digits.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, "hex")].reverse());
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bytes[2 * index] ?? 0) * 256 + (bytes[2 * index + 1] ?? 0)).toString(16),
  );
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
