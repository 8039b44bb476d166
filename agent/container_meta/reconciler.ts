/** Reports what runs in the pods of this node, and restarts containers whose environment is to change, as `planContainerMeta` decides. */
import type { Outcome, WorkQueue } from "../../kube/index.ts";
import {
  type AgentPod,
  environmentLack,
  isKubeletBehind,
  metaAnnotation,
  needsReport,
  PendingRestarts,
  planContainerMeta,
} from "../../node/index.ts";
import { type CriContainer, observeContainers } from "../containers/observe.ts";
import { stopTermsOf } from "../containers/restarter.ts";
import type { AgentContext } from "../context.ts";
import type { CriClient } from "../cri/client.ts";
import { agentPods } from "../pod_watch.ts";
import { type EnvHashes, envHashes } from "./container_env.ts";

/** Source of the events. */
export const component = "kruise-daemon-containermeta";

export const shortestRestartMs = 3_000;
export const longestRestartMs = 600_000;
const retryEnvMs = 3_000;

const noHashes: EnvHashes = { hashes: new Map(), missing: false };

export interface ContainerMetaDependencies extends Pick<AgentContext, "client" | "clock" | "restarter"> {
  readonly finder: Pick<AgentContext["finder"], "current">;
  readonly pods: Pick<AgentContext["pods"], "pod" | "writeBack">;
  /** Gate InPlaceUpdateEnvFromMetadata: environments are reported, and containers are restarted for them. */
  readonly withEnv: boolean;
  /** Ids of containers for `restart`. */
  readonly restarts: Pick<WorkQueue, "addAfter">;
}

export class ContainerMetaReconciler {
  readonly #deps: ContainerMetaDependencies;
  /** What the ids in the queue of restarts stand for. */
  readonly #pending = new PendingRestarts();

  constructor(dependencies: ContainerMetaDependencies) {
    this.#deps = dependencies;
  }

  /** One pass over the pod `namespace/name`. Throws KubeError, AgentError. */
  async report(podKey: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const { clock, finder, pods, restarts, withEnv } = this.#deps;
    const pod = await pods.pod(podKey, signal);
    if (!pod || !needsReport(pod, withEnv)) return undefined;
    const runtime = finder.current;
    if (!runtime) return undefined;
    const containers = await observeContainers(runtime.client, pod.uid, signal);
    const { hashes, missing } = withEnv ? await envHashes(runtime.client, pod, containers, signal) : noHashes;
    const plan = planContainerMeta({ pod, containers, envHashes: hashes }, withEnv);
    if (plan.annotation !== undefined) await this.#write(pod, plan.annotation, signal);
    for (const { name, containerId: id, wanted } of plan.restart) {
      restarts.addAfter(id, this.#pending.ask(id, { podKey, name, wanted }, clock.monotonic()));
    }
    return missing ? { requeueAfterMs: retryEnvMs } : undefined;
  }

  /** One pass over a container that a report asked to restart. Throws KubeError, AgentError. */
  async restart(containerId: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const { clock, finder, pods, withEnv } = this.#deps;
    const asked = this.#pending.get(containerId);
    const runtime = finder.current;
    const pod = asked && (await pods.pod(asked.podKey, signal));
    if (!asked || !pod) {
      this.#pending.delete(containerId);
      return undefined;
    }
    if (!runtime) return { requeueAfterMs: shortestRestartMs };
    const container = (await observeContainers(runtime.client, pod.uid, signal)).get(asked.name);
    // The pod may have changed since the report.
    const lack = container?.id === containerId ? environmentLack(pod, container, withEnv) : undefined;
    if (container && lack) {
      const leftMs = this.#pending.ask(containerId, { ...asked, wanted: lack.wanted }, clock.monotonic());
      if (leftMs > 0) return { requeueAfterMs: leftMs };
      // Its report is an event of the pod, and that comes here at once.
      if (isKubeletBehind(pod)) return { requeueAfterMs: shortestRestartMs };
      await this.#restartNow(runtime.client, pod, container, signal);
    }
    this.#pending.delete(containerId);
    return undefined;
  }

  async #write({ namespace, name, uid }: AgentPod, annotation: string, signal: AbortSignal): Promise<void> {
    const { client, pods } = this.#deps;
    const body = { metadata: { uid, annotations: { [metaAnnotation]: annotation } } };
    const options = { subresource: "status", priority: "normal", signal } as const;
    pods.writeBack(await client.patch(agentPods, { namespace, name }, { type: "strategic", body }, options));
  }

  #restartNow(client: CriClient, pod: AgentPod, container: CriContainer, signal: AbortSignal): Promise<void> {
    const message = `Stopping containerID ${runtimeOf(pod, container)}://${container.name} by container meta restarter`;
    const terms = { ...stopTermsOf(pod, container), component, reason: "meta", message } as const;
    return this.#deps.restarter.restart({ client, pod, container }, terms, signal);
  }
}

function runtimeOf(pod: AgentPod, container: CriContainer): string {
  const status = pod.containerStatuses.find((one) => one.name === container.name);
  return status?.containerID.split("://")[0] ?? "";
}
