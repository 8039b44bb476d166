import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import { isJsonObject, KubeError, nullLog, plainHash, systemClock } from "../../kube/index.ts";
import { type ContainerConfig, ContainerState, type Input, methods } from "../../proto/cri/index.ts";
import { createRecreator, type Recreator } from "../containers/recreator.ts";
import { createCriClient } from "../cri/client.ts";
import { type FakeCri, startFakeCri } from "../cri/fake_server.ts";
import { type AgentPod, agentPod } from "../pod.ts";
import type { Runtime } from "../runtime_socket/finder.ts";
import { createRestartExecutor, createStoppedContainers, type RestartDependencies } from "./executor.ts";

const uid = "pod-uid-1";
const signal = new AbortController().signal;

/** A container as the kubelet makes it. */
function kubeletConfig(name: string, attempt: number): Input<ContainerConfig> {
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

interface Scene {
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
function recreator(startedBy: "agent" | "kubelet", pod: () => AgentPod): Recreator {
  const pods = { subscribe: () => () => undefined, byUid: pod };
  return createRecreator({ clock: systemClock, log: nullLog, startedBy, pods });
}

async function scene(
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
      runtime: () => s.runtime,
      runtimeReason: () => "",
      nodeName: "node-1",
      detecting: () => false,
      requests: () => (s.request.status?.phase === "Completed" ? [] : [s.request]),
      pod: async () => s.pod(),
      podNow: async () => s.pod(),
      newest: async () => s.request,
      async writeStatus(request, status) {
        if (request.metadata.resourceVersion !== s.request.metadata.resourceVersion) {
          throw new KubeError("Conflict", "changed");
        }
        s.request = withStatus(s.request, status);
        return s.request;
      },
      event: (_, container, type, reason, message) =>
        events.push(`${container} ${type} ${reason} ${message}`),
      recreator: recreator("agent", () => s.pod()),
      stopped: createStoppedContainers(undefined, () => undefined),
      ...more,
    },
  };
  return s;
}

function withStatus(
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

const instances = (s: Scene, name: string) =>
  [...s.fake.runtime.containers.values()]
    .filter((one) => one.config.metadata?.name === name && one.config.labels["io.kubernetes.pod.uid"])
    .map((one) => [one.config.metadata?.attempt, one.state]);
const { CONTAINER_RUNNING: running, CONTAINER_EXITED: exited } = ContainerState;

t.test("stops and starts the container itself, as the kubelet would have", async (t) => {
  const s = await scene(t, ["app", "sidecar"]);
  s.request = {
    ...s.request,
    spec: { ...s.request.spec, containers: s.request.spec.containers.slice(0, 1) },
  };
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    containerRecreateStates: [{ name: "app", phase: "Succeeded", isKilled: true }],
  });
  t.same(instances(s, "app"), [
    [0, exited],
    [1, running],
  ]);
  t.same(instances(s, "sidecar"), [[0, running]]);
  const made = [...s.fake.runtime.containers.values()].find(
    (one) => one.config.metadata?.attempt === 1,
  )?.config;
  t.same(
    { ...made?.annotations },
    {
      "io.kubernetes.container.hash": plainHash("app", "nginx:1").toString(16),
      "io.kubernetes.container.restartCount": "1",
    },
  );
  t.equal(made?.log_path, "app/1.log");
  t.equal(made?.linux?.resources?.memory_limit_in_bytes, 64 << 20);
  t.equal(Buffer.from(made?.envs[0]?.value ?? []).toString(), "tcp://10.96.0.1:443");
  t.same(s.events, ["app Normal Killing Stopping container app by ContainerRecreateRequest one"]);
});

t.test("the kubelet's way: the container is only stopped, the request waits", async (t) => {
  const s = await scene(t, ["app"]);
  s.deps = { ...s.deps, recreator: recreator("kubelet", () => s.pod()) };
  const executor = createRestartExecutor(s.deps);
  await executor.reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Recreating",
    containerRecreateStates: [{ phase: "Recreating", isKilled: true }],
  });
  t.same(instances(s, "app"), [[0, exited]]);
  s.fake.runtime.start(await create(s, "app", 1));
  await executor.reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
});

async function create(s: Scene, name: string, attempt: number): Promise<string> {
  const request = { pod_sandbox_id: s.sandbox, config: kubeletConfig(name, attempt) };
  return (await s.runtime.client.call(methods.CreateContainer, request)).container_id;
}

t.test("what only the kubelet can prepare is left to it", async (t) => {
  const spec = (container: object, pod: object = {}) => ({
    ...pod,
    containers: [{ name: "app", image: "nginx:1", imagePullPolicy: "IfNotPresent", ...container }],
  });
  const cases: [string, object][] = [
    ["Always pulls", spec({ imagePullPolicy: "Always" })],
    ["postStart", spec({ lifecycle: { postStart: { exec: { command: ["x"] } } } })],
    ["envFrom", spec({ envFrom: [{ secretRef: { name: "s" } }] })],
    ["Secret in env", spec({ env: [{ name: "P", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] })],
    ["subPath", spec({ volumeMounts: [{ name: "v", mountPath: "/x", subPath: "y" }] })],
    ["another image", spec({ image: "nginx:2" })],
    ["OnFailure", spec({}, { restartPolicy: "OnFailure" })],
  ];
  for (const [what, podSpec] of cases) {
    const s = await scene(t, ["app"]);
    s.podJson["spec"] = podSpec;
    await createRestartExecutor(s.deps).reconcile("default/web", signal);
    t.same(instances(s, "app"), [[0, exited]], what);
  }
  const barrier = await scene(t, ["app"]);
  const from = { configMapKeyRef: { name: "web-barrier", key: "p_0" } };
  barrier.podJson["spec"] = spec({ env: [{ name: "KRUISE_CONTAINER_BARRIER", valueFrom: from }] });
  await createRestartExecutor(barrier.deps).reconcile("default/web", signal);
  t.equal(instances(barrier, "app").length, 2, "the launch barrier is no obstacle");
});

t.test("the kubelet was first: exactly one new container", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.runtime.onEvent = (event) => {
    if (event.type !== 2) return;
    s.fake.runtime.onEvent = () => undefined;
    const config = [...s.fake.runtime.containers.values()][0]?.config;
    if (config)
      s.fake.runtime.start(
        s.fake.runtime.create(s.sandbox, { ...config, metadata: { name: "app", attempt: 1 } }),
      );
  };
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
  t.same(instances(s, "app"), [
    [0, exited],
    [1, running],
  ]);
});

t.test("after a crash between stop and start the agent goes on, and stops nothing twice", async (t) => {
  const s = await scene(t, ["app"]);
  const id = [...s.fake.runtime.containers.keys()][0] ?? "";
  let saved: unknown;
  createStoppedContainers(undefined, (content) => {
    saved = JSON.parse(JSON.stringify(content));
  }).add("crr-1", "app", id);
  s.fake.runtime.exit(id, 0);
  s.request = withStatus(s.request, { phase: "Recreating" });
  const deps = { ...s.deps, stopped: createStoppedContainers(saved, () => undefined) };
  await createRestartExecutor(deps).reconcile("default/web", signal);
  await createRestartExecutor(deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    containerRecreateStates: [{ phase: "Succeeded", isKilled: true }],
  });
  t.equal(s.fake.calls.get("StopContainer"), undefined);
  t.equal(instances(s, "app").length, 2);
});

t.test("hooks run before the stop; one that fails is reported and the stop goes on", async (t) => {
  const s = await scene(t, ["app"]);
  const commands: string[] = [];
  s.fake.runtime.exec = (_, command) => {
    commands.push(command.join(" "));
    return { exitCode: 7, stderr: "no" };
  };
  const [app] = s.request.spec.containers;
  if (app) app.preStop = { exec: { command: ["bye"] } };
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.same(commands, ["bye"]);
  t.match(s.events[1], /app Warning FailedPreStopHook .*exited with 7: no/);
  t.equal(s.request.status?.phase, "Completed");
});

t.test(
  "what is to be stopped is told before it is, and what was done after the controller ended the request",
  async (t) => {
    const s = await scene(t, ["app", "sidecar"]);
    const [app] = s.request.spec.containers;
    if (app) app.preStop = { exec: { command: ["bye"] } };
    let shown: unknown;
    s.fake.runtime.exec = () => {
      shown = s.request.status;
      const completionTime = "2026-01-01T00:00:03Z";
      const message = "recreating has exceeded the activeDeadlineSeconds";
      s.request = withStatus(s.request, { phase: "Completed", completionTime, message });
      return { exitCode: 0 };
    };
    await createRestartExecutor(s.deps).reconcile("default/web", signal);
    const pending = (name: string) => ({ name, phase: "Pending" });
    t.same(shown, { phase: "Recreating", containerRecreateStates: [pending("app"), pending("sidecar")] });
    t.same(s.request.status, {
      phase: "Completed",
      completionTime: "2026-01-01T00:00:03Z",
      message: "recreating has exceeded the activeDeadlineSeconds",
      containerRecreateStates: [{ name: "app", phase: "Recreating", isKilled: true }, pending("sidecar")],
    });
    t.equal(instances(s, "app").length, 2, "a stop under way is ended");
    t.same(instances(s, "sidecar"), [[0, running]], "and none follows");
  },
);

t.test("other writers of the status do not hold a round up", async (t) => {
  const s = await scene(t, ["app"]);
  const [app] = s.request.spec.containers;
  if (app) app.preStop = { exec: { command: ["bye"] } };
  const snapshot = [{ name: "other", ready: true, restartCount: 1, containerID: "containerd://x" }];
  s.fake.runtime.exec = () => {
    s.request = withStatus(s.request, { containerStatusSnapshot: snapshot });
    return { exitCode: 0 };
  };
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    containerStatusSnapshot: [...snapshot, { name: "app", ready: true }],
  });
});

t.test("requests that come while another is carried out are told that they wait", async (t) => {
  const s = await scene(t, ["app"]);
  const written: string[] = [];
  const late = { ...s.request, metadata: { ...s.request.metadata, name: "two", uid: "crr-2" } };
  const executor = createRestartExecutor({
    ...s.deps,
    requests: () => [s.request, late],
    writeStatus: async (request, status) => {
      written.push(`${request.metadata.name} ${status.phase}`);
      return request;
    },
  });
  await executor.acknowledge("default/web");
  t.same(written, [], "not before the first is under way");
  s.request = withStatus(s.request, { phase: "Recreating" });
  await executor.acknowledge("default/web");
  t.same(written, ["two Pending"]);
});

t.test("a stop that fails is a failed container", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.faults.set("StopContainer", { kind: "fail", status: 2, message: "the shim is gone" });
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    containerRecreateStates: [
      { name: "app", phase: "Failed", message: /^kill container error: .*the shim is gone/ },
    ],
  });
});

t.test("a runtime that goes away during a stop is waited for", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.faults.set("StopContainer", { kind: "fail", status: 14, message: "connection reset" });
  const executor = createRestartExecutor(s.deps);
  t.same(await executor.reconcile("default/web", signal), { wakeAfterMs: 1000 });
  t.equal(s.request.status?.phase, "Recreating");
  s.fake.faults.clear();
  await executor.reconcile("default/web", signal);
  t.match(s.request.status?.containerRecreateStates, [{ name: "app", phase: "Succeeded", isKilled: true }]);
});

t.test("without a runtime a new request ends with the reason", async (t) => {
  const s = await scene(t, ["app"], {
    runtime: () => undefined,
    runtimeReason: () => "not found container runtime sock",
  });
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    message: /failed to find runtime service: not found container runtime sock/,
  });
});

t.test("a request that was there before the agent found its runtime waits for it", async (t) => {
  let found = false;
  const s = await scene(t, ["app"], { detecting: () => !found });
  const { runtime } = s.deps;
  const executor = createRestartExecutor({ ...s.deps, runtime: () => (found ? runtime() : undefined) });
  t.same(await executor.reconcile("default/web", signal), { wakeAfterMs: 200 });
  t.equal(s.request.status, undefined);
  found = true;
  await executor.reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
  t.equal(s.request.status?.message, undefined);
});

t.test(
  "a pod that is gone ends its request; containers of another with its name are not touched",
  async (t) => {
    const s = await scene(t, ["app"]);
    if (isJsonObject(s.podJson["metadata"])) s.podJson["metadata"]["uid"] = "another";
    await createRestartExecutor(s.deps).reconcile("default/web", signal);
    t.same(instances(s, "app"), [[0, running]]);
    t.match(s.request.status, { phase: "Completed", message: "pod has gone" });
  },
);

t.test("a watch that is behind does not say that a pod is gone", async (t) => {
  const s = await scene(t, ["app"], { pod: async () => undefined });
  t.same(await createRestartExecutor(s.deps).reconcile("default/web", signal), { wakeAfterMs: 200 });
  t.equal(s.request.status, undefined);
});

t.test("while the agent starts a container nobody can make the attempt after it", async (t) => {
  const s = await scene(t, ["app"]);
  let refused: unknown;
  const placeholders: number[] = [];
  s.fake.runtime.onEvent = (event) => {
    const made = s.fake.runtime.containers.get(event.containerId);
    // A kubelet that looks between create and start takes the created container for one to start.
    if (
      event.type !== 0 ||
      made?.config.metadata?.attempt !== 1 ||
      !made.config.labels["io.kubernetes.pod.uid"]
    )
      return;
    placeholders.push(
      [...s.fake.runtime.containers.values()].filter((one) => one.config.labels["agent.refit/placeholder"])
        .length,
    );
    try {
      s.fake.runtime.create(s.sandbox, { ...made.config, metadata: { name: "app", attempt: 2 } });
    } catch (error) {
      refused = error;
    }
  };
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.match(refused, { message: /is reserved for/ });
  t.same(placeholders, [1]);
  t.same(instances(s, "app"), [
    [0, exited],
    [1, running],
  ]);
  const left = [...s.fake.runtime.containers.values()].filter(
    (one) => one.config.labels["agent.refit/placeholder"],
  );
  t.same(left, [], "the placeholder is gone when the pod's status shows the new container");
});

t.test("a placeholder that a crash left behind is replaced, and cleaned up", async (t) => {
  const s = await scene(t, ["app"]);
  const config = {
    metadata: { name: "app", attempt: 2 },
    image: { image: "sha256:11" },
    labels: { "agent.refit/placeholder": "true" },
  };
  await s.runtime.client.call(methods.CreateContainer, { pod_sandbox_id: s.sandbox, config });
  await createRestartExecutor(s.deps).reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
  const later = { ...config, metadata: { name: "app", attempt: 9 } };
  await s.runtime.client.call(methods.CreateContainer, { pod_sandbox_id: s.sandbox, config: later });
  await recreator("agent", () => s.pod()).cleanUp(s.runtime.client);
  t.equal(s.fake.runtime.containers.size, 2);
});
