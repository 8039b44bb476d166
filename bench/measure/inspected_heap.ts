/** The heap of a Node process that was started with `--inspect`, after a collection. */
import { BenchError } from "../errors.ts";

const timeoutMs = 60_000;

/**
 * Used heap in MB. What the inspector itself keeps goes when its session ends, so each call has one of its own. Throws BenchError
 * when the process does not answer at this port of loopback.
 */
export async function collectedHeapMb(port: number): Promise<number> {
  const socket = new WebSocket(await addressAt(port));
  try {
    await opened(socket);
    await ask(socket, 1, "HeapProfiler.collectGarbage");
    const { usedSize } = await ask(socket, 2, "Runtime.getHeapUsage");
    if (typeof usedSize !== "number") throw new BenchError("the inspector tells no size of the heap");
    return usedSize / 2 ** 20;
  } finally {
    socket.close();
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

function ask(socket: WebSocket, id: number, method: string): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
  const hear = ({ data }: MessageEvent): void => {
    const answer: { id?: number; result?: Record<string, unknown> } = JSON.parse(String(data));
    if (answer.id === id) resolve(answer.result ?? {});
  };
  const late = AbortSignal.timeout(timeoutMs);
  late.addEventListener("abort", () => reject(new BenchError(`the inspector did not answer ${method}`)));
  socket.addEventListener("message", hear);
  socket.send(JSON.stringify({ id, method }));
  return promise.finally(() => socket.removeEventListener("message", hear));
}
