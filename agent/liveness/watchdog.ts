/** Runs moved liveness probes, one task for each: after its failures in a row the container is restarted. */
import { type EventRecorder, jsonEqual, keyOf } from "../../kube/index.ts";
import {
  type AgentPod,
  afterProbe,
  isLivenessDue,
  type LivenessProbe,
  livenessProbesOf,
  type ProbeRecord,
  thresholdsOf,
} from "../../node/index.ts";
import { containerTarget, stopTermsOf } from "../containers/restarter.ts";
import type { AgentContext } from "../context.ts";
import { isAgentError } from "../errors.ts";
import { type ProbeRunner, type RunningPlace, repeat } from "../probes/runner.ts";
import { Tasks } from "../tasks.ts";

export interface WatchdogDependencies extends Pick<AgentContext, "clock" | "log"> {
  readonly metrics: Pick<AgentContext["metrics"], "unexpectedError">;
  readonly probes: Pick<ProbeRunner, "find" | "run">;
  readonly recorder: EventRecorder;
  readonly restarter: Pick<AgentContext["restarter"], "restart">;
}

/** Source of the events. */
export const component = "kruise-daemon-liveness";

interface Watched {
  readonly pod: AgentPod;
  readonly probes: readonly LivenessProbe[];
}

export class Watchdog {
  readonly #dependencies: WatchdogDependencies;
  readonly #tasks: Tasks;
  /** By UID of the pod. */
  readonly #watched = new Map<string, Watched>();
  /** Restarts of this node, one after another: what fails everywhere at once is not stopped everywhere at once. */
  #turn: Promise<void> = Promise.resolve();

  constructor(dependencies: WatchdogDependencies) {
    this.#dependencies = dependencies;
    this.#tasks = new Tasks({ ...dependencies, kind: "probe" });
  }

  update(pod: AgentPod): void {
    this.#watch(pod, livenessProbesOf(pod));
  }

  remove(pod: AgentPod): void {
    this.#watch(pod, []);
  }

  async stop(): Promise<void> {
    this.#watched.clear();
    await this.#tasks.stopAll();
  }

  #watch(pod: AgentPod, probes: readonly LivenessProbe[]): void {
    const before = this.#watched.get(pod.uid)?.probes ?? [];
    if (probes.length > 0) this.#watched.set(pod.uid, { pod, probes });
    else this.#watched.delete(pod.uid);
    for (const last of before) if (!includes(probes, last)) this.#tasks.stop(taskKey(pod, last));
    for (const probe of probes) {
      if (includes(before, probe)) continue;
      this.#tasks.start(taskKey(pod, probe), (signal) => this.#probe(pod.uid, probe, signal));
    }
  }

  async #probe(podUid: string, probe: LivenessProbe, signal: AbortSignal): Promise<void> {
    let record: ProbeRecord | undefined;
    await repeat(this.#dependencies.clock, probe.probe.periodSeconds * 1000, signal, async () => {
      const pod = this.#watched.get(podUid)?.pod;
      if (pod) record = await this.#once(pod, probe, record, signal);
    });
  }

  /** The results in a row of the container that runs now; those before when this run said nothing. */
  async #once(
    pod: AgentPod,
    liveness: LivenessProbe,
    before: ProbeRecord | undefined,
    signal: AbortSignal,
  ): Promise<ProbeRecord | undefined> {
    const { clock, log, probes, recorder } = this.#dependencies;
    const { container: name, probe } = liveness;
    try {
      const place = await probes.find(pod.uid, name, signal);
      if (!place || !isLivenessDue(pod, liveness, place.container, clock.now())) return undefined;
      const outcome = await probes.run(probe, place, pod.podIP, signal);
      signal.throwIfAborted();
      if (outcome === undefined) return before;
      if (outcome.state === "Failed") {
        const message = `Liveness probe failed: ${outcome.message}`;
        recorder.event(containerTarget(pod, name), "Warning", "Unhealthy", message);
      }
      const { id } = place.container;
      const { record } = afterProbe(before, id, outcome, thresholdsOf(probe), clock.now());
      if (record.state !== "Failed") return record;
      await this.#inTurn(() => this.#restart(pod.uid, liveness, place, signal));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!isAgentError(error)) throw error;
      const text = "a liveness probe could not be carried out";
      log.warn(text, { pod: keyOf(pod), container: name, error: error.message });
      return before;
    }
  }

  async #restart(
    podUid: string,
    { graceSeconds }: LivenessProbe,
    { client, container }: RunningPlace,
    signal: AbortSignal,
  ): Promise<void> {
    // What stood in the line may no longer be wanted: a stop cannot be taken back.
    signal.throwIfAborted();
    const pod = this.#watched.get(podUid)?.pod;
    if (!pod) return;
    const message = `Container ${container.name} failed liveness probe, will be restarted`;
    const ofPod = stopTermsOf(pod, container);
    const grace = { graceSeconds: graceSeconds ?? ofPod.graceSeconds };
    const terms = { ...ofPod, ...grace, component, reason: "liveness", message } as const;
    await this.#dependencies.restarter.restart({ client, pod, container }, terms, signal);
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    await mine;
  }
}

function taskKey({ uid }: AgentPod, { container }: LivenessProbe): string {
  return JSON.stringify([uid, container]);
}

function includes(probes: readonly LivenessProbe[], probe: LivenessProbe): boolean {
  return probes.some((one) => jsonEqual(one, probe));
}
