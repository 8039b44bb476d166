/** Throws garbage at one port, many connections at a time, and sees to it that a process bears it three times over. */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, TLSSocket } from "node:tls";
import type { Test } from "tap";
import type { Garbage } from "./plain.ts";

export interface Port {
  readonly number: number;
  /** What stands between the socket and the garbage. */
  readonly behind: "nothing" | "tls" | "h2";
}

const atOnce = 60;
const answerMs = 150;
const pieceMs = 3;

export async function throwAll(port: Port, garbage: readonly Garbage[]): Promise<void> {
  const waiting = [...garbage];
  const hand = async () => {
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) await throwOne(port, one);
  };
  await Promise.all(Array.from({ length: atOnce }, hand));
}

async function throwOne(port: Port, garbage: Garbage): Promise<void> {
  const socket = dial(port, garbage);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await Promise.race([opened(socket, port), closed]);
  for (let asked = 0; asked < (garbage.handshakes ?? 0); asked++)
    await Promise.race([handshake(socket), closed, sleep(answerMs)]);
  for (const piece of garbage.pieces()) {
    if (socket.destroyed) break;
    socket.write(piece);
    await sleep(pieceMs);
  }
  if (!garbage.leaves) {
    // Half of the senders say that they are done, the others leave the connection half open.
    if (garbage.name.length % 2 === 0) socket.end();
    await Promise.race([closed, sleep(answerMs)]);
  }
  socket.destroy();
}

function dial({ number: port, behind }: Port, { handshakes }: Garbage): Socket {
  const place = { host: "127.0.0.1", port };
  const socket =
    behind === "nothing"
      ? connect(place)
      : connectTls({
          ...place,
          rejectUnauthorized: false,
          ...(handshakes === undefined ? {} : { maxVersion: "TLSv1.2" as const }),
          ALPNProtocols: [behind === "h2" ? "h2" : "http/1.1"],
        });
  socket.on("error", () => undefined);
  socket.resume();
  return socket;
}

function handshake(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket instanceof TLSSocket && !socket.destroyed)
      socket.renegotiate({ rejectUnauthorized: false }, () => resolve());
    else resolve();
  });
}

function opened(socket: Socket, { behind }: Port): Promise<void> {
  return new Promise((resolve) =>
    socket.once(behind === "nothing" ? "connect" : "secureConnect", () => resolve()),
  );
}

/** Opens so many connections one after another and leaves all of them open, each with half a request. */
async function crowd(port: Port, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += 500) {
    for (let one = 0; one < Math.min(500, count - opened); one++) {
      const socket = connect({ host: "127.0.0.1", port: port.number });
      socket.on("error", () => undefined);
      socket.write("GET /hea");
      sockets.push(socket);
    }
    await sleep(20);
  }
  return sockets;
}

export interface Bearer {
  readonly pid: number;
  exitCode(): number | undefined;
  log(): string;
  /** Asks as the process is meant to be asked; throws when the answer is not as it should be. */
  ask(): Promise<void>;
}

const megabyte = 1024 * 1024;
const connections = 10_000;

/** Three rounds at all ports: the process lives, answers, and its memory does not follow what is thrown. */
export async function bears(
  t: Test,
  bearer: Bearer,
  throws: readonly { readonly port: Port; readonly garbage: readonly Garbage[] }[],
): Promise<void> {
  await bearer.ask();
  const before = residentBytes(bearer.pid);
  const after: number[] = [];
  for (const round of [1, 2, 3]) {
    for (const { port, garbage } of throws) await throwAll(port, garbage);
    const [first] = throws;
    const crowded =
      first === undefined ? [] : await crowd(first.port, round === 1 ? connections : connections / 10);
    t.equal(bearer.exitCode(), undefined, `round ${round}: the process runs`);
    await t.resolves(answersSoon(bearer), `round ${round}: it answers in a crowd`);
    for (const socket of crowded) socket.destroy();
    after.push(residentBytes(bearer.pid));
  }
  t.comment(`resident MB: ${[before, ...after].map((bytes) => Math.round(bytes / megabyte)).join(", ")}`);
  const [one = 0, , three = 0] = after;
  t.ok(three < before * 3 + 200 * megabyte, "memory is bounded");
  // An engine lets its heap grow before it collects in earnest: that levels off, what is kept does not.
  t.ok(three < one * 1.5 + 100 * megabyte, "memory does not grow with each round");
  if (!t.passing()) t.comment(bearer.log());
}

async function answersSoon(bearer: Bearer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await bearer.ask();
      return;
    } catch (error) {
      if (bearer.exitCode() !== undefined || attempt === 40) throw error;
      await sleep(250);
    }
  }
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}
