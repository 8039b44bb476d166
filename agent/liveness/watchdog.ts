/** One loop for each moved liveness probe: after its failures in a row the container is restarted. */
import { type Clock, jsonEqual, type Log, type Metrics } from "../../kube/index.ts";
import { type AgentPod, type LivenessProbe, livenessProbesOf } from "../../node/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import type { ExecProbes } from "../probes/exec_probes.ts";
import { runProbe } from "../probes/run.ts";

export interface WatchdogDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "unexpectedError">;
  readonly runtime: () => CriClient | undefined;
  readonly execs: ExecProbes;
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

/** Failures in a row of one container, by its id. */
interface Failures {
  readonly id: string;
  readonly count: number;
}

const noFailures: Failures = { id: "", count: 0 };

export class Watchdog {
  readonly #dependencies: WatchdogDependencies;
  readonly #observe: typeof observeContainers;
  readonly #run: typeof runProbe;
  /** By UID of the pod. */
  readonly #loops = new Map<string, Loop[]>();
  readonly #ending = new Set<Promise<void>>();
  /** Restarts of this node, one after another: what fails everywhere at once is not stopped everywhere at once. */
  #turn: Promise<void> = Promise.resolve();

  constructor(dependencies: WatchdogDependencies) {
    this.#dependencies = dependencies;
    this.#observe = dependencies.observe ?? observeContainers;
    this.#run = dependencies.run ?? runProbe;
  }

  update(pod: AgentPod): void {
    const wanted = livenessProbesOf(pod);
    const kept: Loop[] = [];
    for (const loop of this.#loops.get(pod.uid) ?? []) {
      if (!isWanted(loop, wanted)) {
        loop.abort.abort(new Error("the probe is no longer wanted"));
        continue;
      }
      loop.pod = pod;
      kept.push(loop);
    }
    for (const probe of wanted) {
      if (!kept.some(({ container }) => container === probe.container)) kept.push(this.#begin(pod, probe));
    }
    if (kept.length > 0) this.#loops.set(pod.uid, kept);
    else this.#loops.delete(pod.uid);
  }

  remove(pod: AgentPod): void {
    for (const loop of this.#loops.get(pod.uid) ?? []) loop.abort.abort(new Error("the pod is gone"));
    this.#loops.delete(pod.uid);
  }

  async stop(): Promise<void> {
    for (const loop of [...this.#loops.values()].flat()) loop.abort.abort(new Error("stopped"));
    this.#loops.clear();
    await Promise.all(this.#ending);
  }

  #begin(pod: AgentPod, probe: LivenessProbe): Loop {
    const loop: Loop = { ...probe, pod, abort: new AbortController(), ended: Promise.resolve() };
    loop.ended = this.#probe(loop).catch((error: unknown) => {
      if (loop.abort.signal.aborted) return;
      const { log, metrics } = this.#dependencies;
      metrics.unexpectedError("probe");
      log.error("a liveness probe ended", { pod: pod.name, error });
    });
    this.#ending.add(loop.ended);
    void loop.ended.then(() => this.#ending.delete(loop.ended));
    return loop;
  }

  async #probe(loop: Loop): Promise<void> {
    const { clock } = this.#dependencies;
    const { signal } = loop.abort;
    let failures = noFailures;
    for (;;) {
      signal.throwIfAborted();
      const began = clock.monotonic();
      failures = await this.#once(loop, failures, signal);
      await clock.sleep(Math.max(0, loop.probe.periodSeconds * 1000 - (clock.monotonic() - began)), signal);
    }
  }

  /** The failures in a row of the container that runs now. */
  async #once(loop: Loop, before: Failures, signal: AbortSignal): Promise<Failures> {
    const client = this.#dependencies.runtime();
    if (!client) return noFailures;
    try {
      const container = (await this.#observe(client, loop.pod.uid, signal)).get(loop.container);
      if (!container || !this.#isDue(loop, container)) return noFailures;
      const { execs } = this.#dependencies;
      const place = { client, containerId: container.id, podIP: loop.pod.podIP, execs };
      const outcome = await this.#run(loop.probe, place, signal);
      signal.throwIfAborted();
      if (outcome === undefined) return before;
      if (outcome.state === "Succeeded") return noFailures;
      this.#dependencies.unhealthy(loop.pod, loop.container, outcome.message);
      const count = before.id === container.id ? before.count + 1 : 1;
      if (count < loop.probe.failureThreshold) return { id: container.id, count };
      await this.#inTurn(() => {
        // What stood in the line may no longer be wanted: a stop cannot be taken back.
        signal.throwIfAborted();
        return this.#dependencies.restart(client, loop.pod, container, signal);
      });
      return noFailures;
    } catch (error) {
      signal.throwIfAborted();
      const place = { pod: loop.pod.name, container: loop.container };
      const text = "a liveness probe could not be carried out";
      this.#dependencies.log.warn(text, { ...place, error: messageOf(error) });
      return before;
    }
  }

  /** A container that does not run is the kubelet's matter. */
  #isDue({ probe }: Loop, { state, startedAt }: SeenContainer): boolean {
    return (
      state === "running" && this.#dependencies.clock.now() - startedAt >= probe.initialDelaySeconds * 1000
    );
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    await mine;
  }
}

function isWanted(loop: Loop, wanted: readonly LivenessProbe[]): boolean {
  return wanted.some(({ container, probe }) => container === loop.container && jsonEqual(probe, loop.probe));
}
