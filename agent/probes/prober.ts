/** One loop for each probe of the node's NodePodProbe. */
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { type Clock, jsonEqual, type Log, type Metrics, type Random } from "../../kube/index.ts";
import {
  afterProbe,
  outcomeBeforeRun,
  type ProbedPod,
  type ProbeOutcome,
  type ProbeRecord,
  periodMs,
  probeStatus,
  sameHandler,
  thresholdsOf,
  type WantedProbe,
  wantedProbes,
} from "../../node/index.ts";
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import type { StatusWriter } from "../status_writer.ts";
import type { ExecProbes } from "./exec_probes.ts";
import { runProbe } from "./run.ts";

export interface ProberDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "unexpectedError">;
  readonly random: Random;
  readonly runtime: () => CriClient | undefined;
  readonly execs: ExecProbes;
  /** The pod's present address, which may have changed since the probe was written; undefined when it is not known. */
  readonly podIP: (podUid: string) => string | undefined;
  readonly status: StatusWriter<NodePodProbeStatus>;
  /** A probe's state changed. */
  readonly event: (pod: ProbedPod, state: "Succeeded" | "Failed", message: string) => void;
  readonly probed?: (result: string) => void;
  readonly observe?: typeof observeContainers;
  readonly run?: typeof runProbe;
}

interface Loop extends WantedProbe {
  readonly abort: AbortController;
  ended: Promise<void>;
}

export class Prober {
  readonly #dependencies: ProberDependencies;
  readonly #observe: typeof observeContainers;
  readonly #run: typeof runProbe;
  readonly #loops = new Map<string, Loop>();
  readonly #records = new Map<string, ProbeRecord>();
  readonly #ending = new Set<Promise<void>>();
  #object: NodePodProbe | undefined;
  #firstUpdate = true;

  constructor(dependencies: ProberDependencies) {
    this.#dependencies = dependencies;
    this.#observe = dependencies.observe ?? observeContainers;
    this.#run = dependencies.run ?? runProbe;
  }

  /** The node's NodePodProbe as the server has it; undefined when there is none. */
  update(nodePodProbe: NodePodProbe | undefined): void {
    this.#object = nodePodProbe;
    this.#dependencies.status.observed(nodePodProbe?.status);
    const wanted = wantedProbes(nodePodProbe);
    const otherHandler = new Set<string>();
    for (const [key, loop] of this.#loops) {
      const next = wanted.get(key);
      if (next && sameProbe(loop, next)) continue;
      this.#end(key, loop);
      if (!next) this.#records.delete(key);
      else if (!sameHandler(loop.probe, next.probe)) otherHandler.add(key);
    }
    for (const [key, next] of wanted) {
      if (this.#loops.has(key)) continue;
      if (otherHandler.has(key)) this.#records.delete(key);
      this.#begin(key, next, this.#firstUpdate);
    }
    this.#firstUpdate = false;
    this.#publish();
  }

  async stop(): Promise<void> {
    for (const [key, loop] of [...this.#loops]) this.#end(key, loop);
    await Promise.all(this.#ending);
    await this.#dependencies.status.stop();
  }

  #end(key: string, loop: Loop): void {
    loop.abort.abort(new Error("the probe is no longer wanted"));
    this.#loops.delete(key);
  }

  #begin(key: string, wanted: WantedProbe, spread: boolean): void {
    const abort = new AbortController();
    const loop: Loop = { ...wanted, abort, ended: Promise.resolve() };
    this.#loops.set(key, loop);
    loop.ended = this.#probe(key, loop, spread).catch((error: unknown) => {
      if (abort.signal.aborted) return;
      const { log, metrics } = this.#dependencies;
      metrics.unexpectedError("probe");
      log.error("a probe ended", { probe: wanted.name, error });
    });
    this.#ending.add(loop.ended);
    void loop.ended.then(() => this.#ending.delete(loop.ended));
  }

  async #probe(key: string, loop: Loop, spread: boolean): Promise<void> {
    const { clock, random } = this.#dependencies;
    const { signal } = loop.abort;
    const period = periodMs(loop.probe);
    // Right after the start all probes begin at once: they are spread over their period.
    if (spread) await clock.sleep(random() * period, signal);
    for (;;) {
      signal.throwIfAborted();
      const began = clock.monotonic();
      await this.#once(key, loop, signal);
      await clock.sleep(Math.max(0, period - (clock.monotonic() - began)), signal);
    }
  }

  async #once(key: string, loop: Loop, signal: AbortSignal): Promise<void> {
    const client = this.#dependencies.runtime();
    if (!client) return;
    const container = await this.#containerOf(client, loop, signal);
    if (!container) return;
    const outcome = await this.#outcomeOf(client, container, loop, signal);
    signal.throwIfAborted();
    if (outcome) this.#record(key, loop, container.id, outcome);
  }

  async #containerOf(
    client: CriClient,
    { pod, name, containerName }: Loop,
    signal: AbortSignal,
  ): Promise<SeenContainer | undefined> {
    try {
      return (await this.#observe(client, pod.uid, signal)).get(containerName);
    } catch (error) {
      signal.throwIfAborted();
      const { log } = this.#dependencies;
      log.debug("a probe could not look at its container", { probe: name, error: messageOf(error) });
      return undefined;
    }
  }

  /** Undefined: nothing is known of the container, or its initial delay is not over. */
  async #outcomeOf(
    client: CriClient,
    container: SeenContainer,
    loop: Loop,
    signal: AbortSignal,
  ): Promise<ProbeOutcome | undefined> {
    const known = outcomeBeforeRun(container, loop, this.#dependencies.clock.now());
    if (known !== "run") return known;
    const { pod, ip, probe } = loop;
    const podIP = this.#dependencies.podIP(pod.uid) ?? ip;
    const { execs } = this.#dependencies;
    return this.#run(probe, { client, containerId: container.id, podIP, execs }, signal);
  }

  #record(key: string, { pod, probe }: Loop, containerId: string, outcome: ProbeOutcome): void {
    const { clock, event, probed } = this.#dependencies;
    probed?.(outcome.state);
    const before = this.#records.get(key);
    const after = afterProbe(before, containerId, outcome, thresholdsOf(probe), clock.now());
    this.#records.set(key, after.record);
    const { state, message } = after.record;
    if (after.changed && state !== "Unknown") event(pod, state, message);
    if (after.publish) this.#publish();
  }

  #publish(): void {
    if (this.#object) this.#dependencies.status.offer(probeStatus(this.#object, this.#records));
  }
}

function sameProbe(loop: WantedProbe, wanted: WantedProbe): boolean {
  return loop.ip === wanted.ip && jsonEqual(loop.probe, wanted.probe);
}
