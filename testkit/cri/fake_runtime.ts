/** The state behind the fake CRI server: sandboxes, containers and images as containerd keeps them, in memory. */
import type * as cri from "../../proto/cri/index.ts";
import { ContainerEventType, ContainerState, PodSandboxState } from "../../proto/cri/index.ts";

export interface FakeSandbox {
  readonly id: string;
  readonly config: cri.PodSandboxConfig;
  state: number;
  readonly createdAt: number;
}

export interface FakeContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: cri.ContainerConfig;
  state: number;
  readonly createdAt: number;
  startedAt: number;
  finishedAt: number;
  exitCode: number;
}

/** An image that `PullImage` can get; `size` is bytes. */
export interface FakeRemoteImage {
  readonly id: string;
  readonly size?: number;
  /** Needed to pull it. */
  readonly auth?: { readonly username: string; readonly password: string };
  /** Milliseconds that a pull takes. */
  readonly pullMs?: number;
  /** The registry's error instead of the image. */
  readonly error?: string;
}

export type FakeExec = (
  container: FakeContainer,
  command: readonly string[],
) => { stdout?: string; stderr?: string; exitCode?: number; ms?: number };

export interface FakeEvent {
  readonly containerId: string;
  readonly type: number;
}

/** Text of a runtime error with its gRPC status number. */
export class FakeFailure extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
const unknown = 2;
const notFound = 5;

/** Everything is public: tests look into it and change it. */
export class FakeRuntime {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  /** Image id -> references that name it. */
  readonly images = new Map<string, { tags: Set<string>; size: number }>();
  readonly registry = new Map<string, FakeRemoteImage>();
  readonly pulls: cri.PullImageRequest[] = [];
  readonly stops: cri.StopContainerRequest[] = [];
  /** Milliseconds that a container needs to stop, by container name; it is cut at the grace. */
  readonly stopMs = new Map<string, number>();
  exec: FakeExec = () => ({});
  onEvent: (event: FakeEvent) => void = () => {};
  #serial = 0;
  readonly #nowNs: () => number;

  constructor(nowNs: () => number) {
    this.#nowNs = nowNs;
  }

  #id(prefix: string): string {
    this.#serial += 1;
    return prefix + this.#serial.toString(16).padStart(64 - prefix.length, "0");
  }

  runSandbox(config: cri.PodSandboxConfig): string {
    const id = this.#id("5a");
    this.sandboxes.set(id, { id, config, state: PodSandboxState.SANDBOX_READY, createdAt: this.#nowNs() });
    return id;
  }

  stopSandbox(id: string): void {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) return;
    sandbox.state = PodSandboxState.SANDBOX_NOTREADY;
    for (const container of this.containers.values()) {
      if (container.sandboxId === id) this.exit(container.id, 137);
    }
  }

  removeSandbox(id: string): void {
    this.stopSandbox(id);
    for (const container of this.containers.values()) {
      if (container.sandboxId === id) this.containers.delete(container.id);
    }
    this.sandboxes.delete(id);
  }

  create(sandboxId: string, config: cri.ContainerConfig): string {
    if (!this.sandboxes.has(sandboxId)) {
      throw new FakeFailure(notFound, `failed to find sandbox id "${sandboxId}": not found`);
    }
    const name = config.metadata?.name ?? "";
    const attempt = config.metadata?.attempt ?? 0;
    for (const other of this.containers.values()) {
      const { metadata } = other.config;
      if (other.sandboxId === sandboxId && metadata?.name === name && metadata.attempt === attempt) {
        const text = `failed to reserve container name "${name}_${attempt}": name "${name}_${attempt}" is reserved for "${other.id}"`;
        throw new FakeFailure(unknown, text);
      }
    }
    if (!this.#imageOf(config.image?.image ?? "")) {
      throw new FakeFailure(notFound, `failed to resolve image "${config.image?.image}": not found`);
    }
    const id = this.#id("c0");
    this.containers.set(id, {
      id,
      sandboxId,
      config,
      state: ContainerState.CONTAINER_CREATED,
      createdAt: this.#nowNs(),
      startedAt: 0,
      finishedAt: 0,
      exitCode: 0,
    });
    this.onEvent({ containerId: id, type: ContainerEventType.CONTAINER_CREATED_EVENT });
    return id;
  }

  start(id: string): void {
    const container = this.container(id);
    if (container.state !== ContainerState.CONTAINER_CREATED) {
      throw new FakeFailure(unknown, `container "${id}" is not in created state`);
    }
    container.state = ContainerState.CONTAINER_RUNNING;
    container.startedAt = this.#nowNs();
    this.onEvent({ containerId: id, type: ContainerEventType.CONTAINER_STARTED_EVENT });
  }

  /** Ends a running container, as a signal or its own exit would. */
  exit(id: string, exitCode: number): void {
    const container = this.containers.get(id);
    if (container?.state !== ContainerState.CONTAINER_RUNNING) return;
    container.state = ContainerState.CONTAINER_EXITED;
    container.finishedAt = this.#nowNs();
    container.exitCode = exitCode;
    this.onEvent({ containerId: id, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
  }

  remove(id: string): void {
    if (this.containers.delete(id)) {
      this.onEvent({ containerId: id, type: ContainerEventType.CONTAINER_DELETED_EVENT });
    }
  }

  container(id: string): FakeContainer {
    const container = this.containers.get(id);
    if (!container) {
      throw new FakeFailure(notFound, `an error occurred when try to find container "${id}": not found`);
    }
    return container;
  }

  #imageOf(reference: string): string | undefined {
    if (this.images.has(reference)) return reference;
    const full = fullReference(reference);
    for (const [id, image] of this.images) if (image.tags.has(full)) return id;
    return undefined;
  }

  /** Puts an image on the node. */
  addImage(reference: string, id: string, size = 1000): void {
    const image = this.images.get(id) ?? { tags: new Set(), size };
    for (const other of this.images.values()) other.tags.delete(fullReference(reference));
    image.tags.add(fullReference(reference));
    this.images.set(id, image);
  }

  removeImage(reference: string): void {
    const id = this.#imageOf(reference);
    if (id) this.images.delete(id);
  }

  image(reference: string): string | undefined {
    return this.#imageOf(reference);
  }

  /** Checks a pull against the registry; the server waits `pullMs` before it calls `addImage`. */
  resolve(request: cri.PullImageRequest): FakeRemoteImage {
    this.pulls.push(request);
    const reference = request.image?.image ?? "";
    const remote = this.registry.get(reference) ?? this.registry.get(fullReference(reference));
    const failed = `failed to pull and unpack image "${fullReference(reference)}": failed to resolve reference`;
    if (!remote) throw new FakeFailure(notFound, `${failed}: ${fullReference(reference)}: not found`);
    if (remote.error !== undefined) throw new FakeFailure(unknown, `${failed}: ${remote.error}`);
    const { auth } = remote;
    if (auth && (request.auth?.username !== auth.username || request.auth.password !== auth.password)) {
      throw new FakeFailure(unknown, `${failed}: authorization failed: no basic auth credentials`);
    }
    return remote;
  }
}

/** `nginx` -> `docker.io/library/nginx:latest`, as containerd names images. */
export function fullReference(reference: string): string {
  let full = reference;
  const first = full.split("/")[0] ?? "";
  const hasHost = full.includes("/") && (/[.:]/.test(first) || first === "localhost");
  if (!hasHost) full = full.includes("/") ? `docker.io/${full}` : `docker.io/library/${full}`;
  const last = full.slice(full.lastIndexOf("/"));
  return last.includes(":") || last.includes("@") ? full : `${full}:latest`;
}
