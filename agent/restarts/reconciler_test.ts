import t from "tap";
import { isJsonObject, plainHash, systemClock } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import {
  exited,
  instances,
  kubeletConfig,
  restarter,
  running,
  type Scene,
  scene,
  signal,
  uid,
  withStatus,
} from "../../testkit/agent/restart_fixture.ts";
import { observeContainers } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import type { Runtime } from "../runtime_socket/finder.ts";
import { RestartReconciler } from "./reconciler.ts";
import { StoppedContainers } from "./stopped_containers.ts";

t.test("stops and starts the container itself, as the kubelet would have", async (t) => {
  const s = await scene(t, ["app", "sidecar"]);
  s.request = {
    ...s.request,
    spec: { ...s.request.spec, containers: s.request.spec.containers.slice(0, 1) },
  };
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
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

t.test("a grace of 30 hours is carried out once, as it was asked for", async (t) => {
  const s = await scene(t, ["app"]);
  const seconds = 30 * 3600;
  const strategy = { terminationGracePeriodSeconds: seconds };
  s.request = { ...s.request, spec: { ...s.request.spec, strategy } };
  const reconciler = new RestartReconciler(s.deps);
  for (let pass = 0; pass < 3; pass++) await reconciler.reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
  t.same(
    s.fake.runtime.stops.map(({ timeout }) => timeout),
    [seconds],
  );
  t.same(instances(s, "app"), [
    [0, exited],
    [1, running],
  ]);
});

t.test("the kubelet's way: the container is only stopped, the request waits", async (t) => {
  const s = await scene(t, ["app"]);
  s.deps = { ...s.deps, restarter: restarter("kubelet", () => s.pod()) };
  const reconciler = new RestartReconciler(s.deps);
  await reconciler.reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Recreating",
    containerRecreateStates: [{ phase: "Recreating", isKilled: true }],
  });
  t.same(instances(s, "app"), [[0, exited]]);
  s.fake.runtime.start(await create(s, "app", 1));
  await reconciler.reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
});

async function create(s: Scene, name: string, attempt: number): Promise<string> {
  const request = { pod_sandbox_id: s.sandbox, config: kubeletConfig(name, attempt) };
  return (await s.runtime.client.call(methods.CreateContainer, request)).container_id;
}

t.test("a restart keeps its image; one that the tag names only now is the kubelet's to grant", async (t) => {
  const s = await scene(t, ["app"]);
  const { spec } = s.podJson;
  s.podJson = {
    ...s.podJson,
    spec: { ...(isJsonObject(spec) ? spec : {}), imagePullSecrets: [{ name: "registry" }] },
  };
  s.fake.runtime.addImage("nginx:1", "sha256:22");
  s.fake.runtime.images.set("sha256:11", { tags: new Set(), size: 1 });
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
  t.same(instances(s, "app"), [[0, exited]], "stopped, and left to the kubelet");
  const same = await scene(t, ["app"]);
  same.podJson = {
    ...same.podJson,
    spec: { ...(isJsonObject(spec) ? spec : {}), imagePullSecrets: [{ name: "registry" }] },
  };
  await new RestartReconciler(same.deps).reconcile("default/web", signal);
  t.same(instances(same, "app"), [
    [0, exited],
    [1, running],
  ]);
});

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
    await new RestartReconciler(s.deps).reconcile("default/web", signal);
    t.same(instances(s, "app"), [[0, exited]], what);
  }
  const barrier = await scene(t, ["app"]);
  const from = { configMapKeyRef: { name: "web-barrier", key: "p_0" } };
  barrier.podJson["spec"] = spec({ env: [{ name: "KRUISE_CONTAINER_BARRIER", valueFrom: from }] });
  await new RestartReconciler(barrier.deps).reconcile("default/web", signal);
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
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
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
  await new StoppedContainers(undefined, async (content) => {
    saved = JSON.parse(JSON.stringify(content));
  }).add("crr-1", "app", id);
  s.fake.runtime.exit(id, 0);
  s.request = withStatus(s.request, { phase: "Recreating" });
  const deps = { ...s.deps, stopped: new StoppedContainers(saved, async () => undefined) };
  await new RestartReconciler(deps).reconcile("default/web", signal);
  await new RestartReconciler(deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    containerRecreateStates: [{ phase: "Succeeded", isKilled: true }],
  });
  t.equal(s.fake.calls.get("StopContainer"), undefined);
  t.equal(instances(s, "app").length, 2);
});

t.test("nothing is stopped before it is saved that it was: a request by force stops it once", async (t) => {
  const s = await scene(t, ["app"]);
  let save = (): void => undefined;
  const saved = new Promise<void>((resolve) => {
    save = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    s.deps = {
      ...s.deps,
      // Who leaves the start to the kubelet asks for the stop at once.
      restarter: restarter("kubelet", () => s.pod()),
      stopped: new StoppedContainers(undefined, () => {
        resolve();
        return saved;
      }),
    };
  });
  const reconciled = new RestartReconciler(s.deps).reconcile("default/web", signal);
  await asked;
  await s.runtime.client.call(methods.Version, {});
  t.equal(s.fake.calls.get("StopContainer"), undefined);
  save();
  await reconciled;
  t.equal(s.fake.calls.get("StopContainer"), 1);
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
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
  t.same(commands, ["bye"]);
  t.match(s.events[1], /app Warning FailedPreStopHook .*exited with 7: no/);
  t.equal(s.request.status?.phase, "Completed");
});

t.test(
  "what is to be stopped is reported before it is, and what was done after the controller ended the request",
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
    await new RestartReconciler(s.deps).reconcile("default/web", signal);
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

t.test(
  "nothing more is stopped for a request that is being deleted, while the pod is given back",
  async (t) => {
    const s = await scene(t, ["app", "sidecar"]);
    const [app] = s.request.spec.containers;
    if (app) app.preStop = { exec: { command: ["bye"] } };
    s.fake.runtime.exec = () => {
      const deleted = { ...s.request.metadata, deletionTimestamp: "2026-01-01T00:00:03Z" };
      s.request = withStatus({ ...s.request, metadata: deleted }, {});
      return { exitCode: 0 };
    };
    await new RestartReconciler(s.deps).reconcile("default/web", signal);
    t.equal(instances(s, "app").length, 2, "a stop under way is ended");
    t.same(instances(s, "sidecar"), [[0, running]], "and none follows");
    t.equal(s.request.status?.phase, "Recreating");
  },
);

t.test("nothing is stopped for a request that went while another one was put off", async (t) => {
  const s = await scene(t, ["app"]);
  const pending = [{ name: "app", phase: "Pending" as const }];
  s.request = withStatus(s.request, { phase: "Recreating", containerRecreateStates: pending });
  const late = {
    ...s.request,
    metadata: { ...s.request.metadata, name: "two", uid: "crr-2" },
    status: undefined,
  };
  const shown = [s.request, late];
  const saved: unknown[] = [];
  const stopped = new StoppedContainers(undefined, async (content) => void saved.push(content));
  const requests = {
    ...s.deps.requests,
    ofPod: () => shown,
    writeStatus: async () => {
      shown.shift();
      return late;
    },
  };
  await new RestartReconciler({ ...s.deps, requests, stopped }).reconcile("default/web", signal);
  t.same(instances(s, "app"), [[0, running]]);
  t.same(saved, [], "nor is it remembered, which nobody would take away again");
});

t.test("other writers of the status do not hold a round up", async (t) => {
  const s = await scene(t, ["app"]);
  const [app] = s.request.spec.containers;
  if (app) app.preStop = { exec: { command: ["bye"] } };
  const snapshot = [{ name: "other", ready: true, restartCount: 1, containerID: "containerd://x" }];
  s.fake.runtime.exec = () => {
    s.request = withStatus(s.request, { containerStatusSnapshot: snapshot });
    return { exitCode: 0 };
  };
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    containerStatusSnapshot: [...snapshot, { name: "app", ready: true }],
  });
});

t.test("requests that come while another is carried out are acknowledged", async (t) => {
  const s = await scene(t, ["app"]);
  const written: string[] = [];
  const late = { ...s.request, metadata: { ...s.request.metadata, name: "two", uid: "crr-2" } };
  const reconciler = new RestartReconciler({
    ...s.deps,
    requests: {
      ...s.deps.requests,
      ofPod: () => [s.request, late],
      writeStatus: async (request, status) => {
        written.push(`${request.metadata.name} ${status.phase}`);
        return request;
      },
    },
  });
  await reconciler.acknowledge("default/web");
  t.same(written, [], "not before the first is under way");
  s.request = withStatus(s.request, { phase: "Recreating" });
  await reconciler.acknowledge("default/web");
  t.same(written, ["two Pending"]);
});

t.test("a stop that fails is a failed container", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.faults.set("StopContainer", { kind: "fail", status: 2, message: "the shim is gone" });
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
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
  const reconciler = new RestartReconciler(s.deps);
  t.same(await reconciler.reconcile("default/web", signal), { requeueAfterMs: 1000 });
  t.equal(s.request.status?.phase, "Recreating");
  s.fake.faults.clear();
  await reconciler.reconcile("default/web", signal);
  t.match(s.request.status?.containerRecreateStates, [{ name: "app", phase: "Succeeded", isKilled: true }]);
});

t.test("a runtime that is given up during a stop is waited for, too", async (t) => {
  const s = await scene(t, ["app"]);
  s.fake.faults.set("StopContainer", { kind: "hang" });
  const round = new RestartReconciler(s.deps).reconcile("default/web", signal);
  while (!s.fake.calls.has("StopContainer")) await systemClock.sleep(5);
  // As the finder does once the runtime answers nothing.
  s.runtime.client.close();
  t.same(await round, { requeueAfterMs: 1000 });
  t.match(s.request.status?.containerRecreateStates, [{ name: "app", phase: "Pending" }]);
});

t.test("a runtime that answers garbage, or an error of its own, is asked again", async (t) => {
  const s = await scene(t, ["app"]);
  const reconciler = new RestartReconciler(s.deps);
  s.fake.faults.set("ListContainers", { kind: "bytes", bytes: new Uint8Array([255]) });
  t.same(await reconciler.reconcile("default/web", signal), { requeueAfterMs: 1000 });
  s.fake.faults.set("ListContainers", { kind: "fail", status: 13, message: "out of my mind" });
  t.same(await reconciler.reconcile("default/web", signal), { requeueAfterMs: 1000 });
});

t.test("without a runtime a new request ends with the reason", async (t) => {
  const s = await scene(t, ["app"], {
    finder: { current: undefined, reason: "not found container runtime sock", searched: true },
  });
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
  t.match(s.request.status, {
    phase: "Completed",
    message: /failed to find runtime service: not found container runtime sock/,
  });
});

t.test("a request that was there before the agent found its runtime waits for it", async (t) => {
  const s = await scene(t, ["app"]);
  const finder = { current: undefined as Runtime | undefined, reason: "", searched: false };
  const reconciler = new RestartReconciler({ ...s.deps, finder });
  t.same(await reconciler.reconcile("default/web", signal), { requeueAfterMs: 200 });
  t.equal(s.request.status, undefined);
  finder.current = s.runtime;
  finder.searched = true;
  await reconciler.reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
  t.equal(s.request.status?.message, undefined);
});

t.test(
  "a pod that is gone ends its request; containers of another with its name are not touched",
  async (t) => {
    const s = await scene(t, ["app"]);
    if (isJsonObject(s.podJson["metadata"])) s.podJson["metadata"]["uid"] = "another";
    await new RestartReconciler(s.deps).reconcile("default/web", signal);
    t.same(instances(s, "app"), [[0, running]]);
    t.match(s.request.status, { phase: "Completed", message: "pod has gone" });
  },
);

t.test("a watch that is behind does not say that a pod is gone", async (t) => {
  const s = await scene(t, ["app"], { pods: { pod: async () => undefined, podNow: async () => s.pod() } });
  t.same(await new RestartReconciler(s.deps).reconcile("default/web", signal), { requeueAfterMs: 200 });
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
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
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
  await new RestartReconciler(s.deps).reconcile("default/web", signal);
  t.equal(s.request.status?.phase, "Completed");
  const later = { ...config, metadata: { name: "app", attempt: 9 } };
  await s.runtime.client.call(methods.CreateContainer, { pod_sandbox_id: s.sandbox, config: later });
  await restarter("agent", () => s.pod()).cleanUp(s.runtime.client);
  t.equal(s.fake.runtime.containers.size, 2);
});

t.test("a clean-up leaves alone what is just being made, answered or not", async (t) => {
  const s = await scene(t, ["app"]);
  const own = restarter("agent", () => s.pod());
  const { client } = s.runtime;
  const [last] = (await observeContainers(client, uid, signal)).values();
  if (last === undefined) throw new Error("no container");
  const interrupted: CriClient = {
    socket: client.socket,
    call: async (method, request, options) => {
      const answer = await client.call(method, request, options);
      if (method.path === methods.CreateContainer.path) await own.cleanUp(client);
      return answer;
    },
    close: () => undefined,
  };
  const prepared = await own.prepare({ client: interrupted, pod: s.pod(), container: last }, signal);
  t.ok(s.fake.runtime.containers.has(prepared?.placeholderId ?? ""));
  if (prepared !== undefined) await own.release(prepared);
  t.equal(s.fake.runtime.containers.size, 1);
});

t.test("a container that goes between the list and its status is not there, and no error", async (t) => {
  const s = await scene(t, ["app"]);
  const client: CriClient = {
    ...s.runtime.client,
    async call(method, request, options) {
      const answer = await s.runtime.client.call(method, request, options);
      if (method.name === "ListContainers") s.fake.runtime.containers.clear();
      return answer;
    },
  };
  t.equal((await observeContainers(client, uid)).size, 0);
});
