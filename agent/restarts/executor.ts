/** Carries out ContainerRecreateRequests of this node: one at a time for each pod, what `planRestart` decides. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import {
  type Clock,
  isJsonObject,
  isKubeError,
  type JsonObject,
  jsonEqual,
  type Log,
  type Outcome,
} from "../../kube/index.ts";
import type { AgentPod } from "../../node/index.ts";
import {
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
import { observeContainers, type SeenContainer } from "../containers/observe.ts";
import type { Recreator } from "../containers/recreator.ts";
import { stopContainer } from "../containers/stop.ts";
import { isAgentError, messageOf } from "../errors.ts";
import type { Runtime } from "../runtime_socket/finder.ts";

export interface RestartDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly runtime: () => Runtime | undefined;
  readonly runtimeReason: () => string;
  /** The agent has just started and does not know yet whether there is a runtime. */
  readonly detecting: () => boolean;
  /** Unfinished requests for the pod `namespace/name` on this node. */
  readonly requests: (podKey: string) => Iterable<ContainerRecreateRequest>;
  readonly pod: (podKey: string, signal: AbortSignal) => Promise<AgentPod | undefined>;
  /** The pod as the API server has it now: what the agent's watch shows may be late. Throws KubeError. */
  readonly podNow: (podKey: string, signal: AbortSignal) => Promise<AgentPod | undefined>;
  /** The request as the API server has it now, undefined when it is gone. Throws KubeError. */
  readonly newest: (request: ContainerRecreateRequest) => Promise<ContainerRecreateRequest | undefined>;
  /** Writes status members on top of exactly this version; resolves with the object as it then is. Throws KubeError. */
  readonly writeStatus: (
    request: ContainerRecreateRequest,
    status: Partial<ContainerRecreateRequestStatus>,
  ) => Promise<ContainerRecreateRequest>;
  readonly event: (
    pod: { namespace: string; name: string; uid: string },
    container: string,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ) => void;
  readonly recreator: Recreator;
  /** What this node stopped, by request uid and container: survives a crash. */
  readonly stopped: StoppedContainers;
  readonly killed?: (result: "stopped" | "failed", started: "agent" | "kubelet", seconds: number) => void;
}

/** Request uid -> container -> id of the container that was stopped for it. */
export interface StoppedContainers {
  of(requestUid: string): ReadonlyMap<string, string>;
  add(requestUid: string, container: string, containerId: string): void;
  forget(requestUid: string): void;
  /** Forgets all requests but these. */
  keepOnly(requestUids: ReadonlySet<string>): void;
}

/** Longest wait for a sign that is expected as an event: a lost event must not hold a request for ever. */
const lookAgainMs = 5_000;

export interface RestartExecutor {
  /** One round for the pod `namespace/name`. */
  reconcile(podKey: string, signal: AbortSignal): Promise<Outcome | undefined>;
  /**
   * Tells requests that came while another one of the pod is carried out that they wait: a stop may take longer than
   * the controller waits for a sign of the agent.
   */
  acknowledge(podKey: string): Promise<void>;
}

export function createRestartExecutor(dependencies: RestartDependencies): RestartExecutor {
  return new RestartReconciler(dependencies);
}

class RestartReconciler implements RestartExecutor {
  readonly #deps: RestartDependencies;
  readonly #held = new HeldSince();

  constructor(dependencies: RestartDependencies) {
    this.#deps = dependencies;
  }

  async acknowledge(podKey: string): Promise<void> {
    const requests = [...this.#deps.requests(podKey)];
    const picked = pickRequest(requests);
    // Before that the order among them is not settled, and the round that settles it tells the others.
    if (picked?.status?.phase === "Recreating") await this.#putOff(requests, picked);
  }

  async reconcile(podKey: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const requests = [...this.#deps.requests(podKey)];
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
      await this.#deps.writeStatus(other, { phase: "Pending" }).catch((error: unknown) => {
        if (!isKubeError(error, "Conflict", "NotFound")) throw error;
      });
    }
  }

  /** When the round is repeated; throws what the queue's own back-off is for. */
  #afterError(podKey: string, error: unknown): Outcome | undefined {
    if (isKubeError(error, "NotFound")) return undefined;
    // The watch brings the newer version; this is in case that it was seen before.
    if (isKubeError(error, "Conflict")) return { wakeAfterMs: 100 };
    if (!isAgentError(error, "Unavailable", "Timeout")) throw error;
    const text = "the runtime does not answer, the request goes on when it does";
    this.#deps.log.warn(text, { pod: podKey, error: messageOf(error) });
    return { wakeAfterMs: 1000 };
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
    const runtime = this.#deps.runtime();
    let request = picked;
    if (!runtime) {
      if (this.#deps.detecting()) return { wakeAfterMs: 200 };
      if (request.status?.phase === "Recreating") return { wakeAfterMs: 1000 };
      return this.#end(request, [], `failed to find runtime service: ${this.#deps.runtimeReason()}`);
    }
    for (;;) {
      this.#signal.throwIfAborted();
      const pod = await this.#deps.pod(this.#podKey, this.#signal);
      if (!isMeant(pod, request)) return this.#withoutPod(request);
      const containers = await observeContainers(runtime.client, pod.uid, this.#signal);
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
        return { wakeAfterMs: 0 };
      }
      // Shown before the first stop, which may take as long as the grace period.
      request = await this.#write(request, plan.states);
      if (isOver(request)) return undefined;
      for (const name of plan.start) await this.#startAgain(runtime, pod, containers.get(name));
      if (plan.kill === undefined) {
        return { wakeAfterMs: Math.min(plan.wakeAfterMs ?? lookAgainMs, lookAgainMs) };
      }
      const states = await this.#kill(runtime, request, pod, containers.get(plan.kill), plan);
      request = await this.#write(request, states);
      if (isOver(request)) return undefined;
    }
  }

  /** The controller would end the request, too, but it does not watch the pods of other owners. */
  async #withoutPod(request: ContainerRecreateRequest): Promise<Outcome | undefined> {
    const pod = await this.#deps.podNow(this.#podKey, this.#signal);
    const states = request.status?.containerRecreateStates ?? [];
    if (!isMeant(pod, request)) return this.#end(request, states, "pod has gone");
    // The watch of this node's pods will never show it.
    if (pod.nodeName !== "" && pod.nodeName !== this.#deps.nodeName)
      return this.#end(request, states, `pod is not on this node but on ${pod.nodeName}`);
    return { wakeAfterMs: 200 };
  }

  async #end(
    request: ContainerRecreateRequest,
    states: RestartPlan["states"],
    message: string,
  ): Promise<Outcome> {
    await this.#complete(request, { states, completed: { message } });
    return { wakeAfterMs: 0 };
  }

  async #complete(
    request: ContainerRecreateRequest,
    plan: Pick<RestartPlan, "states" | "completed" | "snapshot">,
  ): Promise<void> {
    await this.#deps.writeStatus(request, restartStatus(plan, this.#deps.clock.now()));
    this.#deps.stopped.forget(request.metadata.uid ?? "");
    this.#deps.log.info("a recreate request is completed", {
      request: `${request.metadata.namespace}/${request.metadata.name}`,
      message: plan.completed?.message,
    });
  }

  /**
   * The controller writes other members of the status meanwhile. It may also have ended the request: what was done
   * is still told then, the phase stays.
   */
  async #write(
    request: ContainerRecreateRequest,
    states: RestartPlan["states"],
  ): Promise<ContainerRecreateRequest> {
    const { phase, containerRecreateStates = [] } = request.status ?? {};
    if (phase === "Recreating" && jsonEqual(states, containerRecreateStates)) return request;
    const told = { containerRecreateStates: [...states] };
    try {
      return await this.#deps.writeStatus(request, { phase: "Recreating", ...told });
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      const newest = await this.#deps.newest(request);
      if (newest === undefined || newest.metadata.uid !== request.metadata.uid) throw error;
      if (isOver(newest)) this.#deps.stopped.forget(request.metadata.uid ?? "");
      return this.#deps.writeStatus(newest, isOver(newest) ? told : { phase: "Recreating", ...told });
    }
  }

  /** Stops one container, and starts its next attempt where the agent may. Resolves with the states after it. */
  async #kill(
    runtime: Runtime,
    request: ContainerRecreateRequest,
    pod: AgentPod,
    container: SeenContainer | undefined,
    plan: RestartPlan,
  ): Promise<RestartPlan["states"]> {
    const { client } = runtime;
    const { clock, log, stopped, killed } = this.#deps;
    const at = plan.states.findIndex((state) => state.name === plan.kill);
    const now = (state: Partial<RestartPlan["states"][number]>): RestartPlan["states"] =>
      plan.states.map((one, index) => (index === at ? { name: one.name, phase: one.phase, ...state } : one));
    if (!container) return plan.states;
    const prepared = await this.#deps.recreator.prepare(client, pod, container, this.#signal);
    const began = clock.monotonic();
    stopped.add(request.metadata.uid ?? "", container.name, container.id);
    try {
      await stopContainer(stopOrder(request, pod, container), {
        client,
        clock,
        event: (type, reason, message) => this.#deps.event(pod, container.name, type, reason, message),
      });
    } catch (error) {
      if (prepared) await this.#deps.recreator.cancel(prepared);
      // A runtime that is restarted does not fail the request: the next round sees how far this stop came.
      if (isAgentError(error, "Unavailable")) throw error;
      killed?.("failed", "kubelet", (clock.monotonic() - began) / 1000);
      return now({ phase: "Failed", message: `kill container error: ${messageOf(error)}` });
    }
    const started = prepared ? await this.#deps.recreator.start(prepared) : "kubelet";
    const seconds = (clock.monotonic() - began) / 1000;
    killed?.("stopped", started, seconds);
    log.info("a container was stopped", {
      pod: this.#podKey,
      container: container.name,
      startedBy: started,
      seconds,
    });
    return now({ phase: "Recreating", isKilled: true });
  }

  /** After a crash of the agent between stop and start. */
  async #startAgain(runtime: Runtime, pod: AgentPod, container: SeenContainer | undefined): Promise<void> {
    const { recreator } = this.#deps;
    const prepared = container && (await recreator.prepare(runtime.client, pod, container, this.#signal));
    if (prepared) await recreator.start(prepared);
  }
}

function isMeant(pod: AgentPod | undefined, { metadata }: ContainerRecreateRequest): pod is AgentPod {
  return pod !== undefined && !pod.deleting && pod.uid === metadata.labels?.[requestLabels.podUid];
}

function stopOrder(request: ContainerRecreateRequest, pod: AgentPod, container: SeenContainer) {
  const asked = request.spec.containers.find((one) => one.name === container.name);
  const ofPod = pod.containers.find((one) => one.name === container.name);
  return {
    container: container.name,
    containerId: container.id,
    ...stopTerms(request, container.name),
    preStop: preStopOf(asked?.preStop, ofPod?.preStop),
    podIP: pod.podIP,
    ports: asked?.ports ?? ofPod?.ports ?? [],
  };
}

/** The request's copy cannot hold every kind of hook: an empty copy stands for the pod's own. */
function preStopOf(asked: object | undefined, ofPod: JsonObject | undefined): JsonObject | undefined {
  if (asked === undefined) return undefined;
  return isJsonObject(asked) && Object.keys(asked).length > 0 ? asked : ofPod;
}

/** `save` is told the whole content after each change. */
export function createStoppedContainers(
  saved: unknown,
  save: (content: Readonly<Record<string, Readonly<Record<string, string>>>>) => void,
): StoppedContainers {
  const all = new Map<string, Map<string, string>>();
  for (const [uid, containers] of Object.entries(isJsonObject(saved) ? saved : {})) {
    if (!isJsonObject(containers)) continue;
    const ids = Object.entries(containers).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    );
    all.set(uid, new Map(ids));
  }
  const changed = (): void =>
    save(Object.fromEntries([...all].map(([uid, ids]) => [uid, Object.fromEntries(ids)])));
  return {
    of: (uid) => all.get(uid) ?? new Map(),
    add(uid, container, containerId) {
      const ids = all.get(uid) ?? new Map<string, string>();
      all.set(uid, ids.set(container, containerId));
      changed();
    },
    forget(uid) {
      if (all.delete(uid)) changed();
    },
    keepOnly(uids) {
      const gone = [...all.keys()].filter((uid) => !uids.has(uid));
      for (const uid of gone) all.delete(uid);
      if (gone.length > 0) changed();
    },
  };
}
