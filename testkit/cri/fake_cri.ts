/**
 * A CRI runtime in this process, on a real unix socket: for tests, benches and try-outs without containerd.
 * Faults are set per method: a call can hang, fail, answer garbage or answer too much.
 */
import * as grpc from "@grpc/grpc-js";
import type { Clock } from "../../kube/index.ts";
import * as cri from "../../proto/cri/index.ts";
import {
  fromWire,
  type Input,
  type Method,
  type MethodName,
  methods,
  toWire,
} from "../../proto/cri/index.ts";
import { FakeFailure, FakeRuntime } from "./fake_runtime.ts";

export type Fault =
  /** `from`: the number, since the start, of the first call that hangs. */
  | { readonly kind: "hang"; readonly from?: number }
  | { readonly kind: "fail"; readonly status: number; readonly message: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

export interface FakeCriOptions {
  readonly socket: string;
  readonly clock: Clock;
  readonly runtimeName?: string;
  readonly runtimeVersion?: string;
  /** Methods that answer Unimplemented. */
  readonly missing?: readonly MethodName[];
}

export interface FakeCri {
  readonly runtime: FakeRuntime;
  readonly faults: Map<MethodName, Fault>;
  /** Calls by method name since the start. */
  readonly calls: Map<string, number>;
  stop(): Promise<void>;
}

type Handlers = {
  [Name in MethodName]: (typeof methods)[Name] extends Method<infer Q, infer S>
    ? (request: Q, signal: AbortSignal) => Input<S> | Promise<Input<S>>
    : never;
};

export async function startFakeCri(options: FakeCriOptions): Promise<FakeCri> {
  const { clock, socket } = options;
  const runtime = new FakeRuntime(() => clock.now() * 1e6);
  const faults = new Map<MethodName, Fault>();
  const calls = new Map<string, number>();
  const server = new grpc.Server({ "grpc.max_send_message_length": -1 });
  const missing = new Set<string>(options.missing);
  const handlers = handlersOf(runtime, options);
  for (const service of ["RuntimeService", "ImageService"] as const) {
    const definition: Record<string, grpc.MethodDefinition<Buffer, Buffer>> = {};
    const implementation: grpc.UntypedServiceImplementation = {};
    for (const [name, method] of Object.entries(methods)) {
      if (method.service !== service || missing.has(name)) continue;
      const { path } = method;
      definition[name] = { path, requestStream: false, responseStream: false, ...rawBytes };
      implementation[name] = unaryHandler(name, method, handlers, faults, calls);
    }
    server.addService(definition, implementation);
  }
  await bind(server, socket);
  return {
    runtime,
    faults,
    calls,
    async stop() {
      server.forceShutdown();
    },
  };
}

function bind(server: grpc.Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

const rawBytes = {
  requestSerialize: (bytes: Buffer): Buffer => bytes,
  requestDeserialize: (bytes: Buffer): Buffer => bytes,
  responseSerialize: (bytes: Buffer): Buffer => bytes,
  responseDeserialize: (bytes: Buffer): Buffer => bytes,
};

function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}

/** The table's row and the handler of the same name fit together by construction of `Handlers`. */
function unaryHandler(
  name: string,
  method: Method<unknown, unknown>,
  handlers: Handlers,
  faults: ReadonlyMap<MethodName, Fault>,
  calls: Map<string, number>,
): grpc.handleUnaryCall<Buffer, Buffer> {
  const table: Record<string, (request: never, signal: AbortSignal) => unknown> = handlers;
  const handle = table[name] as ((request: unknown, signal: AbortSignal) => unknown) | undefined;
  return (call, reply) => {
    const count = (calls.get(name) ?? 0) + 1;
    calls.set(name, count);
    const fault = isMethodName(name) ? faults.get(name) : undefined;
    if (fault?.kind === "hang" && count >= (fault.from ?? 0)) return;
    if (fault?.kind === "fail") return reply({ code: fault.status, details: fault.message });
    if (fault?.kind === "bytes") return reply(null, Buffer.from(fault.bytes));
    const abort = new AbortController();
    call.on("cancelled", () => abort.abort(new Error("the client cancelled")));
    Promise.resolve()
      .then(() => handle?.(fromWire(method.request, call.request), abort.signal))
      .then((answer) => reply(null, toWire<unknown>(method.response, answer ?? {})))
      .catch((error: unknown) => {
        if (error instanceof FakeFailure) reply({ code: error.status, details: error.message });
        else
          reply({
            code: grpc.status.UNKNOWN,
            details: error instanceof Error ? error.message : String(error),
          });
      });
  };
}

function handlersOf(runtime: FakeRuntime, options: FakeCriOptions): Handlers {
  const { clock } = options;
  return {
    ...versionHandlers(options),
    ...sandboxHandlers(runtime),
    ...containerHandlers(runtime, clock),
    ...containerViews(runtime),
    ...execHandlers(runtime, clock),
    ...imageHandlers(runtime, clock),
  };
}

function versionHandlers(options: FakeCriOptions): Pick<Handlers, "Version" | "Status"> {
  return {
    Version: () => ({
      version: "0.1.0",
      runtime_name: options.runtimeName ?? "containerd",
      runtime_version: options.runtimeVersion ?? "1.7.0-fake",
      runtime_api_version: "v1",
    }),
    Status: () => ({
      status: {
        conditions: [
          { type: "RuntimeReady", status: true },
          { type: "NetworkReady", status: true },
        ],
      },
    }),
  };
}

function sandboxHandlers(
  runtime: FakeRuntime,
): Pick<
  Handlers,
  "RunPodSandbox" | "StopPodSandbox" | "RemovePodSandbox" | "PodSandboxStatus" | "ListPodSandbox"
> {
  return {
    RunPodSandbox: ({ config }) => {
      if (!config?.metadata)
        throw new FakeFailure(grpc.status.INVALID_ARGUMENT, "sandbox config must include metadata");
      return { pod_sandbox_id: runtime.runSandbox(config) };
    },
    StopPodSandbox: ({ pod_sandbox_id }) => done(runtime.stopSandbox(pod_sandbox_id)),
    RemovePodSandbox: ({ pod_sandbox_id }) => done(runtime.removeSandbox(pod_sandbox_id)),
    PodSandboxStatus: ({ pod_sandbox_id, verbose }) => {
      const sandbox = runtime.sandboxes.get(pod_sandbox_id);
      if (!sandbox) {
        throw new FakeFailure(5, `an error occurred when try to find sandbox: not found`);
      }
      const { config, state, id, createdAt } = sandbox;
      const { metadata, labels, annotations } = config;
      return {
        status: { id, metadata, state, created_at: createdAt, labels, annotations },
        info: verbose ? { info: JSON.stringify({ config: withoutZeros(config) }) } : {},
      };
    },
    ListPodSandbox: ({ filter }) => ({
      items: [...runtime.sandboxes.values()]
        .filter((sandbox) => (filter?.id ? sandbox.id === filter.id : true))
        .filter((sandbox) => hasLabels(sandbox.config.labels, filter?.label_selector))
        .map(({ id, config, state, createdAt }) => ({
          id,
          metadata: config.metadata,
          state,
          created_at: createdAt,
          labels: config.labels,
          annotations: config.annotations,
        })),
    }),
  };
}

function containerHandlers(
  runtime: FakeRuntime,
  clock: Clock,
): Pick<Handlers, "CreateContainer" | "StartContainer" | "StopContainer" | "RemoveContainer"> {
  return {
    CreateContainer: ({ pod_sandbox_id, config }) => {
      if (!config?.metadata) throw new FakeFailure(3, "container config must include metadata");
      return { container_id: runtime.create(pod_sandbox_id, config) };
    },
    StartContainer: ({ container_id }) => done(runtime.start(container_id)),
    StopContainer: async (request, signal) => {
      const { container_id, timeout } = request;
      runtime.stops.push(request);
      const container = runtime.containers.get(container_id);
      if (container) {
        const need = runtime.stopMs.get(container.config.metadata?.name ?? "") ?? 0;
        if (need > 0) await clock.sleep(Math.min(need, timeout * 1000), signal);
        runtime.exit(container_id, need > timeout * 1000 ? 137 : 0);
      }
      return {};
    },
    RemoveContainer: ({ container_id }) => done(runtime.remove(container_id)),
  };
}

function containerViews(runtime: FakeRuntime): Pick<Handlers, "ListContainers" | "ContainerStatus"> {
  return {
    ListContainers: ({ filter }) => ({
      containers: [...runtime.containers.values()]
        .filter((container) => (filter?.id ? container.id.startsWith(filter.id) : true))
        .filter((container) => (filter?.state ? container.state === filter.state.state : true))
        .filter((container) =>
          filter?.pod_sandbox_id ? container.sandboxId === filter.pod_sandbox_id : true,
        )
        .filter((container) => hasLabels(container.config.labels, filter?.label_selector))
        .map((container) => ({
          id: container.id,
          pod_sandbox_id: container.sandboxId,
          metadata: container.config.metadata,
          image: container.config.image,
          image_ref: runtime.image(container.config.image?.image ?? "") ?? "",
          state: container.state,
          created_at: container.createdAt,
          labels: container.config.labels,
          annotations: container.config.annotations,
        })),
    }),
    ContainerStatus: ({ container_id, verbose }) => {
      const container = runtime.container(container_id);
      return {
        status: {
          ...containerStatus(container),
          image_ref: runtime.image(container.config.image?.image ?? "") ?? "",
        },
        info: verbose ? { info: JSON.stringify({ config: withoutZeros(container.config) }) } : {},
      };
    },
  };
}

function execHandlers(runtime: FakeRuntime, clock: Clock): Pick<Handlers, "ExecSync"> {
  return {
    ExecSync: async ({ container_id, cmd, timeout }, signal) => {
      const container = runtime.container(container_id);
      if (container.state !== cri.ContainerState.CONTAINER_RUNNING) {
        throw new FakeFailure(2, `failed to exec in container: container is in CONTAINER_EXITED state`);
      }
      const { stdout = "", stderr = "", exitCode = 0, ms = 0 } = runtime.exec(container, cmd);
      if (timeout > 0 && ms > timeout * 1000) {
        await clock.sleep(timeout * 1000, signal);
        throw new FakeFailure(
          4,
          `failed to exec in container: timeout ${timeout}s exceeded: context deadline exceeded`,
        );
      }
      if (ms > 0) await clock.sleep(ms, signal);
      return { stdout: Buffer.from(stdout), stderr: Buffer.from(stderr), exit_code: exitCode };
    },
  };
}

function imageHandlers(
  runtime: FakeRuntime,
  clock: Clock,
): Pick<Handlers, "ListImages" | "ImageStatus" | "PullImage" | "RemoveImage" | "ImageFsInfo"> {
  const image = (id: string): Input<cri.Image> => {
    const { tags, size } = runtime.images.get(id) ?? { tags: [], size: 0 };
    return { id, repo_tags: [...tags], repo_digests: [], size };
  };
  return {
    ImageFsInfo: () => ({
      image_filesystems: [{ fs_id: { mountpoint: "/fake" }, used_bytes: { value: 1 } }],
    }),
    ListImages: () => ({ images: [...runtime.images.keys()].map(image) }),
    ImageStatus: (request) => {
      const id = runtime.image(request.image?.image ?? "");
      return id === undefined ? {} : { image: image(id) };
    },
    PullImage: async (request, signal) => {
      const remote = runtime.resolve(request);
      if (remote.pullMs) await clock.sleep(remote.pullMs, signal);
      runtime.addImage(request.image?.image ?? "", remote.id, remote.size);
      return { image_ref: remote.id };
    },
    RemoveImage: (request) => done(runtime.removeImage(request.image?.image ?? "")),
  };
}

function containerStatus(container: FakeRuntime extends { container(id: string): infer C } ? C : never) {
  const { id, config, state, createdAt, startedAt, finishedAt, exitCode } = container;
  const exited = state === cri.ContainerState.CONTAINER_EXITED;
  return {
    id,
    metadata: config.metadata,
    state,
    created_at: createdAt,
    started_at: startedAt,
    finished_at: finishedAt,
    exit_code: exitCode,
    image: config.image,
    reason: exited ? (exitCode === 0 ? "Completed" : "Error") : "",
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    log_path: config.log_path,
  };
}

/** The empty answer of a call that was carried out. */
function done(_: unknown): Record<string, never> {
  return {};
}

function hasLabels(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
) {
  return Object.entries(wanted ?? {}).every(([key, value]) => labels[key] === value);
}

/** JSON as Go's `omitempty` prints a message: no zero values; bytes of env values as plain text. */
function withoutZeros(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(withoutZeros);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, item]) => [key, withoutZeros(item)] as const)
    .filter(([, item]) => {
      if (item === undefined || item === "" || item === 0 || item === false) return false;
      if (Array.isArray(item)) return item.length > 0;
      return typeof item !== "object" || item === null || Object.keys(item).length > 0;
    });
  return Object.fromEntries(kept);
}
