/** Carries out ContainerRecreateRequests of this node: one at a time for each pod, what `planRestart` decides. */
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { isJsonObject, isKubeError, type JsonObject, jsonEqual, type Outcome } from "../../kube/index.ts";
import {
  type AgentPod,
  HeldSince,
  isOver,
  pickRequest,
  planRestart,
  type RestartPlan,
  requestLabels,
  restartStatus,
  stopTerms,
  unacknowledged,
  unreadablePart,
} from "../../node/index.ts";
import { type CriContainer, observeContainers } from "../containers/observe.ts";
import type { RestartTerms } from "../containers/restarter.ts";
import type { AgentContext } from "../context.ts";
import { isAgentError, messageOf } from "../errors.ts";
import type { Runtime } from "../runtime_socket/finder.ts";
import type { RecreateRequests } from "./requests.ts";
import type { StoppedContainers } from "./stopped_containers.ts";

export interface RestartDependencies extends Pick<AgentContext, "clock" | "log" | "restarter"> {
  readonly finder: Pick<AgentContext["finder"], "current" | "reason" | "searched">;
  readonly pods: Pick<AgentContext["pods"], "pod" | "podNow">;
  readonly settings: Pick<AgentContext["settings"], "nodeName">;
  readonly requests: Pick<RecreateRequests, "ofPod" | "newest" | "writeStatus">;
  readonly stopped: StoppedContainers;
}

/** Source of the events. */
export const component = "kruise-daemon-crr";

/** Longest wait for a sign that is expected as an event: a lost event must not hold a request for ever. */
const lookAgainMs = 5_000;

export class RestartReconciler {
  readonly #deps: RestartDependencies;
  readonly #held = new HeldSince();

  constructor(dependencies: RestartDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Acknowledges requests that came while another one of the pod is carried out: a stop may take longer than the
   * controller waits for a sign of the agent.
   */
  async acknowledge(podKey: string): Promise<undefined> {
    const requests = this.#deps.requests.ofPod(podKey);
    const picked = pickRequest(requests);
    // Before that the order among them is not settled, and the round that settles it acknowledges the others.
    if (picked?.status?.phase === "Recreating") await this.#putOff(requests, picked);
    return undefined;
  }

  /** One round for the pod `namespace/name`. */
  async reconcile(podKey: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const requests = this.#deps.requests.ofPod(podKey);
    const picked = pickRequest(requests);
    await this.#putOff(requests, picked);
    if (!picked) {
      this.#held.forget(podKey);
      return undefined;
    }
    try {
      return await new Round(this.#deps, podKey, signal, this.#held).run(picked);
    } catch (error) {
      return this.#afterError(podKey, error);
    }
  }

  async #putOff(
    requests: readonly ContainerRecreateRequest[],
    picked: ContainerRecreateRequest | undefined,
  ): Promise<void> {
    for (const other of unacknowledged(requests, picked)) {
      await this.#deps.requests.writeStatus(other, { phase: "Pending" }).catch((error: unknown) => {
        if (!isKubeError(error, "Conflict", "NotFound")) throw error;
      });
    }
  }

  /** When the round is repeated; throws what the queue's own back-off is for. */
  #afterError(podKey: string, error: unknown): Outcome | undefined {
    if (isKubeError(error, "NotFound")) return undefined;
    // The watch brings the newer version; this is in case that it was seen before.
    if (isKubeError(error, "Conflict")) return { requeueAfterMs: 100 };
    // Whatever a runtime answers: it is no mistake of this process.
    if (!isAgentError(error)) throw error;
    const text = "the runtime gives no answer that is of use, the request goes on when it does";
    this.#deps.log.warn(text, { pod: podKey, error: messageOf(error) });
    return { requeueAfterMs: 1000 };
  }
}

class Round {
  readonly #deps: RestartDependencies;
  readonly #podKey: string;
  readonly #signal: AbortSignal;
  readonly #held: HeldSince;

  constructor(dependencies: RestartDependencies, podKey: string, signal: AbortSignal, held: HeldSince) {
    this.#deps = dependencies;
    this.#podKey = podKey;
    this.#signal = signal;
    this.#held = held;
  }

  async run(picked: ContainerRecreateRequest): Promise<Outcome | undefined> {
    const unreadable = unreadablePart(picked);
    if (unreadable !== undefined)
      return this.#end(picked, [], `the request cannot be carried out: ${unreadable}`);
    const { finder, restarter } = this.#deps;
    const runtime = finder.current;
    let request = picked;
    if (!runtime) {
      // The agent has just started and does not know yet whether there is one.
      if (!finder.searched) return { requeueAfterMs: 200 };
      if (request.status?.phase === "Recreating") return { requeueAfterMs: 1000 };
      return this.#end(request, [], `failed to find runtime service: ${finder.reason}`);
    }
    const { client } = runtime;
    for (;;) {
      this.#signal.throwIfAborted();
      const pod = await this.#deps.pods.pod(this.#podKey, this.#signal);
      if (!isMeant(pod, request)) return this.#withoutPod(request);
      const containers = await observeContainers(client, pod.uid, this.#signal);
      const now = this.#deps.clock.now();
      const plan = planRestart(
        {
          request,
          containers,
          podStatuses: pod.containerStatuses,
          restartPolicy: pod.restartPolicy,
          runtimeName: runtime.name,
          heldSince: this.#held.of(this.#podKey, request, now),
          stoppedHere: this.#deps.stopped.of(request.metadata.uid ?? ""),
        },
        now,
      );
      if (plan.completed) {
        await this.#complete(request, plan);
        return { requeueAfterMs: 0 };
      }
      // Shown before the first stop, which may take as long as the grace period.
      request = await this.#write(request, plan.states);
      if (this.#isEnded(request)) return undefined;
      for (const name of plan.start) {
        // After a crash of the agent between stop and start.
        const container = containers.get(name);
        if (container) await restarter.startAgain({ client, pod, container }, this.#signal);
      }
      if (plan.kill === undefined) {
        return { requeueAfterMs: Math.min(plan.requeueAfterMs ?? lookAgainMs, lookAgainMs) };
      }
      const states = await this.#kill(runtime, request, pod, containers.get(plan.kill), plan);
      request = await this.#write(request, states);
      if (this.#isEnded(request)) return undefined;
    }
  }

  /** By the controller, or because somebody deletes it, as a write or the watch has told: nothing more is stopped for it. */
  #isEnded(request: ContainerRecreateRequest): boolean {
    const { uid, deletionTimestamp } = request.metadata;
    if (isOver(request) || deletionTimestamp !== undefined) return true;
    const known = this.#deps.requests.ofPod(this.#podKey).find((one) => one.metadata.uid === uid);
    return known === undefined || isOver(known);
  }

  /** The controller would end the request, too, but it does not watch the pods of other owners. */
  async #withoutPod(request: ContainerRecreateRequest): Promise<Outcome | undefined> {
    // What the agent's watch shows may be late.
    const pod = await this.#deps.pods.podNow(this.#podKey, this.#signal);
    const states = request.status?.containerRecreateStates ?? [];
    if (!isMeant(pod, request)) return this.#end(request, states, "pod has gone");
    // The watch of this node's pods will never show it.
    if (pod.nodeName !== "" && pod.nodeName !== this.#deps.settings.nodeName)
      return this.#end(request, states, `pod is not on this node but on ${pod.nodeName}`);
    return { requeueAfterMs: 200 };
  }

  async #end(
    request: ContainerRecreateRequest,
    states: RestartPlan["states"],
    message: string,
  ): Promise<Outcome> {
    await this.#complete(request, { states, completed: { message } });
    return { requeueAfterMs: 0 };
  }

  async #complete(
    request: ContainerRecreateRequest,
    plan: Pick<RestartPlan, "states" | "completed" | "snapshot">,
  ): Promise<void> {
    await this.#deps.requests.writeStatus(request, restartStatus(plan, this.#deps.clock.now()));
    this.#deps.stopped.forget(request.metadata.uid ?? "");
    this.#deps.log.info("a recreate request is completed", {
      request: `${request.metadata.namespace}/${request.metadata.name}`,
      message: plan.completed?.message,
    });
  }

  /**
   * The controller writes other members of the status meanwhile. It may also have ended the request: what was done
   * is still reported then, the phase stays.
   */
  async #write(
    request: ContainerRecreateRequest,
    states: RestartPlan["states"],
  ): Promise<ContainerRecreateRequest> {
    const { phase, containerRecreateStates = [] } = request.status ?? {};
    if (phase === "Recreating" && jsonEqual(states, containerRecreateStates)) return request;
    const done = { containerRecreateStates: [...states] };
    try {
      return await this.#deps.requests.writeStatus(request, { phase: "Recreating", ...done });
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      const newest = await this.#deps.requests.newest(request);
      if (newest === undefined || newest.metadata.uid !== request.metadata.uid) throw error;
      if (isOver(newest)) this.#deps.stopped.forget(request.metadata.uid ?? "");
      return this.#deps.requests.writeStatus(
        newest,
        isOver(newest) ? done : { phase: "Recreating", ...done },
      );
    }
  }

  /** Stops one container, and starts its next attempt where the agent may. Resolves with the states after it. */
  async #kill(
    runtime: Runtime,
    request: ContainerRecreateRequest,
    pod: AgentPod,
    container: CriContainer | undefined,
    plan: RestartPlan,
  ): Promise<RestartPlan["states"]> {
    if (!container) return plan.states;
    const { restarter, stopped } = this.#deps;
    const after = (state: Partial<RestartPlan["states"][number]>): RestartPlan["states"] =>
      plan.states.map((one) =>
        one.name === plan.kill ? { name: one.name, phase: one.phase, ...state } : one,
      );
    await stopped.add(request.metadata.uid ?? "", container.name, container.id);
    try {
      const place = { client: runtime.client, pod, container };
      await restarter.restart(place, restartTerms(request, pod, container.name), this.#signal);
      return after({ phase: "Recreating", isKilled: true });
    } catch (error) {
      this.#signal.throwIfAborted();
      // A runtime that is restarted, or lost, does not fail the request: the next round sees how far this stop came.
      if (isAgentError(error, "Unavailable", "Aborted")) throw error;
      return after({ phase: "Failed", message: `kill container error: ${messageOf(error)}` });
    }
  }
}

function isMeant(pod: AgentPod | undefined, { metadata }: ContainerRecreateRequest): pod is AgentPod {
  return pod !== undefined && !pod.deleting && pod.uid === metadata.labels?.[requestLabels.podUid];
}

function restartTerms(request: ContainerRecreateRequest, pod: AgentPod, name: string): RestartTerms {
  const asked = request.spec.containers.find((one) => one.name === name);
  const ofPod = pod.containers.find((one) => one.name === name);
  return {
    component,
    reason: "crr",
    ...stopTerms(request, name),
    preStop: preStopOf(asked?.preStop, ofPod?.preStop),
    ports: asked?.ports ?? ofPod?.ports ?? [],
  };
}

/** The request's copy cannot hold every kind of hook: an empty copy stands for the pod's own. */
function preStopOf(asked: object | undefined, ofPod: JsonObject | undefined): JsonObject | undefined {
  if (asked === undefined) return undefined;
  return isJsonObject(asked) && Object.keys(asked).length > 0 ? asked : ofPod;
}
