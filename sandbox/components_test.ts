/** End to end: the simulated cluster as a client sees it over HTTPS. */
import t from "tap";
import { findCondition, systemClock } from "../kube/core/index.ts";
import { type Api, apiOf, reached } from "../testkit/sandbox/sandbox_client.ts";
import type { StoredObject } from "./cluster.ts";
import type { NodeProfile } from "./nodes/node_object.ts";
import { isFinished, isNode, isPod, isPodReady, type PodObject } from "./objects/index.ts";
import { type SandboxWithNodes, startSandbox } from "./start.ts";

type Nodes = number | readonly NodeProfile[];

async function setUp(
  t: { teardown(run: () => Promise<void>): void },
  nodes: Nodes = 2,
): Promise<{ sandbox: SandboxWithNodes; api: Api; log: string[] }> {
  const log: string[] = [];
  const sandbox = await startSandbox({
    seed: 1,
    clock: systemClock,
    nodes,
    log: (message, fields) => log.push(`${message} ${JSON.stringify(fields)}`),
  });
  const api = apiOf(sandbox);
  t.teardown(async () => {
    await api.close();
    await sandbox.stop();
  });
  return { sandbox, api, log };
}

const pods = "/api/v1/namespaces/default/pods";
const apps = "/apis/apps/v1/namespaces/default";
const labelled = (app: string) => ({ labels: { app } });

function podBody(name: string, containers: object[] = [{ name: "web", image: "nginx:1.20" }]): object {
  return { metadata: { name, ...labelled(name) }, spec: { terminationGracePeriodSeconds: 1, containers } };
}

function template(app: string, image = "nginx:1.20"): object {
  return {
    metadata: labelled(app),
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "web", image }] },
  };
}

const podsOf = (objects: readonly StoredObject[], app: string): PodObject[] =>
  objects.filter(isPod).filter((pod) => pod.metadata.labels?.["app"] === app);

const allReady =
  (app: string, count: number, image?: string) =>
  (objects: readonly StoredObject[]): boolean => {
    const found = podsOf(objects, app);
    return (
      found.length === count &&
      found.every((pod) => isPodReady(pod) && !pod.metadata.deletionTimestamp) &&
      (image === undefined || found.every((pod) => pod.status?.containerStatuses?.[0]?.image === image))
    );
  };

t.test("a pod becomes Ready, restarts one container for an image patch, and goes with grace", async (t) => {
  const { sandbox, api, log } = await setUp(t);
  const containers = [
    { name: "web", image: "nginx:1.20" },
    { name: "side", image: "busybox:1.34", command: ["sleep", "86400"] },
  ];
  await api.post(pods, podBody("a", containers));
  const [before] = podsOf(await reached(sandbox, "pods", allReady("a", 1), "ready"), "a");
  t.match(before?.status, { phase: "Running", qosClass: "BestEffort" });
  await api.patch(`${pods}/a`, [{ op: "replace", path: "/spec/containers/0/image", value: "nginx:1.21" }]);
  const status = (pod: PodObject | undefined, name: string) =>
    pod?.status?.containerStatuses?.find((candidate) => candidate.name === name);
  const updated = (objects: readonly StoredObject[]) =>
    allReady("a", 1)(objects) && status(podsOf(objects, "a")[0], "web")?.restartCount === 1;
  const [after] = podsOf(await reached(sandbox, "pods", updated, "restarted"), "a");
  t.equal(after?.metadata.uid, before?.metadata.uid);
  t.equal(status(after, "web")?.image, "nginx:1.21");
  t.not(status(after, "web")?.containerID, status(before, "web")?.containerID);
  t.equal(status(after, "side")?.containerID, status(before, "side")?.containerID);
  t.equal(status(after, "side")?.restartCount, 0);
  const answer = await api.delete(`${pods}/a`);
  t.match(answer, { metadata: { deletionGracePeriodSeconds: 1 } });
  await reached(sandbox, "pods", (objects) => objects.length === 0, "gone");
  t.same(log, []);
});

t.test(
  "a deleted pod with a finalizer ends, shows its end, and stays until the finalizer goes",
  async (t) => {
    const { sandbox, api } = await setUp(t, 1);
    await api.post(pods, {
      metadata: { name: "held", ...labelled("held"), finalizers: ["case.example/hold"] },
      spec: { containers: [{ name: "web", image: "nginx:1.20" }] },
    });
    await reached(sandbox, "pods", allReady("held", 1), "ready");
    await api.delete(`${pods}/held`);
    const ended = (objects: readonly StoredObject[]) =>
      objects.filter(isPod).some((pod) => pod.status?.phase === "Succeeded");
    const [pod] = podsOf(await reached(sandbox, "pods", ended, "ended"), "held");
    t.ok(pod?.metadata.deletionTimestamp);
    t.ok(pod?.status?.containerStatuses?.[0]?.state?.terminated);
    await api.patch(`${pods}/held`, { metadata: { finalizers: null } });
    await reached(sandbox, "pods", (objects) => objects.length === 0, "gone");
  },
);

t.test("a killed node is shown Unknown, tainted, its pods not Ready; revived, all is well", async (t) => {
  const { sandbox, api } = await setUp(t, 1);
  await api.post(pods, podBody("a"));
  await reached(sandbox, "pods", allReady("a", 1), "ready");
  sandbox.nodes.kill("node1");
  const unknown = (objects: readonly StoredObject[]) =>
    objects.filter(isNode).some((node) => {
      const ready = findCondition(node.status?.conditions, "Ready")?.status;
      return ready === "Unknown" && (node.spec.taints ?? []).length === 2;
    });
  await reached(sandbox, "nodes", unknown, "node unknown");
  await reached(
    sandbox,
    "pods",
    (objects) => podsOf(objects, "a").every((pod) => !isPodReady(pod)),
    "not ready",
  );
  await api.post(pods, podBody("b"));
  const refused = (objects: readonly StoredObject[]) =>
    podsOf(objects, "b").some(
      (pod) => findCondition(pod.status?.conditions, "PodScheduled")?.reason === "Unschedulable",
    );
  const [waiting] = podsOf(await reached(sandbox, "pods", refused, "unschedulable"), "b");
  t.equal(
    findCondition(waiting?.status?.conditions, "PodScheduled")?.message,
    "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.",
  );
  sandbox.nodes.revive("node1");
  await reached(sandbox, "pods", (o) => allReady("a", 1)(o) && allReady("b", 1)(o), "ready again");
  await reached(
    sandbox,
    "nodes",
    (o) => o.filter(isNode).every((n) => (n.spec.taints ?? []).length === 0),
    "clean",
  );
});

t.test(
  "claims are bound to a fitting volume, or to a new one; released volumes are not bound again",
  async (t) => {
    const { sandbox, api } = await setUp(t, 1);
    const volume = (name: string, storage: string) => ({
      metadata: { name },
      spec: {
        capacity: { storage },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        hostPath: { path: "/x" },
        persistentVolumeReclaimPolicy: "Retain",
      },
    });
    const claim = (name: string, rest: object) => ({
      metadata: { name },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...rest },
    });
    const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    await api.post("/api/v1/persistentvolumes", volume("big", "5Gi"));
    await api.post("/api/v1/persistentvolumes", volume("small", "2Gi"));
    await api.post(claims, claim("made", { storageClassName: "manual" }));
    await api.post(claims, claim("new", {}));
    const withVolume = {
      metadata: { name: "a", ...labelled("a") },
      spec: {
        containers: [{ name: "web", image: "nginx:1.20" }],
        terminationGracePeriodSeconds: 1,
        volumes: [
          { name: "one", persistentVolumeClaim: { claimName: "made" } },
          { name: "two", persistentVolumeClaim: { claimName: "new" } },
        ],
      },
    };
    await api.post(pods, withVolume);
    await reached(sandbox, "pods", allReady("a", 1), "ready");
    t.match(await api.get(`${claims}/made`), {
      spec: { volumeName: "small" },
      status: { phase: "Bound", capacity: { storage: "2Gi" } },
    });
    t.match(await api.get(`${claims}/new`), { spec: { volumeName: /^pvc-/ }, status: { phase: "Bound" } });
    await api.delete(`${claims}/made`);
    t.match(await api.get(`${claims}/made`), { metadata: { finalizers: ["kubernetes.io/pvc-protection"] } });
    await api.delete(`${pods}/a`);
    await reached(sandbox, "persistentvolumeclaims", (o) => o.length === 1, "claim gone");
    await api.delete(`${claims}/new`);
    const settled = (objects: readonly StoredObject[]) =>
      objects.length === 2 &&
      JSON.stringify(objects.map((o) => o["status"])) === '[{"phase":"Available"},{"phase":"Released"}]';
    await reached(sandbox, "persistentvolumes", settled, "one released, the new one deleted");
  },
);

t.test("a pod without a node protects no claim", async (t) => {
  const { sandbox, api } = await setUp(t, 1);
  const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  await api.post(claims, { metadata: { name: "c" }, spec });
  await api.post(pods, {
    metadata: { name: "a" },
    spec: {
      nodeSelector: { no: "such-node" },
      containers: [{ name: "web", image: "nginx:1.20" }],
      volumes: [{ name: "one", persistentVolumeClaim: { claimName: "c" } }],
    },
  });
  const bound = (o: readonly StoredObject[]) => JSON.stringify(o).includes("pvc-protection");
  await reached(sandbox, "persistentvolumeclaims", bound, "bound");
  await api.delete(`${claims}/c`);
  await reached(sandbox, "persistentvolumeclaims", (o) => o.length === 0, "gone at once");
});

t.test("a claim of a class that waits is bound once its first pod has a node", async (t) => {
  const { sandbox, api } = await setUp(t, 1);
  await api.post("/apis/storage.k8s.io/v1/storageclasses", {
    metadata: { name: "waits" },
    provisioner: "any",
    volumeBindingMode: "WaitForFirstConsumer",
  });
  const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  await api.post(claims, {
    metadata: { name: "c" },
    spec: {
      storageClassName: "waits",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  });
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "c" } }];
  const spec = { containers: [{ name: "web", image: "nginx:1.20" }], volumes };
  await api.post(pods, { metadata: { name: "a", ...labelled("a") }, spec });
  await reached(sandbox, "pods", allReady("a", 1), "ready");
  t.match(await api.get(`${claims}/c`), { status: { phase: "Bound" } });
});

t.test("a stuck Deployment says so after its deadline; orphaned pods are adopted again", async (t) => {
  const { sandbox, api } = await setUp(t, 1);
  const deployment = (image: string) => ({
    metadata: { name: "d" },
    spec: {
      replicas: 2,
      progressDeadlineSeconds: 1,
      selector: { matchLabels: { app: "d" } },
      template: template("d", image),
    },
  });
  await api.post(`${apps}/deployments`, deployment("nginx:1.20"));
  await reached(sandbox, "pods", allReady("d", 2), "ready");
  const uids = podsOf([...sandbox.cluster.list("pods")], "d").map((pod) => pod.metadata.uid);
  await api.delete(`${apps}/deployments/d`, { propagationPolicy: "Orphan" });
  await reached(sandbox, "deployments.apps", (objects) => objects.length === 0, "deleted");
  await api.post(`${apps}/deployments`, deployment("nginx:1.20"));
  const available = ([d]: readonly StoredObject[]) =>
    JSON.stringify(d?.["status"] ?? {}).includes('"availableReplicas":2');
  await reached(sandbox, "deployments.apps", available, "adopted");
  t.same(
    podsOf([...sandbox.cluster.list("pods")], "d").map((pod) => pod.metadata.uid),
    uids,
  );
  sandbox.nodes.failPull("nginx:none");
  await api.patch(`${apps}/deployments/d`, { spec: { template: template("d", "nginx:none") } });
  const stuck = ([d]: readonly StoredObject[]) =>
    JSON.stringify(d?.["status"] ?? {}).includes("ProgressDeadlineExceeded");
  await reached(sandbox, "deployments.apps", stuck, "stuck");
  t.equal(podsOf([...sandbox.cluster.list("pods")], "d").filter(isPodReady).length, 2);
});

t.test("a Deployment rolls out within its limits", async (t) => {
  const { sandbox, api, log } = await setUp(t);
  await api.post(`${apps}/deployments`, {
    metadata: { name: "d" },
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: "d" } },
      template: template("d"),
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    },
  });
  await reached(sandbox, "pods", allReady("d", 4), "four ready");
  let least = 4;
  sandbox.cluster.subscribe("pods", () => {
    const living = podsOf([...sandbox.cluster.list("pods")], "d").filter(
      (p) => isPodReady(p) && !p.metadata.deletionTimestamp,
    );
    least = Math.min(least, living.length);
  });
  await api.patch(`${apps}/deployments/d`, { spec: { template: template("d", "nginx:1.21") } });
  await reached(sandbox, "pods", allReady("d", 4, "nginx:1.21"), "four new");
  t.ok(least >= 4, `never below four: ${least}`);
  const complete = (objects: readonly StoredObject[]) =>
    objects.some((o) => JSON.stringify(o["status"]).includes("NewReplicaSetAvailable"));
  await reached(sandbox, "deployments.apps", complete, "complete");
  t.match(await api.get(`${apps}/deployments/d`), {
    metadata: { annotations: { "deployment.kubernetes.io/revision": "2" } },
    status: { replicas: 4, updatedReplicas: 4, readyReplicas: 4, availableReplicas: 4 },
  });
  await api.patch(`${apps}/deployments/d`, { spec: { replicas: 1 } });
  await reached(sandbox, "pods", allReady("d", 1), "one left");
  t.same(log, []);
});

t.test("a StatefulSet makes numbered pods in order and replaces them from the top", async (t) => {
  const { sandbox, api } = await setUp(t);
  const order: string[] = [];
  sandbox.cluster.subscribe("pods", ({ type, object }) => {
    if (type === "ADDED") order.push(object.metadata.name ?? "");
  });
  await api.post(`${apps}/statefulsets`, {
    metadata: { name: "web" },
    spec: {
      serviceName: "web",
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: template("web"),
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    },
  });
  await reached(sandbox, "pods", allReady("web", 3), "three ready");
  t.same(order, ["web-0", "web-1", "web-2"]);
  await api.patch(`${apps}/statefulsets/web`, {
    spec: { template: template("web", "nginx:1.21"), updateStrategy: { rollingUpdate: { partition: 1 } } },
  });
  const split = (objects: readonly StoredObject[]) => {
    const images = podsOf(objects, "web").map((pod) => pod.status?.containerStatuses?.[0]?.image);
    return allReady("web", 3)(objects) && images.join() === "nginx:1.20,nginx:1.21,nginx:1.21";
  };
  await reached(sandbox, "pods", split, "two replaced");
  t.same(order.slice(3), ["web-2", "web-1"]);
  await reached(
    sandbox,
    "statefulsets.apps",
    ([set]) => JSON.stringify(set?.["status"]).includes('"updatedReplicas":2'),
    "two updated",
  );
  t.equal([...sandbox.cluster.list("controllerrevisions.apps")].length, 2);
  await api.patch(`${apps}/statefulsets/web`, { spec: { replicas: 1 } });
  await reached(sandbox, "pods", allReady("web", 1), "one left");
  t.equal([...sandbox.cluster.list("persistentvolumeclaims")].length, 3, "claims stay");
});

t.test(
  "a DaemonSet has one pod per suitable node, through taints, cordons and nodes that come and go",
  async (t) => {
    const { sandbox, api } = await setUp(t, [
      { name: "master1", taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }] },
      { name: "node1" },
      { name: "node2", unschedulable: true },
    ]);
    await api.post(`${apps}/daemonsets`, {
      metadata: { name: "every" },
      spec: { selector: { matchLabels: { app: "every" } }, template: template("every") },
    });
    const on =
      (...nodes: string[]) =>
      (objects: readonly StoredObject[]) =>
        allReady("every", nodes.length)(objects) &&
        podsOf(objects, "every")
          .map((pod) => pod.spec.nodeName)
          .sort()
          .join() === nodes.join();
    await reached(sandbox, "pods", on("node1", "node2"), "on both workers");
    await api.post("/api/v1/nodes", { metadata: { name: "node3" } });
    await reached(sandbox, "pods", on("node1", "node2", "node3"), "on the new node, made over HTTP");
    await api.delete("/api/v1/nodes/node3");
    await reached(sandbox, "pods", on("node1", "node2"), "its pod is cleaned up");
    await api.patch("/api/v1/nodes/node1", {
      spec: { taints: [{ key: "case", value: "x", effect: "NoExecute" }] },
    });
    await reached(sandbox, "pods", on("node2"), "evicted");
    await api.patch("/api/v1/nodes/node1", { spec: { taints: null } });
    await reached(sandbox, "pods", on("node1", "node2"), "back");
    await api.patch(`${apps}/daemonsets/every`, { spec: { template: template("every", "nginx:1.21") } });
    await reached(sandbox, "pods", allReady("every", 2, "nginx:1.21"), "both replaced");
    // Pods are ready before their set has counted them: the wait is for all that is asserted below.
    const status = (objects: readonly StoredObject[]) => {
      const text = JSON.stringify(objects[0]?.["status"] ?? {});
      return text.includes('"updatedNumberScheduled":2') && text.includes('"numberAvailable":2');
    };
    await reached(sandbox, "daemonsets.apps", status, "status");
    t.match(await api.get(`${apps}/daemonsets/every`), {
      status: { desiredNumberScheduled: 2, currentNumberScheduled: 2, numberReady: 2, numberAvailable: 2 },
    });
  },
);

t.test("Jobs complete, fail beyond their limit, and vanish after their time to live", async (t) => {
  const { sandbox, api } = await setUp(t);
  const jobs = "/apis/batch/v1/namespaces/default/jobs";
  const job = (name: string, command: string[], rest: object = {}) => ({
    metadata: { name },
    spec: {
      ...rest,
      template: {
        metadata: labelled(name),
        spec: { restartPolicy: "Never", containers: [{ name: "task", image: "busybox:1.34", command }] },
      },
    },
  });
  await api.post(jobs, job("good", ["true"], { completions: 3, parallelism: 2 }));
  await api.post(jobs, job("bad", ["false"], { backoffLimit: 1 }));
  await api.post(jobs, job("brief", ["true"], { ttlSecondsAfterFinished: 0 }));
  const over = (objects: readonly StoredObject[]) => {
    const text = (name: string) =>
      JSON.stringify(objects.find((o) => o.metadata.name === name)?.["status"] ?? {});
    return text("good").includes("Complete") && text("bad").includes("BackoffLimitExceeded");
  };
  await reached(sandbox, "jobs.batch", over, "both over");
  t.match(await api.get(`${jobs}/good`), { status: { succeeded: 3, completionTime: String } });
  t.match(await api.get(`${jobs}/bad`), { status: { failed: 2 } });
  t.ok(podsOf([...sandbox.cluster.list("pods")], "good").every(isFinished));
  const going = (objects: readonly StoredObject[]) =>
    objects.every((o) => o.metadata.name !== "brief" || o.metadata.deletionTimestamp !== undefined);
  await reached(sandbox, "jobs.batch", going, "the brief one goes");
});

t.test(
  "Services have endpoints of ready pods, budgets their numbers, namespaces their defaults",
  async (t) => {
    const { sandbox, api } = await setUp(t);
    await api.post("/api/v1/namespaces/default/services", {
      metadata: { name: "svc" },
      spec: { selector: { app: "d" }, ports: [{ port: 80, targetPort: "http" }] },
    });
    await api.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
      metadata: { name: "pdb" },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: "d" } } },
    });
    const container = { name: "web", image: "nginx:1.20", ports: [{ name: "http", containerPort: 8080 }] };
    await api.post(`${apps}/replicasets`, {
      metadata: { name: "d" },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "d" } },
        template: { metadata: labelled("d"), spec: { containers: [container] } },
      },
    });
    const ready = ([slice]: readonly StoredObject[]) =>
      JSON.stringify(slice?.["endpoints"] ?? "").split('"ready":true').length === 4;
    await reached(sandbox, "endpointslices.discovery.k8s.io", ready, "three endpoints");
    t.match(await api.get("/api/v1/namespaces/default/endpoints/svc"), {
      subsets: [{ ports: [{ port: 8080 }] }],
    });
    const allowed = ([budget]: readonly StoredObject[]) =>
      JSON.stringify(budget?.["status"]).includes('"disruptionsAllowed":1');
    await reached(sandbox, "poddisruptionbudgets.policy", allowed, "one may go");
    const [first] = podsOf([...sandbox.cluster.list("pods")], "d");
    sandbox.nodes.setReady("default", first?.metadata.name ?? "", "web", false);
    const fewer = ([slice]: readonly StoredObject[]) =>
      JSON.stringify(slice?.["endpoints"] ?? "").split('"ready":true').length === 3;
    await reached(sandbox, "endpointslices.discovery.k8s.io", fewer, "two endpoints");
    await api.post("/api/v1/namespaces", { metadata: { name: "other" } });
    t.match(await api.get("/api/v1/namespaces/other/configmaps/kube-root-ca.crt"), {
      data: { "ca.crt": /BEGIN CERTIFICATE/ },
    });
    t.match(await api.get("/api/v1/namespaces/other/serviceaccounts/default"), {
      metadata: { name: "default" },
    });
  },
);
