/**
 * Direct swap: when images of a pod's spec change, the agent stops, creates and starts the containers itself, in
 * parallel, while the kubelet works through them one after the other. Whichever is first at a container's next attempt
 * wins its name; the other finds the work done. docs/direct-swap.md.
 */
import { type Clock, keyOf, type Log, plainHash } from "../../kube/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { Prepared, Recreator } from "../containers/recreator.ts";
import { stopContainer } from "../containers/stop.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import type { AgentPod } from "../pod.ts";

/** On a pod, usually from its workload's template: `"true"` asks for direct swaps. */
export const swapAnnotation = "agent.refit/direct-swap";

export interface SwapDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: () => CriClient | undefined;
  readonly pod: (uid: string) => AgentPod | undefined;
  readonly recreator: Recreator;
  readonly swapped?: (container: string, by: "agent" | "kubelet", seconds: number) => void;
}

export interface Swapper {
  /** A pod changed from `before` to `after`. Returns at once. */
  changed(before: AgentPod, after: AgentPod): void;
  /** Resolves when no swap runs. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Containers whose image changed and that the agent may swap. Pure. */
export function swapsOf(before: AgentPod, after: AgentPod): { name: string; lastImage: string }[] {
  if (after.annotations[swapAnnotation] !== "true" || after.deleting || before.uid !== after.uid) return [];
  // Without generations nobody knows when the kubelet has the new spec, and until then it undoes the swap.
  if (after.generation === 0) return [];
  return after.containers.flatMap((container) => {
    const old = before.containers.find((one) => one.name === container.name);
    if (!old || old.image === container.image) return [];
    // The kubelet runs the hook when it stops the container: it must not run twice.
    return container.preStop ? [] : [{ name: container.name, lastImage: old.image }];
  });
}

interface Running {
  again: boolean;
  done: Promise<void>;
}

const imagesKept = 8;
const containersKept = 1024;

/** Bounded in both directions: containers that were not swapped for longest are forgotten first. */
function remember(lastImages: Map<string, string[]>, key: string, image: string): void {
  const kept = (lastImages.get(key) ?? []).filter((one) => one !== image);
  lastImages.delete(key);
  lastImages.set(key, [...kept, image].slice(-imagesKept));
  for (const oldest of lastImages.keys()) {
    if (lastImages.size <= containersKept) break;
    lastImages.delete(oldest);
  }
}

/** How often a container is looked at that the kubelet is about to stop: its end is where the gap begins. */
const lookEveryMs = 4;
/** For so long: usually the kubelet stops the first container within some milliseconds. */
const lookForMs = 1_000;
/** A kubelet that has not reported the new spec by then is not there: nothing is held for it any more. */
const preparedForMs = 5_000;

export function createSwapper(dependencies: SwapDependencies): Swapper {
  const { clock, log } = dependencies;
  const running = new Map<string, Running>();
  /** Images that the spec had lately, by container: the last container is of one of them. Newest last. */
  const lastImages = new Map<string, string[]>();
  /** Containers whose swap begins when the kubelet has seen the new spec. */
  const waiting = new Set<string>();
  const stopping = new AbortController();
  /** Called at each change of a pod. */
  const listeners = new Set<() => void>();

  async function swap(key: string, uid: string, name: string): Promise<void> {
    const client = dependencies.runtime();
    if (!client) return;
    const began = clock.monotonic();
    const last = (await observeContainers(client, uid, stopping.signal, name)).get(name);
    const pod = dependencies.pod(uid);
    const image = imageOf(pod, name);
    if (!pod || image === undefined) return;
    // The kubelet was faster, or the image changed back before anything happened.
    if (!last || last.hash === plainHash(name, image).toString(16)) return;
    const images = [...(lastImages.get(key) ?? [])];
    const prepared = await dependencies.recreator.prepare(client, pod, last, stopping.signal, images);
    if (!prepared) return;
    const evidence = await untilKubeletKnows(client, pod, last, image).catch(() => "none" as const);
    if (evidence === "none") {
      await dependencies.recreator.cancel(prepared);
      if (imageOf(dependencies.pod(uid), name) === image) waiting.add(key);
      return;
    }
    if (evidence === "reported") await stop(client, pod, last, prepared);
    const by = await dependencies.recreator.start(prepared);
    const seconds = (clock.monotonic() - began) / 1000;
    log.info("an image was swapped", { pod: keyOf(pod), container: name, startedBy: by, evidence, seconds });
    dependencies.swapped?.(name, by, seconds);
  }

  async function stop(
    client: CriClient,
    pod: AgentPod,
    last: SeenContainer,
    prepared: Prepared,
  ): Promise<void> {
    const order = {
      container: last.name,
      containerId: last.id,
      graceSeconds: pod.terminationGracePeriodSeconds,
      preStop: undefined,
      podIP: pod.podIP,
      ports: [],
      message: "",
    };
    try {
      // The kubelet tells of the stop: it sees the same change.
      await stopContainer(order, { client, clock, event: () => undefined });
    } catch (error) {
      await dependencies.recreator.cancel(prepared);
      throw error;
    }
  }

  /**
   * A kubelet with the old spec would undo the swap. It has the new one when it says so (`reported`), which takes one
   * write of a status, or when it has stopped the container (`stopped`), which it does before the report arrives here.
   * One that did not run when the spec changed tells nothing. `none`: neither came, or the spec has changed again.
   */
  async function untilKubeletKnows(
    client: CriClient,
    { uid }: AgentPod,
    { id, name, state }: SeenContainer,
    image: string,
  ): Promise<"reported" | "stopped" | "none"> {
    const began = clock.monotonic();
    const changes: { seen: boolean; wake: () => void } = { seen: true, wake: () => undefined };
    const listener = (): void => {
      changes.seen = true;
      changes.wake();
    };
    listeners.add(listener);
    try {
      for (;;) {
        stopping.signal.throwIfAborted();
        const pod = dependencies.pod(uid);
        if (!pod || pod.deleting || imageOf(pod, name) !== image) return "none";
        if (pod.observedGeneration >= pod.generation) return "reported";
        changes.seen = false;
        const spent = clock.monotonic() - began;
        if (spent > preparedForMs) return "none";
        const looks = state === "running" && spent < lookForMs;
        if (looks) {
          const { status } = await client.call(methods.ContainerStatus, { container_id: id });
          if (status?.state === ContainerState.CONTAINER_EXITED) return "stopped";
        }
        if (!changes.seen) await changeOr(changes, looks ? lookEveryMs : preparedForMs - spent + 1);
      }
    } finally {
      listeners.delete(listener);
    }
  }

  function changeOr(changes: { wake: () => void }, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(ms, resolve);
      changes.wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async function swapUntilDone(key: string, uid: string, name: string, state: Running): Promise<void> {
    while (state.again && !stopping.signal.aborted) {
      state.again = false;
      await swap(key, uid, name).catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        log.warn("a swap is left to the kubelet", { pod: uid, container: name, error: messageOf(error) });
      });
    }
    running.delete(key);
  }

  function begin(key: string, uid: string, name: string): void {
    const present = running.get(key);
    if (present) {
      present.again = true;
      return;
    }
    const state: Running = { again: true, done: Promise.resolve() };
    running.set(key, state);
    state.done = swapUntilDone(key, uid, name, state);
  }

  function goOn(pod: AgentPod): void {
    for (const { name } of pod.containers) {
      const key = JSON.stringify([pod.uid, name]);
      if (waiting.delete(key)) begin(key, pod.uid, name);
    }
  }

  return {
    changed(before, after) {
      for (const listener of listeners) listener();
      if (after.observedGeneration >= after.generation) goOn(after);
      for (const { name, lastImage } of swapsOf(before, after)) {
        const key = JSON.stringify([after.uid, name]);
        remember(lastImages, key, lastImage);
        begin(key, after.uid, name);
      }
    },
    async idle() {
      while (running.size > 0) await Promise.all([...running.values()].map((one) => one.done));
    },
    async stop() {
      stopping.abort(new Error("stopped"));
      for (const listener of listeners) listener();
      await this.idle();
    },
  };
}

function imageOf(pod: AgentPod | undefined, name: string): string | undefined {
  return pod?.containers.find((one) => one.name === name)?.image;
}
