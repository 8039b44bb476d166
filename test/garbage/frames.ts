/** Garbage for ports that speak HTTP/2, behind a handshake that is right. */
import type { Random } from "../../kube/index.ts";
import { type Garbage, randomBytes } from "./plain.ts";

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  more: 9,
};
const endHeaders = 0x4;
const endStream = 0x1;

function frame(
  kind: number,
  flags: number,
  stream: number,
  payload: Buffer,
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const settings = frame(type.settings, 0, 0, Buffer.alloc(0));
/** `:method GET`, `:scheme https`, `:path /` of the static table, `:authority` a. */
const getRoot = Buffer.from([0x82, 0x87, 0x84, 0x41, 0x01, 0x61]);
const request = (stream: number, flags = endHeaders | endStream): Buffer =>
  frame(type.headers, flags, stream, getRoot);
const cancel = (stream: number): Buffer => frame(type.reset, 0, stream, Buffer.from([0, 0, 0, 8]));
const times = (count: number, make: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
const odd = (index: number): number => 2 * index + 1;
/** A header that is not indexed: name and value of any length below 127. */
const header = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);

export function frameGarbage(random: Random): Garbage[] {
  const one = (name: string, ...parts: readonly Buffer[]): Garbage => ({
    name,
    pieces: () => [Buffer.concat([Buffer.from(preface), settings]), ...parts],
  });
  const bomb = times(400, (n) => header(`x-${n}`, "v".repeat(100)));
  return [
    { name: "no preface", pieces: () => [settings] },
    { name: "half a preface", pieces: () => [preface.slice(0, 10)] },
    one("a frame longer than allowed", frame(type.data, 0, 1, Buffer.alloc(100), 0xff_ff_ff)),
    one("settings of a wrong length", frame(type.settings, 0, 0, Buffer.alloc(5))),
    one("data before headers", frame(type.data, endStream, 1, Buffer.from("x"))),
    one("continuation of nothing", frame(type.more, endHeaders, 1, getRoot)),
    one("a request on an even stream", request(2)),
    one("streams backwards", request(9), request(3), request(9)),
    one(
      "windows that overflow",
      times(10, () => frame(type.window, 0, 0, Buffer.from([0x7f, 255, 255, 255]))),
    ),
    one("bad compression", frame(type.headers, endHeaders | endStream, 1, Buffer.alloc(50, 0xff))),
    one(
      "rapid resets",
      ...Array.from({ length: 10 }, (_, at) => times(1000, (n) => resetting(odd(at * 1000 + n)))),
    ),
    one(
      "requests past the limit of streams",
      times(2000, (n) => request(odd(n), endHeaders)),
    ),
    one(
      "settings flood",
      times(20_000, () => settings),
    ),
    one(
      "ping flood",
      times(20_000, () => frame(type.ping, 0, 0, Buffer.alloc(8))),
    ),
    one(
      "empty data flood",
      request(1, endHeaders),
      times(20_000, () => frame(type.data, 0, 1, Buffer.alloc(0))),
    ),
    one(
      "headers without an end",
      frame(type.headers, 0, 1, getRoot),
      times(5000, () => frame(type.more, 0, 1, header("a", "b"))),
    ),
    one(
      "a bomb of headers",
      frame(type.headers, 0, 1, getRoot),
      times(10, (n) => frame(type.more, n === 9 ? endHeaders : 0, 1, bomb.subarray(0, 16_000))),
    ),
    one("goodbye", frame(type.goaway, 0, 0, Buffer.alloc(8)), request(1)),
    {
      ...one(
        "answers nobody waits for",
        times(100, (n) => request(odd(n))),
      ),
      leaves: true,
    },
    ...Array.from({ length: 60 }, (_, n) => ({
      name: `random frames ${n}`,
      pieces: () => [
        Buffer.concat([Buffer.from(preface), settings]),
        times(20, () =>
          frame(
            Math.floor(random() * 12),
            Math.floor(random() * 256),
            Math.floor(random() * 8),
            randomBytes(random, Math.floor(random() * 60)),
          ),
        ),
      ],
    })),
  ];
}

function resetting(stream: number): Buffer {
  return Buffer.concat([request(stream), cancel(stream)]);
}
