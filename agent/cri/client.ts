/**
 * CRI calls over a unix socket. Every call has a deadline, answers have a size limit, and whatever a runtime sends
 * ends as an AgentError with a stable code. A call after a broken connection makes a new one; calls are never repeated
 * here, because only the caller knows whether that is safe.
 */
import type { Clock } from "../../kube/index.ts";
import { fromWire, type Input, type Method, type MethodName, toWire } from "../../proto/cri/index.ts";
import { AgentError, type AgentErrorCode, messageOf } from "../errors.ts";
import { type Channel, openChannel } from "./grpc_channel.ts";
import { GrpcError, grpcStatus, statusName } from "./grpc_status.ts";

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

export function createCriClient(socket: string, options: CriClientOptions): CriClient {
  const { observe, clock } = options;
  const channel = openChannel(socket, {
    clock,
    maxMessageBytes: options.maxResponseBytes ?? 16 * 1024 * 1024,
  });
  return {
    socket,
    async call(method, request, callOptions = {}) {
      const started = clock.monotonic();
      let code: string = "OK";
      try {
        return await unary(channel, method, request, callOptions);
      } catch (error) {
        code = error instanceof AgentError ? error.code : "Runtime";
        throw error;
      } finally {
        observe?.({ method: method.name, code, seconds: (clock.monotonic() - started) / 1000 });
      }
    },
    stream: (method, request, signal) => serverStream(channel, method, request, signal),
    close: () => channel.close(),
  };
}

async function unary<Request, Response>(
  channel: Channel,
  method: Method<Request, Response>,
  request: Input<Request>,
  { signal, timeoutMs }: CallOptions,
): Promise<Response> {
  if (signal?.aborted)
    throw new AgentError("Aborted", `${method.name}: given up before it was sent`, signal.reason);
  // Encoding errors are the caller's fault and must not reach the transport.
  const body = toWire(method.request, request);
  const limit = timeoutMs ?? deadlineOf.get(method.name) ?? 10 * second;
  try {
    return decoded(method, await channel.unary(method.path, body, { timeoutMs: limit, signal }));
  } catch (error) {
    throw signal?.aborted ? aborted(method.name, signal) : criError(method.name, error);
  }
}

async function* serverStream<Request, Response>(
  channel: Channel,
  method: Method<Request, Response>,
  request: Input<Request>,
  signal: AbortSignal,
): AsyncGenerator<Response> {
  if (signal.aborted) return;
  const body = toWire(method.request, request);
  try {
    for await (const message of channel.stream(method.path, body, signal)) yield decoded(method, message);
  } catch (error) {
    if (signal.aborted) return;
    throw criError(method.name, error);
  }
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

function aborted(name: string, signal: AbortSignal): AgentError {
  return new AgentError("Aborted", `${name}: given up: ${messageOf(signal.reason)}`, signal.reason);
}

const codes: Readonly<Record<number, AgentErrorCode>> = {
  [grpcStatus.CANCELLED]: "Aborted",
  [grpcStatus.INVALID_ARGUMENT]: "Invalid",
  [grpcStatus.DEADLINE_EXCEEDED]: "Timeout",
  [grpcStatus.NOT_FOUND]: "NotFound",
  [grpcStatus.ALREADY_EXISTS]: "AlreadyExists",
  [grpcStatus.PERMISSION_DENIED]: "PermissionDenied",
  [grpcStatus.UNIMPLEMENTED]: "Unimplemented",
  [grpcStatus.UNAVAILABLE]: "Unavailable",
};

/** The message keeps the wording that CRI users know: `rpc error: code = NotFound desc = …`. */
function criError(name: string, error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  if (!(error instanceof GrpcError)) return new AgentError("Runtime", `${name}: ${messageOf(error)}`, error);
  const { status, message: details } = error;
  let code = codes[status] ?? "Runtime";
  if (status === grpcStatus.RESOURCE_EXHAUSTED && details.includes("larger than max")) code = "TooLarge";
  // containerd and CRI-O report a taken container name as an unknown error.
  else if (code === "Runtime" && /is reserved for|already in use|name is reserved/.test(details))
    code = "AlreadyExists";
  return new AgentError(code, `${name}: rpc error: code = ${statusName(status)} desc = ${details}`, error);
}

/** Deadline of StopContainer: the grace that it grants, and time to kill. */
export function stopDeadlineMs(graceSeconds: number): number {
  return (Math.max(0, graceSeconds) + 5) * second + deadlines.StopContainer;
}
