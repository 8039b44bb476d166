/** Starts containers the agent's own way, with the next attempt's name held until the kubelet knows the new container. */
import { type Clock, keyOf, type Log } from "../../kube/index.ts";
import type { AgentPod } from "../../node/index.ts";
import { type ContainerMetadata, type Input, methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError, messageOf } from "../errors.ts";
import type { PodWatch } from "../pod_watch.ts";
import type { KubeletVersion } from "./image_access.ts";
import type { SeenContainer } from "./observe.ts";
import { placeholderLabels, prepareRecreation, type Recreation, startNextAttempt } from "./recreate.ts";

export interface Prepared {
  readonly client: CriClient;
  readonly recreation: Recreation;
  readonly placeholderId: string;
}

export interface Recreator {
  /**
   * Before the old container is stopped. Undefined, with a line in the log, when the kubelet has to start the container.
   * `lastImages`: see prepareRecreation.
   */
  prepare(
    client: CriClient,
    pod: AgentPod,
    last: SeenContainer,
    signal: AbortSignal,
    lastImages?: readonly string[],
  ): Promise<Prepared | undefined>;
  /** Right after the old container stopped. Never throws: what the agent cannot start the kubelet starts. */
  start(prepared: Prepared): Promise<"agent" | "kubelet">;
  /** The old container was not stopped after all. */
  cancel(prepared: Prepared): Promise<void>;
  /** Removes what a crashed agent left behind. */
  cleanUp(client: CriClient): Promise<void>;
}

export interface RecreatorDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly startedBy: "agent" | "kubelet";
  readonly pods: Pick<PodWatch, "subscribe" | "byUid">;
  readonly kubeletVersion: KubeletVersion;
}

/** When the kubelet has not reported a new container after so long, it will not act on an old look any more. */
const longestHoldMs = 60_000;

export function createRecreator(dependencies: RecreatorDependencies): Recreator {
  return new HoldingRecreator(dependencies);
}

class HoldingRecreator implements Recreator {
  readonly #dependencies: RecreatorDependencies;
  /** Name and attempt in their sandbox -> id of the placeholder that holds them; undefined: it is being made. */
  readonly #held = new Map<string, string | undefined>();

  constructor(dependencies: RecreatorDependencies) {
    this.#dependencies = dependencies;
  }

  async prepare(
    client: CriClient,
    pod: AgentPod,
    last: SeenContainer,
    signal: AbortSignal,
    lastImages?: readonly string[],
  ): Promise<Prepared | undefined> {
    const { kubeletVersion, log, startedBy } = this.#dependencies;
    if (startedBy === "kubelet") return undefined;
    const place = { pod: keyOf(pod), container: last.name };
    try {
      const recreation = await prepareRecreation(client, pod, last, signal, kubeletVersion, lastImages);
      if ("refusal" in recreation) {
        log.info("the kubelet starts the container", { ...place, reason: recreation.refusal });
        return undefined;
      }
      return { client, recreation, placeholderId: await this.#hold(client, recreation) };
    } catch (error) {
      signal.throwIfAborted();
      log.warn("the kubelet starts the container", { ...place, error: messageOf(error) });
      return undefined;
    }
  }

  async start(prepared: Prepared): Promise<"agent" | "kubelet"> {
    const { client, recreation } = prepared;
    try {
      await this.#letGo(prepared);
      const started = await startNextAttempt(client, recreation);
      if (started.by === "agent") this.#releaseWhenKnown(prepared, started.containerId);
      else await this.#release(prepared);
      return started.by;
    } catch (error) {
      const text = "the container could not be started, the kubelet does it";
      const container = recreation.containerName;
      this.#dependencies.log.warn(text, { container, error: messageOf(error) });
      await this.#release(prepared);
      return "kubelet";
    }
  }

  cancel(prepared: Prepared): Promise<void> {
    return this.#release(prepared);
  }

  async cleanUp(client: CriClient): Promise<void> {
    const filter = { label_selector: placeholderLabels };
    const { containers } = await client.call(methods.ListContainers, { filter });
    for (const { id, metadata, pod_sandbox_id } of containers) {
      if (this.#held.has(nameIn(pod_sandbox_id, metadata))) continue;
      await client.call(methods.RemoveContainer, { container_id: id });
    }
  }

  /** Throws AgentError; then the name is not held. */
  async #hold(client: CriClient, recreation: Recreation): Promise<string> {
    const name = heldName(recreation.placeholder);
    const before = this.#held.get(name);
    this.#held.set(name, before);
    try {
      const placeholderId = await hold(client, recreation);
      this.#held.set(name, placeholderId);
      return placeholderId;
    } catch (error) {
      if (this.#held.get(name) === undefined) this.#held.delete(name);
      throw error;
    }
  }

  async #release({ client, placeholderId }: Prepared): Promise<void> {
    for (const [name, id] of this.#held) if (id === placeholderId) this.#held.delete(name);
    try {
      await client.call(methods.RemoveContainer, { container_id: placeholderId });
    } catch (error) {
      // It ends with its sandbox, and the kubelet's garbage collection takes it before.
      if (!isAgentError(error, "NotFound"))
        this.#dependencies.log.warn("a placeholder could not be removed", { error: messageOf(error) });
    }
  }

  /** A swap that follows another at once needs the name that the first one still holds. */
  async #letGo({ client, recreation }: Prepared): Promise<void> {
    const placeholderId = this.#held.get(heldName(recreation.request));
    if (placeholderId !== undefined) await this.#release({ client, recreation, placeholderId });
  }

  /**
   * The kubelet's view is as new as the running container once the pod's status shows it running: no older look is
   * acted on then. A status that names the container before it runs comes from just the look that is dangerous.
   */
  #releaseWhenKnown(prepared: Prepared, containerId: string): void {
    const { clock, pods } = this.#dependencies;
    const { podUid } = prepared.recreation;
    let done = false;
    const end = (): void => {
      if (done) return;
      done = true;
      unsubscribe();
      timer.cancel();
      void this.#release(prepared);
    };
    const unsubscribe = pods.subscribe(({ type, object }) => {
      if (object.uid === podUid && (type === "removed" || showsRunning(object, containerId))) end();
    });
    const timer = clock.after(longestHoldMs, end);
    if (showsRunning(pods.byUid(podUid), containerId)) end();
  }
}

function showsRunning(pod: AgentPod | undefined, containerId: string): boolean {
  const statuses = pod?.containerStatuses ?? [];
  return statuses.some((status) => status.running && status.containerID.endsWith(`://${containerId}`));
}

function heldName({ pod_sandbox_id, config }: Recreation["request"]): string {
  return nameIn(pod_sandbox_id, config?.metadata);
}

function nameIn(sandbox: string | undefined, metadata: Input<ContainerMetadata> | undefined): string {
  return JSON.stringify([sandbox, metadata?.name, metadata?.attempt]);
}

/** A placeholder of this attempt that is there already belongs to an earlier try: it is made anew. */
async function hold(client: CriClient, recreation: Recreation): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await client.call(methods.CreateContainer, recreation.placeholder)).container_id;
    } catch (error) {
      if (!isAgentError(error, "AlreadyExists") || attempt > 0) throw error;
      const filter = {
        pod_sandbox_id: recreation.placeholder.pod_sandbox_id ?? "",
        label_selector: placeholderLabels,
      };
      const { containers } = await client.call(methods.ListContainers, { filter });
      const wanted = recreation.placeholder.config?.metadata;
      const old = containers.find(
        ({ metadata }) => metadata?.name === wanted?.name && metadata?.attempt === wanted?.attempt,
      );
      if (!old) throw error;
      await client.call(methods.RemoveContainer, { container_id: old.id });
    }
  }
}
