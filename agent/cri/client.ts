/**
 * CRI calls over a unix socket. Every call has a deadline, answers have a size limit, and whatever a runtime sends
 * ends as an AgentError with a stable code. A call after a broken connection makes a new one; calls are never repeated
 * here, because only the caller knows whether that is safe.
 */
import { Client, type ClientUnaryCall, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Clock } from "../../kube/index.ts";
import { fromWire, type Input, type Method, type MethodName, toWire } from "../../proto/cri/index.ts";
import { AgentError, type AgentErrorCode, messageOf } from "../errors.ts";
import { connectionCredentials } from "./connection_credentials.ts";

export interface CallOptions {
  /** Milliseconds; each method has a default. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Bytes of the answer; default `maxResponseBytes` of the client. One connection for each size in use. */
  maxResponseBytes?: number;
}

export interface CriClient {
  readonly socket: string;
  /** Throws AgentError. */
  call<Request, Response>(
    method: Method<Request, Response>,
    request: Input<Request>,
    options?: CallOptions,
  ): Promise<Response>;
  /** Ends calls that are under way; later ones fail. Both with `Aborted`. */
  close(): void;
}

export interface CriCall {
  readonly method: string;
  /** `OK` or the AgentError's code. */
  readonly code: string;
  readonly seconds: number;
}

export interface CriClientOptions {
  readonly clock: Clock;
  /** Bytes of one answer; default 16 MiB, which is the kubelet's (spec agent 5). */
  maxResponseBytes?: number;
  /** Called after each call, for metrics. */
  observe?: (call: CriCall) => void;
}

const second = 1000;
/** 68 years: the longest that gRPC, runtimes and their languages' own types of time can all express. */
export const longestCallMs = (2 ** 31 - 1) * second;

/** Milliseconds. StopContainer and ExecSync add the time that their request allows. */
const deadlines = {
  Version: 5 * second,
  Status: 10 * second,
  RunPodSandbox: 240 * second,
  StopPodSandbox: 60 * second,
  RemovePodSandbox: 60 * second,
  PodSandboxStatus: 10 * second,
  ListPodSandbox: 10 * second,
  CreateContainer: 120 * second,
  StartContainer: 120 * second,
  StopContainer: 10 * second,
  RemoveContainer: 60 * second,
  ListContainers: 10 * second,
  ContainerStatus: 10 * second,
  ExecSync: 10 * second,
  ListImages: 10 * second,
  ImageStatus: 10 * second,
  PullImage: 600 * second,
  RemoveImage: 60 * second,
  ImageFsInfo: 10 * second,
} satisfies Record<MethodName, number>;
const deadlineOf: ReadonlyMap<string, number> = new Map(Object.entries(deadlines));

/** What the kubelet accepts: lists of a full node are larger than gRPC's default of 4 MiB. */
const defaultResponseBytes = 16 * 1024 * 1024;

/** Of a gRPC status: how a call ended that brought no answer. */
export type CallFailure = Pick<ServiceError, "code" | "details">;

/** Bytes of a request, on their way. */
export interface CarriedCall {
  readonly name: string;
  readonly path: string;
  readonly body: Buffer;
  /** Then it fails with DEADLINE_EXCEEDED. */
  readonly deadlineMs: number;
  readonly maxResponseBytes: number;
}

/** Carries calls to a runtime as bytes: gRPC does it over a socket. */
export interface CriTransport {
  /** `answered` is called once, later, also where the call is cancelled. */
  unary(
    call: CarriedCall,
    answered: (failure: CallFailure | null, answer?: Uint8Array) => void,
  ): { cancel(): void };
  /** Nothing is under way any more. */
  close(): void;
}

export function createCriClient(socket: string, options: CriClientOptions): CriClient {
  return criClientOver(new Connections(socket, options.clock), socket, options);
}

export function criClientOver(transport: CriTransport, socket: string, options: CriClientOptions): CriClient {
  const { observe, clock, maxResponseBytes = defaultResponseBytes } = options;
  const calls = new Calls(transport);
  return {
    socket,
    async call(method, request, callOptions = {}) {
      const started = clock.monotonic();
      let code: string = "OK";
      try {
        // Encoding errors are the caller's fault and must not reach the transport.
        const body = toWire(method.request, request);
        return decoded(method, await calls.unary(method, body, { maxResponseBytes, ...callOptions }));
      } catch (error) {
        code = error instanceof AgentError ? error.code : "Runtime";
        throw error;
      } finally {
        observe?.({ method: method.name, code, seconds: (clock.monotonic() - started) / 1000 });
      }
    },
    close: () => calls.close(),
  };
}

/** A restarted runtime is reached within a second. No keepalive: runtimes end connections that ping often. */
const channelOptions = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 800,
  // A new client does not inherit the back-off of an earlier one.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  "grpc.service_config_disable_resolution": 1,
  "grpc.primary_user_agent": "refit-agent",
} as const;

type UnaryOptions = CallOptions & { readonly maxResponseBytes: number };

/** What each call of a client obeys: its deadline, its caller who may give up, the end of the client. */
class Calls {
  readonly #transport: CriTransport;
  readonly #running = new Set<{ cancel(): void }>();
  #closed = false;

  constructor(transport: CriTransport) {
    this.#transport = transport;
  }

  /** The bytes of the answer; throws AgentError. */
  unary(
    { name, path }: Pick<Method<unknown, unknown>, "name" | "path">,
    body: Buffer,
    { signal, timeoutMs, maxResponseBytes }: UnaryOptions,
  ): Promise<Uint8Array> {
    const wanted = Math.ceil(timeoutMs ?? deadlineOf.get(name) ?? 10 * second);
    const deadlineMs = Math.min(Math.max(1, wanted), longestCallMs);
    return new Promise((resolve, reject) => {
      const givenUp = (): AgentError | undefined => {
        if (signal?.aborted)
          return new AgentError("Aborted", `${name}: given up: ${messageOf(signal.reason)}`, signal.reason);
        return this.#closed ? new AgentError("Aborted", `${name}: the client is closed`) : undefined;
      };
      const before = givenUp();
      if (before) return reject(before);
      const cancel = (): void => call.cancel();
      const carried = { name, path, body, deadlineMs, maxResponseBytes };
      const call = this.#transport.unary(carried, (error, answer) => {
        signal?.removeEventListener("abort", cancel);
        this.#running.delete(call);
        const failure = givenUp() ?? (error ? criError(name, error, deadlineMs) : undefined);
        if (failure) reject(failure);
        else resolve(answer ?? Buffer.alloc(0));
      });
      this.#running.add(call);
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  close(): void {
    this.#closed = true;
    for (const call of this.#running) call.cancel();
    this.#transport.close();
  }
}

/** gRPC limits answers by connection: one for each limit, made with its first call. */
class Connections implements CriTransport {
  readonly #socket: string;
  readonly #clock: Clock;
  readonly #clients = new Map<number, Client>();

  constructor(socket: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  unary(
    { path, body, deadlineMs, maxResponseBytes }: CarriedCall,
    answered: (failure: CallFailure | null, answer?: Uint8Array) => void,
  ): ClientUnaryCall {
    const deadline = this.#clock.now() + deadlineMs;
    const metadata = new Metadata();
    const client = this.#client(maxResponseBytes);
    return client.makeUnaryRequest(path, sameBytes, sameBytes, body, metadata, { deadline }, answered);
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }

  #client(maxResponseBytes: number): Client {
    const present = this.#clients.get(maxResponseBytes);
    if (present) return present;
    const client = new Client(`unix:${this.#socket}`, connectionCredentials(), {
      ...channelOptions,
      "grpc.max_receive_message_length": maxResponseBytes,
    });
    this.#clients.set(maxResponseBytes, client);
    return client;
  }
}

/** Messages are encoded and decoded here, where their errors keep codes of their own. */
function sameBytes(bytes: Buffer): Buffer {
  return bytes;
}

function decoded<Response>(
  method: Pick<Method<unknown, Response>, "name" | "response">,
  message: Uint8Array,
): Response {
  try {
    return fromWire(method.response, message);
  } catch (error) {
    throw new AgentError(
      "Decode",
      `${method.name}: the runtime's answer is damaged: ${messageOf(error)}`,
      error,
    );
  }
}

const codes: Readonly<Partial<Record<status, AgentErrorCode>>> = {
  // Cancelled by the runtime: what the caller gives up is found out before.
  [status.CANCELLED]: "Unavailable",
  [status.INVALID_ARGUMENT]: "Invalid",
  [status.DEADLINE_EXCEEDED]: "Timeout",
  [status.NOT_FOUND]: "NotFound",
  [status.ALREADY_EXISTS]: "AlreadyExists",
  [status.PERMISSION_DENIED]: "PermissionDenied",
  [status.UNIMPLEMENTED]: "Unimplemented",
  [status.UNAVAILABLE]: "Unavailable",
};

/** The message keeps the wording that CRI users know: `rpc error: code = NotFound desc = …`. */
function criError(name: string, error: CallFailure, limitMs: number): AgentError {
  let { details } = error;
  let code = codes[error.code] ?? "Runtime";
  // The library's texts have times in them: equal failures would have different texts.
  if (code === "Timeout" && details.startsWith("Deadline exceeded after"))
    details = `no answer within ${limitMs} ms`;
  if (code === "Unavailable")
    details = /Last error: (?:Error: )?(.*?)(?: \([\d:.TZ-]+\))?\. Res/s.exec(details)?.[1] ?? details;
  if (error.code === status.RESOURCE_EXHAUSTED && details.includes("larger than max")) code = "TooLarge";
  // containerd and CRI-O report a taken container name as an unknown error.
  else if (code === "Runtime" && /is reserved for|already in use|name is reserved/.test(details))
    code = "AlreadyExists";
  return new AgentError(
    code,
    `${name}: rpc error: code = ${statusName(error.code)} desc = ${details}`,
    error,
  );
}

/** As Go's programs print it: `NotFound`. */
function statusName(code: status): string {
  const words = (status[code] ?? "UNKNOWN").split("_");
  return words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join("");
}

/** Deadline of StopContainer: the grace that it grants, and time to kill. */
export function stopDeadlineMs(graceSeconds: number): number {
  return (Math.max(0, graceSeconds) + 5) * second + deadlines.StopContainer;
}
