/**
 * Direct swap: when images of a pod's spec change, the agent stops, creates and starts the containers itself, in
 * parallel, while the kubelet works through them one after the other. Whichever is first at a container's next attempt
 * wins its name; the other finds the work done. docs/direct-swap.md.
 */
import { type Clock, keyOf, type Log, plainHash } from "../../kube/index.ts";
import type { AgentPod } from "../../node/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { Prepared, Recreator } from "../containers/recreator.ts";
import { stopContainer } from "../containers/stop.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";

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

/** What shows that the kubelet has the new spec; `none`: nothing did in time, or the spec has changed again. */
type Evidence = "reported" | "stopped" | "none";

export class Swapper {
  readonly #dependencies: SwapDependencies;
  readonly #running = new Map<string, Running>();
  /** Images that the spec had lately, by container: the last container is of one of them. Newest last. */
  readonly #lastImages = new Map<string, string[]>();
  /** Containers whose swap begins when the kubelet has seen the new spec. */
  readonly #waiting = new Set<string>();
  readonly #stopping = new AbortController();
  /** Told of each change of a pod. */
  readonly #waits = new Set<ChangeWait>();

  constructor(dependencies: SwapDependencies) {
    this.#dependencies = dependencies;
  }

  /** A pod changed from `before` to `after`. Returns at once. */
  changed(before: AgentPod, after: AgentPod): void {
    for (const wait of this.#waits) wait.changed();
    if (after.observedGeneration >= after.generation) this.#goOn(after);
    for (const { name, lastImage } of swapsOf(before, after)) {
      const key = JSON.stringify([after.uid, name]);
      remember(this.#lastImages, key, lastImage);
      this.#begin(key, after.uid, name);
    }
  }

  /** The pod is gone: nothing waits for its kubelet any more. */
  removed(pod: AgentPod): void {
    for (const wait of this.#waits) wait.changed();
    for (const { name } of pod.containers) this.#waiting.delete(JSON.stringify([pod.uid, name]));
  }

  /** Resolves when no swap runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((one) => one.done));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("stopped"));
    for (const wait of this.#waits) wait.changed();
    await this.idle();
  }

  #goOn(pod: AgentPod): void {
    for (const { name } of pod.containers) {
      const key = JSON.stringify([pod.uid, name]);
      if (this.#waiting.delete(key)) this.#begin(key, pod.uid, name);
    }
  }

  #begin(key: string, uid: string, name: string): void {
    const present = this.#running.get(key);
    if (present) {
      present.again = true;
      return;
    }
    const state: Running = { again: true, done: Promise.resolve() };
    this.#running.set(key, state);
    state.done = this.#swapUntilDone(key, uid, name, state);
  }

  async #swapUntilDone(key: string, uid: string, name: string, state: Running): Promise<void> {
    const { signal } = this.#stopping;
    while (state.again && !signal.aborted) {
      state.again = false;
      await this.#swap(key, uid, name).catch((error: unknown) => {
        if (signal.aborted) return;
        const place = { pod: uid, container: name };
        this.#dependencies.log.warn("a swap is left to the kubelet", { ...place, error: messageOf(error) });
      });
    }
    this.#running.delete(key);
  }

  async #swap(key: string, uid: string, name: string): Promise<void> {
    const { clock, recreator, runtime, pod: podOf } = this.#dependencies;
    const { signal } = this.#stopping;
    const client = runtime();
    if (!client) return;
    const began = clock.monotonic();
    const last = (await observeContainers(client, uid, signal, name)).get(name);
    const pod = podOf(uid);
    const image = imageOf(pod, name);
    if (!pod || image === undefined) return;
    // The kubelet was faster, or the image changed back before anything happened.
    if (!last || last.hash === plainHash(name, image).toString(16)) return;
    const images = [...(this.#lastImages.get(key) ?? [])];
    const prepared = await recreator.prepare(client, pod, last, signal, images);
    if (!prepared) return;
    const evidence = await this.#untilKubeletKnows(client, pod, last, image).catch(() => "none" as const);
    if (evidence === "none") {
      await recreator.cancel(prepared);
      if (imageOf(podOf(uid), name) === image) this.#waiting.add(key);
      return;
    }
    if (evidence === "reported") await this.#stop(client, pod, last, prepared);
    const by = await recreator.start(prepared);
    this.#tell(pod, name, by, evidence, (clock.monotonic() - began) / 1000);
  }

  #tell(
    pod: AgentPod,
    container: string,
    startedBy: "agent" | "kubelet",
    evidence: Evidence,
    seconds: number,
  ): void {
    const { log, swapped } = this.#dependencies;
    log.info("an image was swapped", { pod: keyOf(pod), container, startedBy, evidence, seconds });
    swapped?.(container, startedBy, seconds);
  }

  async #stop(client: CriClient, pod: AgentPod, last: SeenContainer, prepared: Prepared): Promise<void> {
    const { clock, recreator } = this.#dependencies;
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
      await recreator.cancel(prepared);
      throw error;
    }
  }

  /**
   * A kubelet with the old spec would undo the swap. It has the new one when it says so (`reported`), which takes one
   * write of a status, or when it has stopped the container (`stopped`), which it does before the report arrives here.
   * One that did not run when the spec changed tells nothing.
   */
  async #untilKubeletKnows(
    client: CriClient,
    { uid }: AgentPod,
    { id, name, state }: SeenContainer,
    image: string,
  ): Promise<Evidence> {
    const { clock, pod } = this.#dependencies;
    const began = clock.monotonic();
    const wait = new ChangeWait(clock);
    this.#waits.add(wait);
    try {
      for (;;) {
        this.#stopping.signal.throwIfAborted();
        const shown = shownBy(pod(uid), name, image);
        if (shown) return shown;
        wait.look();
        const spent = clock.monotonic() - began;
        if (spent > preparedForMs) return "none";
        const looks = state === "running" && spent < lookForMs;
        if (looks && (await hasExited(client, id, this.#stopping.signal))) return "stopped";
        await wait.change(looks ? lookEveryMs : preparedForMs - spent + 1);
      }
    } finally {
      this.#waits.delete(wait);
    }
  }
}

/** One wait for changes of pods: none is missed between the last look and the wait. */
class ChangeWait {
  readonly #clock: Clock;
  #seen = true;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  changed(): void {
    this.#seen = true;
    this.#wake();
  }

  /** Changes before this have been looked at. */
  look(): void {
    this.#seen = false;
  }

  /** Resolves with the first change since the last look, at the latest after `ms`. */
  async change(ms: number): Promise<void> {
    if (this.#seen) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** What the pod says of the kubelet; undefined: it does not know yet that this container has a new image. */
function shownBy(pod: AgentPod | undefined, name: string, image: string): "reported" | "none" | undefined {
  if (!pod || pod.deleting || imageOf(pod, name) !== image) return "none";
  return pod.observedGeneration >= pod.generation ? "reported" : undefined;
}

async function hasExited(client: CriClient, containerId: string, signal: AbortSignal): Promise<boolean> {
  const { status } = await client.call(methods.ContainerStatus, { container_id: containerId }, { signal });
  return status?.state === ContainerState.CONTAINER_EXITED;
}

function imageOf(pod: AgentPod | undefined, name: string): string | undefined {
  return pod?.containers.find((one) => one.name === name)?.image;
}
