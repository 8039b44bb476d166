/** Starts containers the agent's own way, with the next attempt's name held until the kubelet knows the new container. */
import { type Clock, keyOf, type Log } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { isAgentError, messageOf } from "../errors.ts";
import type { AgentPod } from "../pod.ts";
import type { PodWatch } from "../pod_watch.ts";
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
}

/** When the kubelet has not reported a new container after so long, it will not act on an old look any more. */
const longestHoldMs = 60_000;

export function createRecreator(dependencies: RecreatorDependencies): Recreator {
  const { clock, log, startedBy, pods } = dependencies;
  /** Name and attempt in their sandbox -> id of the placeholder that holds them. */
  const held = new Map<string, string>();

  async function release({ client, placeholderId }: Prepared): Promise<void> {
    for (const [name, id] of held) if (id === placeholderId) held.delete(name);
    try {
      await client.call(methods.RemoveContainer, { container_id: placeholderId });
    } catch (error) {
      // It ends with its sandbox, and the kubelet's garbage collection takes it before.
      if (!isAgentError(error, "NotFound"))
        log.warn("a placeholder could not be removed", { error: messageOf(error) });
    }
  }

  /** A swap that follows another at once needs the name that the first one still holds. */
  async function letGo({ client, recreation }: Prepared): Promise<void> {
    const placeholderId = held.get(heldName(recreation.request));
    if (placeholderId !== undefined) await release({ client, recreation, placeholderId });
  }

  /**
   * The kubelet's view is as new as the running container once the pod's status shows it running: no older look is
   * acted on then. A status that names the container before it runs comes from just the look that is dangerous.
   */
  function releaseWhenKnown(prepared: Prepared, containerId: string): void {
    const { podUid } = prepared.recreation;
    const known = (pod: AgentPod | undefined): boolean =>
      pod?.containerStatuses.some(
        (status) => status.running && status.containerID.endsWith(`://${containerId}`),
      ) ?? false;
    let done = false;
    const end = (): void => {
      if (done) return;
      done = true;
      unsubscribe();
      timer.cancel();
      void release(prepared);
    };
    const unsubscribe = pods.subscribe(({ type, object }) => {
      if (object.uid === podUid && (type === "removed" || known(object))) end();
    });
    const timer = clock.after(longestHoldMs, end);
    if (known(pods.byUid(podUid))) end();
  }

  return {
    async prepare(client, pod, last, signal, lastImages) {
      if (startedBy === "kubelet") return undefined;
      const place = { pod: keyOf(pod), container: last.name };
      try {
        const recreation = await prepareRecreation(client, pod, last, signal, lastImages);
        if ("refusal" in recreation) {
          log.info("the kubelet starts the container", { ...place, reason: recreation.refusal });
          return undefined;
        }
        const placeholderId = await hold(client, recreation, held);
        return { client, recreation, placeholderId };
      } catch (error) {
        signal.throwIfAborted();
        log.warn("the kubelet starts the container", { ...place, error: messageOf(error) });
        return undefined;
      }
    },
    async start(prepared) {
      const { client, recreation } = prepared;
      try {
        await letGo(prepared);
        const started = await startNextAttempt(client, recreation);
        if (started.by === "agent") releaseWhenKnown(prepared, started.containerId);
        else await release(prepared);
        return started.by;
      } catch (error) {
        const text = "the container could not be started, the kubelet does it";
        log.warn(text, { container: recreation.containerName, error: messageOf(error) });
        await release(prepared);
        return "kubelet";
      }
    },
    cancel: release,
    async cleanUp(client) {
      const filter = { label_selector: placeholderLabels };
      const { containers } = await client.call(methods.ListContainers, { filter });
      const own = new Set(held.values());
      for (const { id } of containers) {
        if (!own.has(id)) await client.call(methods.RemoveContainer, { container_id: id });
      }
    },
  };
}

function heldName(request: Recreation["request"]): string {
  const { name, attempt } = request.config?.metadata ?? {};
  return JSON.stringify([request.pod_sandbox_id, name, attempt]);
}

/** A placeholder of this attempt that is there already belongs to an earlier try: it is made anew. */
async function hold(client: CriClient, recreation: Recreation, held: Map<string, string>): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      const { container_id } = await client.call(methods.CreateContainer, recreation.placeholder);
      held.set(heldName(recreation.placeholder), container_id);
      return container_id;
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
