/** Node's inspector on loopback, of a process that was started with `--inspect`. */
import { BenchError } from "../errors.ts";

const timeoutMs = 60_000;

/** A session. What it keeps in the process goes when it is closed. */
export class Inspector {
  readonly #socket: WebSocket;
  #asked = 0;

  /** Throws BenchError when no process answers at this port. */
  static async at(port: number): Promise<Inspector> {
    const socket = new WebSocket(await addressAt(port));
    await opened(socket);
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Record<string, unknown>> {
    this.#asked += 1;
    const id = this.#asked;
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
    const hear = ({ data }: MessageEvent): void => {
      const answer: { id?: number; result?: Record<string, unknown> } = JSON.parse(String(data));
      if (answer.id === id) resolve(answer.result ?? {});
    };
    const late = AbortSignal.timeout(timeoutMs);
    late.addEventListener("abort", () => reject(new BenchError(`the inspector did not answer ${method}`)));
    this.#socket.addEventListener("message", hear);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise.finally(() => this.#socket.removeEventListener("message", hear));
  }

  close(): void {
    this.#socket.close();
  }
}

/** Used heap after a collection, in MB. What the inspector itself keeps goes with its session, so each call has one of its own. */
export async function collectedHeapMb(port: number): Promise<number> {
  const inspector = await Inspector.at(port);
  try {
    await inspector.ask("HeapProfiler.collectGarbage");
    const { usedSize } = await inspector.ask("Runtime.getHeapUsage");
    if (typeof usedSize !== "number") throw new BenchError("the inspector tells no size of the heap");
    return usedSize / 2 ** 20;
  } finally {
    inspector.close();
  }
}

async function addressAt(port: number): Promise<string> {
  const url = `http://127.0.0.1:${port}/json/list`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  const [target]: { webSocketDebuggerUrl?: string }[] = JSON.parse(await answer.text());
  if (target?.webSocketDebuggerUrl === undefined) throw new BenchError(`no inspector answers at ${url}`);
  return target.webSocketDebuggerUrl;
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    socket.addEventListener("error", () => reject(new BenchError("the inspector cannot be reached")), {
      once: true,
    });
  });
}
