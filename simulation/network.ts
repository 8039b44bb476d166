/**
 * What lies between a process and the API server, without sockets: messages take their time, and what a process has sent
 * arrives although it has died since.
 */
import {
  type Client,
  type Clock,
  createClient,
  type Fence,
  fixedCredentials,
  type OpenSender,
  type Random,
  type SendHandler,
  type SendRequest,
  transportOver,
} from "../kube/index.ts";
import { type ApiServer, askInProcess, type User } from "../sandbox/index.ts";
import type { ProcessClock } from "./virtual_clock.ts";

interface Ends {
  /** Of the network: it goes on without the process. */
  readonly wire: Clock;
  /** Of the process, which hears nothing once it is dead. */
  readonly process: ProcessClock;
  readonly random: Random;
  /** Hears of each request that was refused, or got no answer. */
  readonly refused: (method: string, path: string) => void;
  readonly server: ApiServer;
  readonly user: User;
}

const slowestMs = 4;

interface ClientEnds extends Omit<Ends, "user"> {
  readonly userAgent: string;
  /** Name of the account; it may do everything. */
  readonly account: string;
  readonly fence?: Fence | undefined;
}

export function inProcessClient({ userAgent, account, fence, ...ends }: ClientEnds): Client {
  const clock = ends.process;
  const user = { username: account, groups: ["system:masters", "system:authenticated"] };
  return createClient({
    credentials: fixedCredentials("http://simulated"),
    clock,
    random: ends.random,
    userAgent,
    fence,
    transport: transportOver({ clock }, inProcessSender({ ...ends, user })),
  });
}

function inProcessSender(ends: Ends): OpenSender {
  return () => ({
    dispatch: (request, handler) => exchange(ends, request, handler),
    close: async () => undefined,
    destroy: async () => undefined,
  });
}

function exchange(ends: Ends, request: SendRequest, handler: SendHandler): void {
  const { wire, process, random, server, user } = ends;
  let leave = (): void => undefined;
  let isOver = false;
  let arrivesAt = 0;
  const controller = {
    abort(reason: Error): void {
      if (isOver) return;
      isOver = true;
      leave();
      process.after(0, () => handler.onResponseError(controller, reason));
    },
    pause: () => undefined,
    resume: () => undefined,
  };
  /** In the order in which they were sent. */
  const receive = (run: () => void): void => {
    arrivesAt = Math.max(arrivesAt, wire.monotonic() + random() * slowestMs);
    process.receive(arrivesAt - wire.monotonic(), () => {
      if (!isOver) run();
    });
  };
  handler.onRequestStart(controller);
  wire.after(random() * slowestMs, () => {
    if (isOver && leaves(request)) return;
    leave = askInProcess(
      server.routes,
      {
        method: request.method,
        path: request.path,
        headers: lines(request.headers),
        body: Buffer.from(request.body ?? ""),
        user,
      },
      {
        head: (status, headers) => {
          if (status >= 400) ends.refused(request.method, request.path);
          receive(() => handler.onResponseStart(controller, status, headers));
        },
        data: (chunk) => receive(() => handler.onResponseData(controller, chunk)),
        end: () =>
          receive(() => {
            isOver = true;
            handler.onResponseEnd();
          }),
        broken: () => {
          ends.refused(request.method, request.path);
          receive(() => {
            isOver = true;
            handler.onResponseError(controller, new Error("the connection broke"));
          });
        },
      },
    );
  });
}

/** What only reads and was given up is not worth a server's work; a write that is on its way arrives. */
function leaves({ method }: SendRequest): boolean {
  return method === "GET";
}

function lines(headers: SendRequest["headers"]): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    typeof value === "string" ? value : value.join(", "),
  ]);
  return Object.fromEntries(named);
}
