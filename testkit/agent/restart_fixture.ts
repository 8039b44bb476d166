/** For tests of the restart reconciler: a pod on a runtime in this process, and one request for it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { ContainerRestarter } from "../../agent/containers/restarter.ts";
import { createCriClient } from "../../agent/cri/client.ts";
import type { RestartDependencies } from "../../agent/restarts/reconciler.ts";
import { StoppedContainers } from "../../agent/restarts/stopped_containers.ts";
import type { Runtime } from "../../agent/runtime_socket/finder.ts";
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import { type EventTarget, KubeError, nullLog, plainHash, systemClock } from "../../kube/index.ts";
import { type AgentPod, agentPod } from "../../node/index.ts";
import { type ContainerConfig, ContainerState, type Input, methods } from "../../proto/cri/index.ts";
import { type FakeCri, startFakeCri } from "../cri/fake_cri.ts";

export const uid = "pod-uid-1";
export const signal = new AbortController().signal;

/** A container as the kubelet makes it. */
export function kubeletConfig(name: string, attempt: number): Input<ContainerConfig> {
  return {
    metadata: { name, attempt },
    image: { image: "sha256:11" },
    envs: [{ key: "KUBERNETES_PORT", value: Buffer.from("tcp://10.96.0.1:443") }],
    labels: {
      "io.kubernetes.container.name": name,
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "default",
      "io.kubernetes.pod.uid": uid,
    },
    annotations: {
      "io.kubernetes.container.hash": plainHash(name, "nginx:1").toString(16),
      "io.kubernetes.container.restartCount": String(attempt),
    },
    log_path: `${name}/${attempt}.log`,
    linux: { resources: { memory_limit_in_bytes: 64 << 20 } },
  };
}

export interface Scene {
  readonly fake: FakeCri;
  readonly runtime: Runtime;
  readonly events: string[];
  deps: RestartDependencies;
  request: ContainerRecreateRequest;
  podJson: Record<string, unknown>;
  sandbox: string;
  /** The pod as the kubelet would report it: newest running instances are ready. */
  pod(): AgentPod;
}

/** With the pod's present state as the watch: placeholders are released as soon as the new container runs. */
export function restarter(
  startedBy: "agent" | "kubelet",
  pod: () => AgentPod,
  events: string[] = [],
): ContainerRestarter {
  const event = (target: EventTarget, ...said: readonly string[]) =>
    events.push(`${/\{(.*)\}/.exec(target.fieldPath ?? "")?.[1]} ${said.join(" ")}`);
  return new ContainerRestarter({
    clock: systemClock,
    log: nullLog,
    events: { from: () => ({ event }) },
    agentMetrics: { killed: () => undefined },
    startedBy,
    pods: { subscribe: () => () => undefined, byUid: pod },
    kubeletVersion: async () => "v1.34.4",
  });
}

export async function scene(
  t: Test,
  containers: readonly string[],
  more: Partial<RestartDependencies> = {},
): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), "refit-restart-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const socket = join(folder, "c.sock");
  const fake = await startFakeCri({ socket, clock: systemClock });
  t.teardown(() => fake.stop());
  const client = createCriClient(socket, { clock: systemClock });
  t.teardown(() => client.close());
  fake.runtime.addImage("nginx:1", "sha256:11");
  const { pod_sandbox_id: sandbox } = await client.call(methods.RunPodSandbox, {
    config: { metadata: { name: "web", uid, namespace: "default" }, log_directory: "/logs" },
  });
  const ids = new Map<string, string>();
  for (const name of containers) {
    const made = await client.call(methods.CreateContainer, {
      pod_sandbox_id: sandbox,
      config: kubeletConfig(name, 0),
    });
    await client.call(methods.StartContainer, made);
    ids.set(name, made.container_id);
  }
  const events: string[] = [];
  const s: Scene = {
    fake,
    runtime: { client, name: "containerd", version: "1", socket },
    events,
    sandbox,
    request: {
      metadata: {
        name: "one",
        namespace: "default",
        uid: "crr-1",
        resourceVersion: "1",
        labels: { "crr.apps.kruise.io/pod-uid": uid },
      },
      spec: {
        podName: "web",
        containers: containers.map((name) => ({
          name,
          statusContext: { containerID: `containerd://${ids.get(name)}`, restartCount: 0 },
        })),
        strategy: { terminationGracePeriodSeconds: 5 },
      },
    },
    podJson: {
      metadata: { name: "web", namespace: "default", uid },
      spec: {
        containers: containers.map((name) => ({ name, image: "nginx:1", imagePullPolicy: "IfNotPresent" })),
      },
    },
    pod() {
      const newest = new Map<string, { id: string; attempt: number; running: boolean }>();
      for (const one of fake.runtime.containers.values()) {
        const { name = "", attempt = 0 } = one.config.metadata ?? {};
        if (!one.config.labels["io.kubernetes.pod.uid"]) continue;
        if ((newest.get(name)?.attempt ?? -1) < attempt) {
          newest.set(name, { id: one.id, attempt, running: one.state === ContainerState.CONTAINER_RUNNING });
        }
      }
      const statuses = [...newest].map(([name, { id, attempt, running }]) => ({
        name,
        containerID: `containerd://${id}`,
        restartCount: attempt,
        ready: running,
        state: running ? { running: {} } : {},
      }));
      return agentPod({ ...s.podJson, status: { podIP: "127.0.0.1", containerStatuses: statuses } });
    },
    deps: {
      clock: systemClock,
      log: nullLog,
      finder: { current: { client, name: "containerd", version: "1", socket }, reason: "", searched: true },
      settings: { nodeName: "node-1" },
      pods: { pod: async () => s.pod(), podNow: async () => s.pod() },
      requests: {
        ofPod: () => (s.request.status?.phase === "Completed" ? [] : [s.request]),
        newest: async () => s.request,
        async writeStatus(request, status) {
          if (request.metadata.resourceVersion !== s.request.metadata.resourceVersion) {
            throw new KubeError("Conflict", "changed");
          }
          s.request = withStatus(s.request, status);
          return s.request;
        },
      },
      restarter: restarter("agent", () => s.pod(), events),
      stopped: new StoppedContainers(undefined, async () => undefined),
      ...more,
    },
  };
  return s;
}

export function withStatus(
  request: ContainerRecreateRequest,
  status: Partial<ContainerRecreateRequestStatus>,
): ContainerRecreateRequest {
  const version = String(Number(request.metadata.resourceVersion) + 1);
  return {
    ...request,
    metadata: { ...request.metadata, resourceVersion: version },
    status: { phase: "Pending", ...request.status, ...status },
  };
}

export const instances = (s: Scene, name: string) =>
  [...s.fake.runtime.containers.values()]
    .filter((one) => one.config.metadata?.name === name && one.config.labels["io.kubernetes.pod.uid"])
    .map((one) => [one.config.metadata?.attempt, one.state]);
export const { CONTAINER_RUNNING: running, CONTAINER_EXITED: exited } = ContainerState;
