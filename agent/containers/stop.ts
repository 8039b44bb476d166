/** Stops a container the kubelet's way: event, preStop hook within the grace, then StopContainer with what is left. */
import type { Clock, JsonObject } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { type CriClient, longestCallMs, stopDeadlineMs } from "../cri/client.ts";
import { messageOf } from "../errors.ts";
import { type HookPlace, runPreStop } from "./pre_stop.ts";

export interface StopOrder {
  readonly container: string;
  readonly containerId: string;
  readonly graceSeconds: number;
  /** `lifecycle.preStop` as JSON. */
  readonly preStop: JsonObject | undefined;
  readonly podIP: string;
  readonly ports: HookPlace["ports"];
  /** Text of the `Killing` event. */
  readonly message: string;
}

export interface StopDependencies {
  readonly client: CriClient;
  readonly clock: Clock;
  /** Events on the pod, about the container. */
  readonly event: (
    type: "Normal" | "Warning",
    reason: "Killing" | "FailedPreStopHook",
    message: string,
  ) => void;
}

/** Least seconds that a container gets between SIGTERM and SIGKILL (spec containers 1.4, rule 9). */
const leastStopSeconds = 2;

/** Resolves when the container has stopped; rejects with AgentError when the runtime could not stop it. */
export async function stopContainer(
  order: StopOrder,
  dependencies: StopDependencies,
  signal?: AbortSignal,
): Promise<void> {
  const { client, clock, event } = dependencies;
  const { containerId, preStop, podIP, ports } = order;
  // Runtimes count nanoseconds: seconds beyond 292 years become a negative time, and the container is killed at once.
  const graceSeconds = Math.min(order.graceSeconds, longestCallMs / 1000);
  event("Normal", "Killing", order.message);
  const began = clock.monotonic();
  if (preStop && graceSeconds > 0) {
    const limited = new AbortController();
    const timer = clock.after(graceSeconds * 1000, () =>
      limited.abort(new Error("the grace period is over")),
    );
    const both = signal ? AbortSignal.any([signal, limited.signal]) : limited.signal;
    try {
      await runPreStop(preStop, { client, clock, containerId, podIP, ports }, both);
    } catch (error) {
      signal?.throwIfAborted();
      event(
        "Warning",
        "FailedPreStopHook",
        `PreStopHook of container ${order.container} failed: ${messageOf(error)}`,
      );
    } finally {
      timer.cancel();
    }
  }
  const spent = (clock.monotonic() - began) / 1000;
  const timeout = Math.max(leastStopSeconds, Math.ceil(graceSeconds - spent));
  const request = { container_id: containerId, timeout };
  await client.call(methods.StopContainer, request, { timeoutMs: stopDeadlineMs(timeout), signal });
}
