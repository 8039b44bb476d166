/**
 * CRI calls over a unix socket. Every call has a deadline, answers have a size limit, and whatever a runtime sends
 * ends as an AgentError with a stable code. The channel reconnects by itself with back-off; calls are never repeated
 * here, because only the caller knows whether that is safe.
 */
import * as grpc from "@grpc/grpc-js";
import type { Clock } from "../../kube/index.ts";
import { fromWire, type Input, type Method, type MethodName, toWire } from "../../proto/cri/index.ts";
import { AgentError, type AgentErrorCode, messageOf } from "../errors.ts";

export interface CallOptions {
  /** Milliseconds; each method has a default. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

export interface CriClient {
  readonly socket: string;
  /** Throws AgentError. */
  call<Request, Response>(
    method: Method<Request, Response>,
    request: Input<Request>,
    options?: CallOptions,
  ): Promise<Response>;
  /** Messages as they arrive, until the signal aborts or the stream breaks (AgentError). No deadline. */
  stream<Request, Response>(
    method: Method<Request, Response>,
    request: Input<Request>,
    signal: AbortSignal,
  ): AsyncIterable<Response>;
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
  /** Bytes of one answer; default 16 MiB (spec agent 5). */
  maxResponseBytes?: number;
  /** Milliseconds of the longest pause between attempts to connect; default 5 000. */
  maxReconnectMs?: number;
  /** Called after each call, for metrics. */
  observe?: (call: CriCall) => void;
}

const second = 1000;
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
  GetContainerEvents: 0,
  ListImages: 10 * second,
  ImageStatus: 10 * second,
  PullImage: 600 * second,
  RemoveImage: 60 * second,
  ImageFsInfo: 10 * second,
} satisfies Record<MethodName, number>;
const deadlineOf: ReadonlyMap<string, number> = new Map(Object.entries(deadlines));

/**
 * A runtime written in Go hangs up on clients that ping more often than every 5 minutes or without a call in flight,
 * so keepalive only guards long streams; a silent runtime is found by the deadlines.
 */
const keepaliveMs = 310 * second;

export function createCriClient(socket: string, options: CriClientOptions): CriClient {
  const limit = options.maxResponseBytes ?? 16 * 1024 * 1024;
  const client = new grpc.Client(`unix:${socket}`, grpc.credentials.createInsecure(), {
    "grpc.default_authority": "localhost",
    "grpc.max_receive_message_length": limit,
    "grpc.max_send_message_length": limit,
    "grpc.keepalive_time_ms": keepaliveMs,
    "grpc.keepalive_timeout_ms": 20 * second,
    "grpc.keepalive_permit_without_calls": 0,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": options.maxReconnectMs ?? 5 * second,
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_http_proxy": 0,
  });
  const { observe, clock } = options;
  return {
    socket,
    async call(method, request, callOptions = {}) {
      const started = clock.monotonic();
      let code: string = "OK";
      try {
        return await unary(client, clock, method, request, callOptions);
      } catch (error) {
        code = error instanceof AgentError ? error.code : "Runtime";
        throw error;
      } finally {
        observe?.({ method: method.name, code, seconds: (clock.monotonic() - started) / 1000 });
      }
    },
    stream: (method, request, signal) => serverStream(client, method, request, signal),
    close: () => client.close(),
  };
}

function unary<Request, Response>(
  client: grpc.Client,
  clock: Clock,
  method: Method<Request, Response>,
  request: Input<Request>,
  options: CallOptions,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted) {
      reject(new AgentError("Aborted", `${method.name}: given up before it was sent`, signal.reason));
      return;
    }
    // Encoding errors are the caller's fault and must not reach the transport.
    const body = toWire(method.request, request);
    const deadline = clock.now() + (options.timeoutMs ?? deadlineOf.get(method.name) ?? 10 * second);
    const call = client.makeUnaryRequest<Buffer, Buffer>(
      method.path,
      sameBytes,
      sameBytes,
      body,
      new grpc.Metadata(),
      { deadline },
      (error, answer) => {
        signal?.removeEventListener("abort", abort);
        if (error) reject(signal?.aborted ? aborted(method.name, signal) : criError(method.name, error));
        else settle(method, answer, resolve, reject);
      },
    );
    function abort(): void {
      call.cancel();
    }
    signal?.addEventListener("abort", abort, { once: true });
  });
}

function settle<Request, Response>(
  method: Method<Request, Response>,
  answer: Buffer | undefined,
  resolve: (response: Response) => void,
  reject: (error: AgentError) => void,
): void {
  try {
    resolve(fromWire(method.response, answer ?? new Uint8Array(0)));
  } catch (error) {
    reject(
      new AgentError("Decode", `${method.name}: the runtime's answer is damaged: ${messageOf(error)}`, error),
    );
  }
}

async function* serverStream<Request, Response>(
  client: grpc.Client,
  method: Method<Request, Response>,
  request: Input<Request>,
  signal: AbortSignal,
): AsyncGenerator<Response> {
  if (signal.aborted) return;
  const body = toWire(method.request, request);
  const call = client.makeServerStreamRequest<Buffer, Buffer>(method.path, sameBytes, sameBytes, body);
  const abort = (): void => call.cancel();
  signal.addEventListener("abort", abort, { once: true });
  try {
    for await (const answer of call) {
      if (!(answer instanceof Uint8Array)) throw new AgentError("Decode", `${method.name}: not a message`);
      yield fromWire(method.response, answer);
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof AgentError) throw error;
    if (isServiceError(error)) throw criError(method.name, error);
    throw new AgentError(
      "Decode",
      `${method.name}: the runtime's answer is damaged: ${messageOf(error)}`,
      error,
    );
  } finally {
    signal.removeEventListener("abort", abort);
    call.cancel();
  }
}

function sameBytes(bytes: Buffer): Buffer {
  return bytes;
}

function isServiceError(error: unknown): error is grpc.ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
}

function aborted(name: string, signal: AbortSignal): AgentError {
  return new AgentError("Aborted", `${name}: given up: ${messageOf(signal.reason)}`, signal.reason);
}

const codes: Readonly<Record<number, AgentErrorCode>> = {
  [grpc.status.CANCELLED]: "Aborted",
  [grpc.status.INVALID_ARGUMENT]: "Invalid",
  [grpc.status.DEADLINE_EXCEEDED]: "Timeout",
  [grpc.status.NOT_FOUND]: "NotFound",
  [grpc.status.ALREADY_EXISTS]: "AlreadyExists",
  [grpc.status.PERMISSION_DENIED]: "PermissionDenied",
  [grpc.status.UNIMPLEMENTED]: "Unimplemented",
  [grpc.status.UNAVAILABLE]: "Unavailable",
};

/** The message keeps the wording that CRI users know: `rpc error: code = NotFound desc = …`. */
function criError(name: string, error: grpc.ServiceError): AgentError {
  const { code: status, details } = error;
  let code = codes[status] ?? "Runtime";
  if (status === grpc.status.RESOURCE_EXHAUSTED && details.includes("larger than max")) code = "TooLarge";
  // containerd and CRI-O report a taken container name as an unknown error.
  else if (code === "Runtime" && /is reserved for|already in use|name is reserved/.test(details))
    code = "AlreadyExists";
  return new AgentError(code, `${name}: rpc error: code = ${statusName(status)} desc = ${details}`, error);
}

function statusName(status: number): string {
  const found = Object.entries(grpc.status).find(([, value]) => value === status)?.[0] ?? "UNKNOWN";
  return found
    .split("_")
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join("");
}

/** Deadline of StopContainer: the grace that it grants, and time to kill. */
export function stopDeadlineMs(graceSeconds: number): number {
  return (Math.max(0, graceSeconds) + 5) * second + deadlines.StopContainer;
}
