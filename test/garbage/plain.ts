/** Garbage for ports that speak HTTP/1.1, in the clear or inside TLS. */
import type { Random } from "../../kube/index.ts";

export interface Garbage {
  readonly name: string;
  /** What is sent, piece by piece; a pause of a moment lies between pieces. */
  pieces(): readonly (string | Buffer)[];
  /** The sender leaves at once, without waiting for an answer. */
  readonly leaves?: boolean;
  /** So many further handshakes are asked for first; TLS 1.3 has none. */
  readonly handshakes?: number;
}

const head = (line: string, ...headers: readonly string[]): string =>
  `${[line, "Host: a", ...headers].join("\r\n")}\r\n\r\n`;

export function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

/** Targets that are no paths, or paths that are not what they seem. */
const targets = [
  "//",
  "///",
  "//:",
  "http://[",
  "http://[::1",
  "http://a:99999/",
  "http://",
  "*",
  "a",
  "/%",
  "/%ff%fe",
  "/healthz%00",
  "/../../etc/passwd",
  "/__proto__",
  "/constructor",
  "/?a[]=%&=&%",
  "/#",
  "\\",
];
const methods = ["GET", "POST", "OPTIONS", "CONNECT", "TRACE", "PRI"];

export function plainGarbage(random: Random): Garbage[] {
  const one = (name: string, ...parts: readonly (string | Buffer)[]): Garbage => ({
    name,
    pieces: () => parts,
  });
  const smuggled = head("POST /healthz HTTP/1.1", "Content-Length: 4", "Transfer-Encoding: chunked");
  return [
    ...methods.flatMap((method) =>
      targets.map((target) => one(`${method} ${target}`, head(`${method} ${target} HTTP/1.1`))),
    ),
    one("no newline", "GET /healthz"),
    one("nothing at all"),
    one("a head byte by byte", ...head("GET /healthz HTTP/1.1", `X: ${"y".repeat(100)}`)),
    one("a body byte by byte", head("POST /convert HTTP/1.1", "Content-Length: 99999"), ..."{".repeat(100)),
    { ...one("handshakes again and again", head("GET /healthz HTTP/1.1")), handshakes: 20 },
    one("NULs", "\0".repeat(1000)),
    one("a line of 1 MiB", `GET /${"a".repeat(1 << 20)} HTTP/1.1\r\n\r\n`),
    one("unknown version", "GET / HTTP/9.9\r\n\r\n", "GET / HTP/1.1\r\n\r\n"),
    one("a header of 1 MiB", head("GET / HTTP/1.1", `X: ${"b".repeat(1 << 20)}`)),
    one(
      "10,000 headers",
      head("GET / HTTP/1.1", ...Array.from({ length: 10_000 }, (_, n) => `X-${n}: ${n}`)),
    ),
    one("headers that are none", head("GET / HTTP/1.1", "nothing", ": x", "\0: \x01", "A : b")),
    one("folded headers", head("GET / HTTP/1.1", "A: b", " c", "\td")),
    one("smuggling pair", `${smuggled}0\r\n\r\nGET //`),
    one("two lengths", head("POST / HTTP/1.1", "Content-Length: 1", "Content-Length: 2")),
    one(
      "bad lengths",
      head("POST / HTTP/1.1", "Content-Length: -1"),
      head("GET / HTTP/1.1", "Content-Length: 9e9"),
    ),
    one(
      "bad chunks",
      head("POST / HTTP/1.1", "Transfer-Encoding: chunked"),
      "fffffffffffffffff\r\n",
      "zz\r\n",
    ),
    one("upgrade", head("GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"), "\x81\xff"),
    one("to HTTP/2", head("GET / HTTP/1.1", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c")),
    one("expectation", head("POST / HTTP/1.1", "Expect: 100-continue", "Content-Length: 5"), "ab"),
    one("other expectation", head("POST / HTTP/1.1", "Expect: miracles", "Content-Length: 5"), "ab"),
    one("pipelined", head("GET // HTTP/1.1").repeat(500)),
    one("pipelined metrics", head("GET /metrics HTTP/1.1").repeat(200)),
    { ...one("answers nobody waits for", head("GET /metrics HTTP/1.1").repeat(50)), leaves: true },
    { ...one("half a body", head("POST /convert HTTP/1.1", "Content-Length: 999999"), "{"), leaves: true },
    ...Array.from({ length: 40 }, (_, n) => ({
      name: `random bytes ${n}`,
      pieces: () => [randomBytes(random, 1 + Math.floor(random() * 3000))],
    })),
    ...Array.from({ length: 40 }, (_, n) => ({
      name: `a request with random damage ${n}`,
      pieces: () => [damaged(random, head("POST /healthz?verbose HTTP/1.1", "Content-Length: 3", "A: b"))],
    })),
  ];
}

function damaged(random: Random, text: string): Buffer {
  const bytes = Buffer.from(`${text}abc`);
  for (let change = 0; change < 4; change++)
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
  return bytes;
}
