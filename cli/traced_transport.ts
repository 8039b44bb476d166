import type { Clock, Transport } from "../kube/index.ts";

/** Tells of each request its method, path, status and time; never of headers or bodies, which may hold secrets. */
export function tracedTransport(
  transport: Transport,
  clock: Pick<Clock, "monotonic">,
  trace: (line: string) => void,
): Transport {
  async function traced<Answer extends { status: number }>(
    { method, path }: { method: string; path: string },
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const begun = clock.monotonic();
    const tell = (outcome: string): void =>
      trace(`${method} ${path} ${outcome} ${Math.round(clock.monotonic() - begun)} ms`);
    try {
      const answer = await ask();
      tell(String(answer.status));
      return answer;
    } catch (error) {
      tell("no answer");
      throw error;
    }
  }
  return {
    send: (access, request) => traced(request, () => transport.send(access, request)),
    open: (access, request) => traced(request, () => transport.open(access, request)),
    close: () => transport.close(),
  };
}
