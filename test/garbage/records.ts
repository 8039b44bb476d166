/** Garbage for the handshake of ports that speak TLS. */
import type { Random } from "../../kube/index.ts";
import { type Garbage, randomBytes } from "./plain.ts";

const record = (kind: number, body: Buffer, length = body.length): Buffer =>
  Buffer.concat([Buffer.from([kind, 3, 1, length >> 8, length & 0xff]), body]);

export function recordGarbage(random: Random): Garbage[] {
  const one = (name: string, ...parts: readonly (string | Buffer)[]): Garbage => ({
    name,
    pieces: () => parts,
  });
  const hello = Buffer.concat([Buffer.from([1, 0, 1, 0, 3, 3]), Buffer.alloc(250)]);
  return [
    one("plain HTTP", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    one("half a greeting", record(22, hello.subarray(0, 20), 512)),
    one("a greeting of zeros", record(22, hello)),
    one("an empty record", record(22, Buffer.alloc(0))),
    one("a record that claims too much", record(22, hello, 0xffff)),
    one("alerts", ...Array.from({ length: 5 }, () => record(21, Buffer.from([2, 40])))),
    one("data before the handshake", record(23, Buffer.alloc(100, 1))),
    { ...one("a greeting, and gone", record(22, hello)), leaves: true },
    ...Array.from({ length: 60 }, (_, n) => ({
      name: `random records ${n}`,
      pieces: () => [record(20 + Math.floor(random() * 5), randomBytes(random, Math.floor(random() * 600)))],
    })),
  ];
}
