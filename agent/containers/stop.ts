/** Stops a container the kubelet's way: preStop hook within the grace, then StopContainer with what is left. */
import type { Clock, JsonObject } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { type CriClient, longestCallMs, stopDeadlineMs } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import { type HookPlace, runPreStop } from "./pre_stop.ts";

export interface StopTerms {
  readonly graceSeconds: number;
  /** `lifecycle.preStop` as JSON. */
  readonly preStop: JsonObject | undefined;
  readonly ports: HookPlace["ports"];
}

export interface StopDependencies {
  readonly client: CriClient;
  readonly clock: Clock;
  readonly podIP: string;
  readonly hookFailed: (message: string) => void;
}

/** Least seconds that a container gets between SIGTERM and SIGKILL (spec containers 1.4, rule 9). */
const leastStopSeconds = 2;

/** Resolves when the container has stopped; rejects with AgentError when the runtime could not stop it. */
export async function stopContainer(
  { id, name }: { readonly id: string; readonly name: string },
  terms: StopTerms,
  { client, clock, podIP, hookFailed }: StopDependencies,
): Promise<void> {
  const { preStop, ports } = terms;
  // Runtimes count nanoseconds: seconds beyond 292 years become a negative time, and the container is killed at once.
  const graceSeconds = Math.min(terms.graceSeconds, longestCallMs / 1000);
  const began = clock.monotonic();
  if (preStop && graceSeconds > 0) {
    const limited = new AbortController();
    const timer = clock.after(graceSeconds * 1000, () =>
      limited.abort(new Error("the grace period is over")),
    );
    try {
      await runPreStop(preStop, { client, clock, containerId: id, podIP, ports }, limited.signal);
    } catch (error) {
      hookFailed(`PreStopHook of container ${name} failed: ${messageOf(error)}`);
    } finally {
      timer.cancel();
    }
  }
  const spent = (clock.monotonic() - began) / 1000;
  const timeout = Math.max(leastStopSeconds, Math.ceil(graceSeconds - spent));
  await client.call(
    methods.StopContainer,
    { container_id: id, timeout },
    { timeoutMs: stopDeadlineMs(timeout) },
  );
}
