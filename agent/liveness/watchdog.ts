/** One loop for each moved liveness probe: after its failures in a row the container is restarted. */
import { type Clock, jsonEqual, type Log } from "../../kube/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import type { AgentPod } from "../pod.ts";
import { runProbe } from "../probes/run.ts";
import { type LivenessProbe, livenessProbesOf } from "./plan.ts";

export interface WatchdogDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: () => CriClient | undefined;
  /** A run failed. */
  readonly unhealthy: (pod: AgentPod, container: string, message: string) => void;
  readonly restart: (
    client: CriClient,
    pod: AgentPod,
    container: SeenContainer,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly observe?: typeof observeContainers;
  readonly run?: typeof runProbe;
}

interface Loop extends LivenessProbe {
  pod: AgentPod;
  readonly abort: AbortController;
  ended: Promise<void>;
}

export interface Watchdog {
  update(pod: AgentPod): void;
  remove(pod: AgentPod): void;
  stop(): Promise<void>;
}

export function createWatchdog(dependencies: WatchdogDependencies): Watchdog {
  const { clock, log, observe = observeContainers, run = runProbe } = dependencies;
  /** By UID of the pod. */
  const loops = new Map<string, Loop[]>();
  const ending = new Set<Promise<void>>();
  /** Restarts of this node, one after another: what fails everywhere at once is not stopped everywhere at once. */
  let turn: Promise<void> = Promise.resolve();

  function update(pod: AgentPod): void {
    const wanted = livenessProbesOf(pod);
    const kept: Loop[] = [];
    for (const loop of loops.get(pod.uid) ?? []) {
      const same = wanted.some(({ container, probe }) => {
        return container === loop.container && jsonEqual(probe, loop.probe);
      });
      if (!same) {
        loop.abort.abort(new Error("the probe is no longer wanted"));
        continue;
      }
      loop.pod = pod;
      kept.push(loop);
    }
    for (const probe of wanted) {
      if (!kept.some(({ container }) => container === probe.container)) kept.push(begin(pod, probe));
    }
    if (kept.length > 0) loops.set(pod.uid, kept);
    else loops.delete(pod.uid);
  }

  function begin(pod: AgentPod, probe: LivenessProbe): Loop {
    const loop: Loop = { ...probe, pod, abort: new AbortController(), ended: Promise.resolve() };
    loop.ended = probeLoop(loop).catch((error: unknown) => {
      if (!loop.abort.signal.aborted) log.error("a liveness probe ended", { pod: pod.name, error });
    });
    ending.add(loop.ended);
    void loop.ended.then(() => ending.delete(loop.ended));
    return loop;
  }

  async function probeLoop(loop: Loop): Promise<void> {
    const { signal } = loop.abort;
    let failures = { id: "", count: 0 };
    for (;;) {
      signal.throwIfAborted();
      const began = clock.monotonic();
      failures = await once(loop, failures, signal);
      await clock.sleep(Math.max(0, loop.probe.periodSeconds * 1000 - (clock.monotonic() - began)), signal);
    }
  }

  /** The failures in a row of the container that runs now. */
  async function once(
    loop: Loop,
    before: { readonly id: string; readonly count: number },
    signal: AbortSignal,
  ): Promise<{ id: string; count: number }> {
    const none = { id: "", count: 0 };
    const client = dependencies.runtime();
    if (!client) return none;
    try {
      const container = (await observe(client, loop.pod.uid, signal)).get(loop.container);
      // A container that does not run is the kubelet's matter.
      if (container?.state !== "running") return none;
      if (clock.now() - container.startedAt < loop.probe.initialDelaySeconds * 1000) return none;
      const place = { client, containerId: container.id, podIP: loop.pod.podIP };
      const outcome = await run(loop.probe, place, signal);
      signal.throwIfAborted();
      if (outcome === undefined) return { ...before };
      if (outcome.state === "Succeeded") return none;
      dependencies.unhealthy(loop.pod, loop.container, outcome.message);
      const count = before.id === container.id ? before.count + 1 : 1;
      if (count < loop.probe.failureThreshold) return { id: container.id, count };
      await inTurn(() => dependencies.restart(client, loop.pod, container, signal));
      return none;
    } catch (error) {
      signal.throwIfAborted();
      const place = { pod: loop.pod.name, container: loop.container };
      log.warn("a liveness probe could not be carried out", { ...place, error: messageOf(error) });
      return { ...before };
    }
  }

  async function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    await mine;
  }

  return {
    update,
    remove(pod) {
      for (const loop of loops.get(pod.uid) ?? []) loop.abort.abort(new Error("the pod is gone"));
      loops.delete(pod.uid);
    },
    async stop() {
      for (const loop of [...loops.values()].flat()) loop.abort.abort(new Error("stopped"));
      loops.clear();
      await Promise.all(ending);
    },
  };
}
