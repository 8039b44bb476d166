/** What probes of every kind need of the runtime: their container, and one run in it. */
import type { Clock } from "../../kube/index.ts";
import type { Probe, ProbeOutcome } from "../../node/index.ts";
import { type CriContainer, observeContainers } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import type { RuntimeFinder } from "../runtime_socket/finder.ts";
import type { ExecProbes } from "./exec_probes.ts";
import { runProbe } from "./run.ts";

export interface RunningPlace {
  readonly client: CriClient;
  readonly container: CriContainer;
}

export class ProbeRunner {
  readonly #finder: Pick<RuntimeFinder, "current">;
  readonly #execs: ExecProbes;

  /** `execs`: of all probes together, they share the memory. */
  constructor(finder: Pick<RuntimeFinder, "current">, execs: ExecProbes) {
    this.#finder = finder;
    this.#execs = execs;
  }

  /** Undefined without a runtime or without the container. Throws AgentError. */
  async find(podUid: string, container: string, signal: AbortSignal): Promise<RunningPlace | undefined> {
    const client = this.#finder.current?.client;
    const found = client && (await observeContainers(client, podUid, signal)).get(container);
    return found && { client, container: found };
  }

  /** Undefined when the run says nothing about the container. */
  run(
    probe: Probe,
    { client, container }: RunningPlace,
    podIP: string,
    signal: AbortSignal,
  ): Promise<ProbeOutcome | undefined> {
    return runProbe(probe, { client, containerId: container.id, podIP, execs: this.#execs }, signal);
  }
}

/** Runs again each period, counted from the beginning of a run, until the signal aborts. */
export async function repeat(
  clock: Clock,
  periodMs: number,
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<never> {
  for (;;) {
    signal.throwIfAborted();
    const began = clock.monotonic();
    await run();
    await clock.sleep(Math.max(0, periodMs - (clock.monotonic() - began)), signal);
  }
}
