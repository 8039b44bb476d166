/**
 * The one place that stops and starts containers: it starts them the agent's own way where it may, with the next attempt's name
 * held until the kubelet knows the new container.
 */
import { type Clock, type Events, isJsonObject, type JsonObject, keyOf, type Log } from "../../kube/index.ts";
import type { AgentPod } from "../../node/index.ts";
import { type ContainerMetadata, type Input, methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError, messageOf } from "../errors.ts";
import type { AgentMetrics, KillReason } from "../metrics.ts";
import type { PodWatch } from "../pod_watch.ts";
import type { KubeletVersion } from "./image_access.ts";
import { type NextAttempt, placeholderLabels, prepareNextAttempt, startNextAttempt } from "./next_attempt.ts";
import { annotations, type CriContainer } from "./observe.ts";
import { type StopTerms, stopContainer } from "./stop.ts";

/** A container of a pod, as its runtime has it. */
export interface ContainerPlace {
  readonly client: CriClient;
  readonly pod: AgentPod;
  readonly container: CriContainer;
}

export interface Prepared {
  readonly client: CriClient;
  readonly next: NextAttempt;
  readonly placeholderId: string;
}

export interface RestartTerms extends StopTerms {
  /** Source of the events. */
  readonly component: string;
  /** In the metric of stopped containers. */
  readonly reason: KillReason;
  /** Text of the `Killing` event. */
  readonly message: string;
}

export interface RestarterDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: Pick<Events, "from">;
  readonly agentMetrics: Pick<AgentMetrics, "killed">;
  readonly startedBy: "agent" | "kubelet";
  readonly pods: Pick<PodWatch, "subscribe" | "byUid">;
  readonly kubeletVersion: KubeletVersion;
}

/** When the kubelet has not reported a new container after so long, it will not act on an old look any more. */
const longestHoldMs = 60_000;

export class ContainerRestarter {
  readonly #dependencies: RestarterDependencies;
  /** Name and attempt in their sandbox -> id of the placeholder that holds them; undefined: it is being made. */
  readonly #held = new Map<string, string | undefined>();

  constructor(dependencies: RestarterDependencies) {
    this.#dependencies = dependencies;
  }

  /** Rejects with AgentError when the runtime could not stop the container; then it is as it was. */
  async restart(place: ContainerPlace, terms: RestartTerms, signal: AbortSignal): Promise<void> {
    const { agentMetrics, clock, events, log } = this.#dependencies;
    const { pod, container } = place;
    const { component, message, reason } = terms;
    const prepared = await this.prepare(place, signal);
    const began = clock.monotonic();
    const recorder = events.from(component);
    const target = containerTarget(pod, container.name);
    recorder.event(target, "Normal", "Killing", message);
    const hookFailed = (text: string) => recorder.event(target, "Warning", "FailedPreStopHook", text);
    try {
      await this.stop(place, terms, prepared, hookFailed);
    } catch (error) {
      // A runtime that is restarted may have stopped it all the same.
      if (!isAgentError(error, "Unavailable", "Aborted")) agentMetrics.killed(reason, "failed");
      throw error;
    }
    agentMetrics.killed(reason, "stopped");
    const startedBy = prepared ? await this.start(prepared) : "kubelet";
    const seconds = (clock.monotonic() - began) / 1000;
    log.info("a container was restarted", {
      pod: keyOf(pod),
      container: container.name,
      reason,
      startedBy,
      seconds,
    });
  }

  /** The container has stopped already: starts its next attempt where the agent may. */
  async startAgain(place: ContainerPlace, signal: AbortSignal): Promise<void> {
    const prepared = await this.prepare(place, signal);
    if (prepared) await this.start(prepared);
  }

  /**
   * Before the container is stopped. Undefined, with a line in the log, when the kubelet has to start it again.
   * `lastImages`: see prepareNextAttempt.
   */
  async prepare(
    { client, pod, container }: ContainerPlace,
    signal: AbortSignal,
    lastImages?: readonly string[],
  ): Promise<Prepared | undefined> {
    const { kubeletVersion, log, startedBy } = this.#dependencies;
    if (startedBy === "kubelet") return undefined;
    const place = { pod: keyOf(pod), container: container.name };
    try {
      const next = await prepareNextAttempt(client, pod, container, signal, kubeletVersion, lastImages);
      if ("refusal" in next) {
        log.info("the kubelet starts the container", { ...place, reason: next.refusal });
        return undefined;
      }
      return { client, next, placeholderId: await this.#hold(client, next) };
    } catch (error) {
      signal.throwIfAborted();
      log.warn("the kubelet starts the container", { ...place, error: messageOf(error) });
      return undefined;
    }
  }

  /** Rejects with AgentError when the runtime could not stop the container; then its next attempt is not held any more. */
  async stop(
    { client, pod, container }: ContainerPlace,
    terms: StopTerms,
    prepared: Prepared | undefined,
    hookFailed: (message: string) => void,
  ): Promise<void> {
    const { clock } = this.#dependencies;
    try {
      await stopContainer(container, terms, { client, clock, podIP: pod.podIP, hookFailed });
    } catch (error) {
      if (prepared) await this.release(prepared);
      throw error;
    }
  }

  /** Right after the container stopped. Never throws: what the agent cannot start the kubelet starts. */
  async start(prepared: Prepared): Promise<"agent" | "kubelet"> {
    const { client, next } = prepared;
    try {
      await this.#letGo(prepared);
      const started = await startNextAttempt(client, next);
      if (started.by === "agent") this.#releaseWhenKnown(prepared, started.containerId);
      else await this.release(prepared);
      return started.by;
    } catch (error) {
      const text = "the container could not be started, the kubelet does it";
      const container = next.containerName;
      this.#dependencies.log.warn(text, { container, error: messageOf(error) });
      await this.release(prepared);
      return "kubelet";
    }
  }

  /** Removes what a crashed agent left behind. */
  async cleanUp(client: CriClient): Promise<void> {
    const filter = { label_selector: placeholderLabels };
    const { containers } = await client.call(methods.ListContainers, { filter });
    for (const { id, metadata, pod_sandbox_id } of containers) {
      if (this.#held.has(nameIn(pod_sandbox_id, metadata))) continue;
      await client.call(methods.RemoveContainer, { container_id: id });
    }
  }

  /** Throws AgentError; then the name is not held. */
  async #hold(client: CriClient, next: NextAttempt): Promise<string> {
    const name = heldName(next.placeholder);
    const before = this.#held.get(name);
    this.#held.set(name, before);
    try {
      const placeholderId = await hold(client, next);
      this.#held.set(name, placeholderId);
      return placeholderId;
    } catch (error) {
      if (this.#held.get(name) === undefined) this.#held.delete(name);
      throw error;
    }
  }

  /** The name of the next attempt is free again: the container was not stopped after all, or the kubelet knows the new one. */
  async release({ client, placeholderId }: Prepared): Promise<void> {
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
  async #letGo({ client, next }: Prepared): Promise<void> {
    const placeholderId = this.#held.get(heldName(next.request));
    if (placeholderId !== undefined) await this.release({ client, next, placeholderId });
  }

  /**
   * The kubelet's view is as new as the running container once the pod's status shows it running: no older look is
   * acted on then. A status that names the container before it runs comes from just the look that is dangerous.
   */
  #releaseWhenKnown(prepared: Prepared, containerId: string): void {
    const { clock, pods } = this.#dependencies;
    const { podUid } = prepared.next;
    let done = false;
    const end = (): void => {
      if (done) return;
      done = true;
      unsubscribe();
      timer.cancel();
      void this.release(prepared);
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

function heldName({ pod_sandbox_id, config }: NextAttempt["request"]): string {
  return nameIn(pod_sandbox_id, config?.metadata);
}

function nameIn(sandbox: string | undefined, metadata: Input<ContainerMetadata> | undefined): string {
  return JSON.stringify([sandbox, metadata?.name, metadata?.attempt]);
}

/** A placeholder of this attempt that is there already belongs to an earlier try: it is made again. */
async function hold(client: CriClient, next: NextAttempt): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await client.call(methods.CreateContainer, next.placeholder)).container_id;
    } catch (error) {
      if (!isAgentError(error, "AlreadyExists") || attempt > 0) throw error;
      const filter = {
        pod_sandbox_id: next.placeholder.pod_sandbox_id ?? "",
        label_selector: placeholderLabels,
      };
      const { containers } = await client.call(methods.ListContainers, { filter });
      const wanted = next.placeholder.config?.metadata;
      const old = containers.find(
        ({ metadata }) => metadata?.name === wanted?.name && metadata?.attempt === wanted?.attempt,
      );
      if (!old) throw error;
      await client.call(methods.RemoveContainer, { container_id: old.id });
    }
  }
}

/** What an event about one container of a pod is about. */
export function containerTarget({ namespace, name, uid }: AgentPod, container: string) {
  return { apiVersion: "v1", kind: "Pod", namespace, name, uid, fieldPath: `spec.containers{${container}}` };
}

const defaultGraceSeconds = 30;

/** As the kubelet would stop the container: by what it wrote onto it, else by the pod. */
export function stopTermsOf({ containers }: AgentPod, container: CriContainer): StopTerms {
  const seconds = Number(container.annotations[annotations.terminationGracePeriod]);
  const ofPod = containers.find((one) => one.name === container.name);
  return {
    graceSeconds: Number.isInteger(seconds) && seconds >= 0 ? seconds : defaultGraceSeconds,
    preStop: writtenHook(container) ?? ofPod?.preStop,
    ports: ofPod?.ports ?? [],
  };
}

function writtenHook(container: CriContainer): JsonObject | undefined {
  try {
    const written: unknown = JSON.parse(container.annotations[annotations.preStop] ?? "null");
    return isJsonObject(written) ? written : undefined;
  } catch {
    // An odd annotation: the pod's own hook counts.
    return undefined;
  }
}
