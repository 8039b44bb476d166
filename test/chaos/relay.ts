/** A port of this machine that leads on to another one, at once or late. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Place {
  readonly host: string;
  readonly port: number;
}

export class Relay {
  /** So much later everything arrives, in either direction; milliseconds. */
  delayMs = 0;
  readonly #target: () => Place;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(target: () => Place) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  /** `target` is asked for each connection. */
  static async open({ host, port }: Place, target: () => Place): Promise<Relay> {
    const relay = new Relay(target);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once("error", reject);
      relay.#server.listen(port, host, resolve);
    });
    return relay;
  }

  /** Ends all connections: who comes again is led to the target of that time. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.drop();
    await closed;
  }

  #join(client: Socket): void {
    const target = connect(this.#target());
    this.#pass(client, target);
    this.#pass(target, client);
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    let sent = Promise.resolve();
    from.on("data", (piece) => {
      const dueMs = performance.now() + this.delayMs;
      sent = sent.then(async () => {
        const leftMs = dueMs - performance.now();
        if (leftMs > 0) await sleep(leftMs);
        if (to.writable) to.write(piece);
      });
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      void sent.then(() => to.destroy());
    });
  }
}
