/** Runs the probes of the node's NodePodProbe, one task for each, and offers their results as its status. */
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { type EventRecorder, jsonEqual } from "../../kube/index.ts";
import {
  afterProbe,
  ofFormerHandler,
  outcomeBeforeRun,
  type ProbeOutcome,
  type ProbeRecord,
  periodMs,
  probeReason,
  probeStatus,
  sameHandler,
  thresholdsOf,
  type WantedProbe,
  wantedProbes,
} from "../../node/index.ts";
import type { AgentContext } from "../context.ts";
import { isAgentError } from "../errors.ts";
import type { StatusWriter } from "../status_writer.ts";
import { Tasks } from "../tasks.ts";
import { type ProbeRunner, type RunningPlace, repeat } from "./runner.ts";

export interface ProberDependencies extends Pick<AgentContext, "clock" | "log" | "random"> {
  readonly agentMetrics: Pick<AgentContext["agentMetrics"], "probed">;
  readonly metrics: Pick<AgentContext["metrics"], "unexpectedError">;
  readonly pods: Pick<AgentContext["pods"], "byUid">;
  readonly probes: Pick<ProbeRunner, "find" | "run">;
  readonly recorder: EventRecorder;
  readonly status: StatusWriter<NodePodProbeStatus>;
}

export class Prober {
  readonly #dependencies: ProberDependencies;
  readonly #tasks: Tasks;
  #wanted: ReadonlyMap<string, WantedProbe> = new Map();
  readonly #records = new Map<string, ProbeRecord>();
  #object: NodePodProbe | undefined;
  #firstUpdate = true;

  constructor(dependencies: ProberDependencies) {
    this.#dependencies = dependencies;
    this.#tasks = new Tasks({ ...dependencies, kind: "probe" });
  }

  /** The node's NodePodProbe as the server has it; undefined when there is none. */
  update(nodePodProbe: NodePodProbe | undefined): void {
    this.#object = nodePodProbe;
    this.#dependencies.status.observed(nodePodProbe?.status);
    const before = this.#wanted;
    this.#wanted = wantedProbes(nodePodProbe);
    for (const key of before.keys()) {
      if (this.#wanted.has(key)) continue;
      this.#tasks.stop(key);
      this.#records.delete(key);
    }
    for (const [key, next] of this.#wanted) {
      const last = before.get(key);
      if (last && sameProbe(last, next)) continue;
      const record = this.#records.get(key);
      if (last && record && !sameHandler(last.probe, next.probe))
        this.#records.set(key, ofFormerHandler(record));
      const spread = this.#firstUpdate;
      this.#tasks.start(key, (signal) => this.#probe(key, next, spread, signal));
    }
    this.#firstUpdate = false;
    this.#publish();
  }

  async stop(): Promise<void> {
    await this.#tasks.stopAll();
    await this.#dependencies.status.stop();
  }

  async #probe(key: string, wanted: WantedProbe, spread: boolean, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#dependencies;
    const period = periodMs(wanted.probe);
    // Right after the start all probes begin at once: they are spread over their period.
    if (spread) await clock.sleep(random() * period, signal);
    await repeat(clock, period, signal, () => this.#once(key, wanted, signal));
  }

  async #once(key: string, wanted: WantedProbe, signal: AbortSignal): Promise<void> {
    const place = await this.#find(wanted, signal);
    if (!place) return;
    const outcome = await this.#outcomeOf(place, wanted, signal);
    signal.throwIfAborted();
    if (outcome) this.#record(key, wanted, place.container.id, outcome);
  }

  async #find(
    { pod, name, containerName }: WantedProbe,
    signal: AbortSignal,
  ): Promise<RunningPlace | undefined> {
    const { log, probes } = this.#dependencies;
    try {
      return await probes.find(pod.uid, containerName, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isAgentError(error)) throw error;
      log.debug("a probe could not look at its container", { probe: name, error: error.message });
      return undefined;
    }
  }

  /** Undefined: nothing is known of the container, or its initial delay is not over. */
  async #outcomeOf(
    place: RunningPlace,
    wanted: WantedProbe,
    signal: AbortSignal,
  ): Promise<ProbeOutcome | undefined> {
    const { clock, pods, probes } = this.#dependencies;
    const known = outcomeBeforeRun(place.container, wanted, clock.now());
    if (known !== "run") return known;
    // The pod's address may have changed since the probe was written.
    const podIP = pods.byUid(wanted.pod.uid)?.podIP || wanted.ip;
    return probes.run(wanted.probe, place, podIP, signal);
  }

  #record(key: string, { pod, probe }: WantedProbe, containerId: string, outcome: ProbeOutcome): void {
    const { agentMetrics, clock, recorder } = this.#dependencies;
    agentMetrics.probed(outcome.state);
    const before = this.#records.get(key);
    const after = afterProbe(before, containerId, outcome, thresholdsOf(probe), clock.now());
    this.#records.set(key, after.record);
    const { state, message } = after.record;
    if (after.changed && state !== "Unknown")
      recorder.event({ apiVersion: "v1", kind: "Pod", ...pod }, "Normal", probeReason(state), message);
    if (after.publish) this.#publish();
  }

  #publish(): void {
    if (this.#object) this.#dependencies.status.offer(probeStatus(this.#object, this.#records));
  }
}

function sameProbe(a: WantedProbe, b: WantedProbe): boolean {
  return a.ip === b.ip && jsonEqual(a.probe, b.probe);
}
