/**
 * Direct swap: when images of a pod's spec change, the agent stops, creates and starts the containers itself, in
 * parallel, while the kubelet works through them one after the other. Whichever is first at a container's next attempt
 * wins its name; the other finds the work done. docs/direct-swap-measured.md.
 */
import { type Clock, keyOf, plainHash } from "../../kube/index.ts";
import { type AgentPod, imageOf, kubeletEvidence, swapsOf } from "../../node/index.ts";
import { ContainerState, methods } from "../../proto/cri/index.ts";
import { type CriContainer, observeContainers } from "../containers/observe.ts";
import type { AgentContext } from "../context.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";

export interface SwapDependencies extends Pick<AgentContext, "clock" | "log" | "restarter"> {
  readonly agentMetrics: Pick<AgentContext["agentMetrics"], "killed">;
  readonly finder: Pick<AgentContext["finder"], "current">;
  readonly pods: Pick<AgentContext["pods"], "byUid">;
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
  /** Woken by each change of a pod. */
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
    const { agentMetrics, clock, finder, log, pods, restarter } = this.#dependencies;
    const { signal } = this.#stopping;
    const client = finder.current?.client;
    if (!client) return;
    const began = clock.monotonic();
    const container = (await observeContainers(client, uid, signal, name)).get(name);
    const pod = pods.byUid(uid);
    const image = imageOf(pod, name);
    if (!pod || image === undefined) return;
    // The kubelet was faster, or the image changed back before anything happened.
    if (!container || container.hash === plainHash(name, image).toString(16)) return;
    const place = { client, pod, container };
    const prepared = await restarter.prepare(place, signal, [...(this.#lastImages.get(key) ?? [])]);
    if (!prepared) return;
    const evidence = await this.#untilKubeletKnows(client, pod, container, image).catch(
      () => "none" as const,
    );
    if (evidence === "none") {
      await restarter.release(prepared);
      if (imageOf(pods.byUid(uid), name) === image) this.#waiting.add(key);
      return;
    }
    if (evidence === "reported") {
      // The kubelet reports the stop: it sees the same change.
      const terms = { graceSeconds: pod.terminationGracePeriodSeconds, preStop: undefined, ports: [] };
      await restarter.stop(place, terms, prepared, () => undefined);
    }
    const startedBy = await restarter.start(prepared);
    const seconds = (clock.monotonic() - began) / 1000;
    log.info("an image was swapped", { pod: keyOf(pod), container: name, startedBy, evidence, seconds });
    agentMetrics.killed("swap", startedBy);
  }

  /**
   * A kubelet with the old spec would undo the swap. It has the new one when it says so (`reported`), which takes one
   * write of a status, or when it has stopped the container (`stopped`), which it does before the report arrives here.
   * One that did not run when the spec changed shows nothing.
   */
  async #untilKubeletKnows(
    client: CriClient,
    { uid }: AgentPod,
    { id, name, state }: CriContainer,
    image: string,
  ): Promise<Evidence> {
    const { clock, pods } = this.#dependencies;
    const began = clock.monotonic();
    const wait = new ChangeWait(clock);
    this.#waits.add(wait);
    try {
      for (;;) {
        this.#stopping.signal.throwIfAborted();
        const shown = kubeletEvidence(pods.byUid(uid), name, image);
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

async function hasExited(client: CriClient, containerId: string, signal: AbortSignal): Promise<boolean> {
  const { status } = await client.call(methods.ContainerStatus, { container_id: containerId }, { signal });
  return status?.state === ContainerState.CONTAINER_EXITED;
}
