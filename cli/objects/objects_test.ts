import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { golden } from "../../testkit/cli/golden.ts";
import { cloneSet, controllerRevision, imageOf, podTemplate } from "../../testkit/cli/workload_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { conflictOnce, withFaults } from "../../testkit/kube/fake_faults.ts";
import type { FakeServer } from "../../testkit/kube/fake_server.ts";
import { at, toAnyObject } from "../fields.ts";

const clones = "clonesets.apps.kruise.io";

function withPods(): FakeServer {
  const cluster = fakeCluster();
  cluster.put(
    clones,
    cloneSet("pick", { spec: { replicas: 5 }, metadata: { creationTimestamp: "2025-12-31T23:55:00Z" } }),
  );
  for (const letter of ["a", "b", "c"])
    cluster.put("pods", pod(`pick-${letter}`, "uid-pick", letter === "c" ? "False" : "True"));
  cluster.put("pods", pod("stranger", "uid-other", "True"));
  return cluster;
}

function pod(name: string, ownerUid: string, ready: string) {
  return toAnyObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      labels: { app: "pick" },
      creationTimestamp: "2025-12-31T23:59:00Z",
      ownerReferences: [
        {
          apiVersion: "apps.kruise.io/v1beta1",
          kind: "CloneSet",
          name: "pick",
          uid: ownerUid,
          controller: true,
        },
      ],
    },
    status: {
      conditions: [
        { type: "Ready", status: ready, ...(ready === "False" ? { reason: "ContainersNotReady" } : {}) },
      ],
    },
  });
}

t.test("scaledown lowers replicas and names the pods in one write, also after a conflict", async (t) => {
  const cluster = withPods();
  const client = withFaults(cluster.client, { patch: conflictOnce() });
  const { code, stdout } = await run("scaledown clone/pick --pods pick-a,pick-b", { client });
  t.equal(code, 0);
  t.equal(
    stdout,
    "# pick delete pods [pick-a pick-b] successfully\ncloneset.apps.kruise.io/pick selective pod deletion\n",
  );
  const written = cluster.read(clones, "default/pick");
  t.equal(at(written, "spec", "replicas"), 3);
  t.same(at(written, "spec", "scaleStrategy", "podsToDelete"), ["pick-a", "pick-b"]);
  t.equal(cluster.patches.length, 1);
});

t.test("scaledown refuses what would remove other pods than those named", async (t) => {
  const cluster = withPods();
  const client = cluster.client;
  const refusals: [string, RegExp][] = [
    ["scaledown clone/pick --pods stranger", /pod stranger does not belong to cloneset.apps.kruise.io\/pick/],
    ["scaledown clone/pick --pods nobody", /NotFound.*nobody/],
    ["scaledown clone/pick --pods pick-a,pick-a", /named twice/],
    ["scaledown clone/pick", /--pods/],
    ["scaledown deploy/pick --pods pick-a", /not supported on deployments.apps/],
  ];
  for (const [line, text] of refusals) t.match(await run(line, { client }), { code: 1, stderr: text }, line);
  t.equal(cluster.patches.length, 0);
});

t.test("scale writes the subresource and honours --current-replicas", async (t) => {
  const cluster = withPods();
  const client = cluster.client;
  t.equal(
    (await run("scale clone pick --replicas=2", { client })).stdout,
    "cloneset.apps.kruise.io/pick scaled\n",
  );
  t.match(cluster.patches.at(-1), {
    subresource: "scale",
    patch: { type: "merge", body: { spec: { replicas: 2 } } },
  });
  const refused = await run("scale clone/pick --replicas 4 --current-replicas 9", { client });
  t.match(refused, { code: 1, stderr: "error: Expected replicas to be 9, was 2\n" });
  t.match(await run("scale clone/pick --replicas many", { client }), {
    code: 1,
    stderr: /must be a whole number/,
  });
});

t.test("set image changes named containers, or all", async (t) => {
  const cluster = withPods();
  const client = cluster.client;
  const set = await run("set image cloneset/pick nginx=nginx:1.21", { client });
  t.equal(set.stdout, "cloneset.apps.kruise.io/pick image updated\n");
  t.equal(imageOf(cluster.read(clones, "default/pick")), "nginx:1.21");
  t.equal((await run("set image cloneset/pick nginx=nginx:1.21", { client })).stdout, "");
  await run("set image cloneset/pick *=nginx:1.22", { client });
  t.equal(imageOf(cluster.read(clones, "default/pick")), "nginx:1.22");
  const wrong = await run("set image clone/pick web=nginx:1", { client });
  t.equal(wrong.stderr, 'error: unable to find container named "web"; the template has nginx\n');
});

t.test("set env adds, changes and removes; set resources merges", async (t) => {
  const cluster = withPods();
  const client = cluster.client;
  await run("set env clone/pick A=1 B=2", { client });
  t.equal(
    (await run("set env clone/pick A=3 B-", { client })).stdout,
    "cloneset.apps.kruise.io/pick env updated\n",
  );
  const container = () =>
    at(cluster.read(clones, "default/pick"), "spec", "template", "spec", "containers", 0);
  t.same(at(container(), "env"), [{ name: "A", value: "3" }]);
  t.equal((await run("set env clone/pick --list", { client })).stdout, "# container nginx\nA=3\n");
  await run("set resources clone/pick -c nginx --limits cpu=1,memory=1Gi", { client });
  await run("set resources clone/pick --limits memory=0 --requests cpu=500m", { client });
  t.same(at(container(), "resources"), { limits: { cpu: "1" }, requests: { cpu: "500m" } });
});

t.test("set --local rewrites a manifest without a server", async (t) => {
  const readFile = async () =>
    "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: x}\nspec: {template: {spec: {containers: [{name: a, image: b}]}}}\n";
  const { stdout } = await run("set image -f x.yaml --local a=c:1", { host: { readFile } });
  t.equal(stdout, golden("set_image_local.yaml", stdout));
});

t.test("set changes the containers of a SidecarSet", async (t) => {
  const readFile = async () =>
    "apiVersion: apps.kruise.io/v1alpha1\nkind: SidecarSet\nmetadata: {name: x}\nspec: {containers: [{name: a, image: b}]}\n";
  const { stdout } = await run("set image -f x.yaml --local a=c:1", { host: { readFile } });
  t.match(stdout, /^spec:\n {2}containers:\n {4}- name: a\n {6}image: c:1\n/m);
});

t.test("dry runs change nothing", async (t) => {
  const cluster = withPods();
  const client = cluster.client;
  const { stdout } = await run("set image clone/pick nginx=nginx:9 --dry-run -o json", { client });
  t.equal(imageOf(toAnyObject(JSON.parse(stdout))), "nginx:9");
  t.equal(
    (await run("set image clone/pick nginx=nginx:9 --dry-run=server", { client })).stdout,
    "cloneset.apps.kruise.io/pick image updated (server dry run)\n",
  );
  t.equal(imageOf(cluster.read(clones, "default/pick")), "nginx:1.20");
});

t.test("tree draws owners with readiness", async (t) => {
  const cluster = withPods();
  cluster.put(
    "controllerrevisions.apps",
    controllerRevision(cluster.read(clones, "default/pick"), "79c667d6cb", 1, "nginx:1.20"),
  );
  const { stdout } = await run("tree clone/pick", { client: cluster.client });
  t.equal(stdout, golden("tree.txt", stdout));
});

t.test("tree is an object for scripts", async (t) => {
  const { stdout } = await run("tree clone/pick -o json", { client: withPods().client });
  const answer = JSON.parse(stdout);
  const object = { group: "apps.kruise.io", kind: "CloneSet", namespace: "default", name: "pick" };
  t.match(answer, {
    object,
    ready: "3/5",
    images: ["nginx:1.20"],
    creationTimestamp: "2025-12-31T23:55:00Z",
  });
  t.match(answer.children, [
    { object: { group: "", kind: "Pod", name: "pick-a" }, ready: "True", children: [] },
    { object: { name: "pick-b" } },
    { object: { name: "pick-c" }, ready: "False", reason: "ContainersNotReady" },
  ]);
});

t.test("tree of a ResourceDistribution draws its copies, and nothing else is read", async (t) => {
  const cluster = fakeCluster();
  const resource = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" } };
  cluster.put("resourcedistributions.apps.kruise.io", {
    kind: "ResourceDistribution",
    metadata: { name: "shared", uid: "uid-shared" },
    spec: { resource, targets: { allNamespaces: true } },
  });
  const ownerReferences = [
    {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "ResourceDistribution",
      name: "shared",
      uid: "uid-shared",
      controller: true,
    },
  ];
  for (const namespace of ["a", "b"])
    cluster.put("configmaps", {
      kind: "ConfigMap",
      metadata: { name: "settings", namespace, ownerReferences },
    });
  cluster.put("configmaps", { kind: "ConfigMap", metadata: { name: "settings", namespace: "c" } });
  const { stdout, stderr } = await run("tree distributor/shared", { client: cluster.client });
  t.equal(stderr, "");
  t.match(
    stdout,
    /ResourceDistribution\/shared[\s\S]*\na +├─ConfigMap\/settings[\s\S]*\nb +└─ConfigMap\/settings/,
  );
  t.same(cluster.calls, ["get resourcedistributions shared", "list configmaps"]);
});

t.test("tree of a WorkloadSpread draws the pods that it placed, whoever owns them", async (t) => {
  const cluster = fakeCluster();
  const apiVersion = "apps.kruise.io/v1beta1";
  const metadata = { name: "zones", namespace: "default", uid: "uid-zones" };
  cluster.put("workloadspreads.apps.kruise.io", { apiVersion, kind: "WorkloadSpread", metadata });
  for (const [pod, name] of [
    ["placed", "zones"],
    ["foreign", "others"],
  ] as const) {
    const annotations = {
      "apps.kruise.io/matched-workloadspread": JSON.stringify({ name, subset: "a" }),
    };
    cluster.put("pods", { kind: "Pod", metadata: { name: pod, namespace: "default", annotations } });
  }
  const { stdout, stderr } = await run("tree workloadspread/zones", { client: cluster.client });
  t.equal(stderr, "");
  t.match(stdout, /WorkloadSpread\/zones .*\ndefault +└─Pod\/placed .*\n$/);
});

t.test("expose selects the workload's pods", async (t) => {
  const cluster = withPods();
  const client = cluster.client;
  const exposed = await run("expose cloneset pick --port 80 --target-port 8080 --name web", { client });
  t.equal(exposed.stdout, "service/web exposed\n");
  t.same(cluster.read("services", "default/web")["spec"], {
    selector: { app: "pick" },
    ports: [{ port: 80, protocol: "TCP", targetPort: 8080 }],
  });
  t.match((await run("expose cloneset pick --name other", { client })).stderr, /couldn't find port/);
});

t.test("migrate creates a CloneSet of a Deployment, then moves replicas step by step", async (t) => {
  const cluster = fakeCluster();
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "a",
      namespace: "default",
      annotations: { "deployment.kubernetes.io/revision": "1", note: "kept" },
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "a" } },
      template: podTemplate("a", "nginx:1.20"),
      minReadySeconds: 2,
    },
  };
  cluster.put("deployments.apps", deployment);
  const client = cluster.client;
  const create = "migrate CloneSet --from Deployment -n default --src-name a --dst-name b --create";
  t.equal((await run(create, { client })).stdout, "Successfully created from Deployment/a to CloneSet/b\n");
  const made = cluster.read(clones, "default/b");
  t.match(made, {
    metadata: { annotations: { note: "kept" } },
    spec: { replicas: 0, minReadySeconds: 2, selector: { matchLabels: { app: "a" } } },
  });

  const clock = testClock();
  const moving = run(
    "migrate CloneSet --from Deployment -n default --src-name a --dst-name b --max-surge 2",
    { client, host: { clock } },
  );
  for (let round = 0; round < 6; round++) {
    await clock.settle();
    const current = cluster.read(clones, "default/b");
    const replicas = at(current, "spec", "replicas");
    cluster.put(clones, { ...current, status: { observedGeneration: 9, availableReplicas: replicas } });
    await clock.advance(1000);
  }
  const { code, stdout } = await moving;
  t.equal(code, 0);
  t.equal(stdout, golden("migrate.txt", stdout));
  t.equal(at(cluster.read("deployments.apps", "default/a"), "spec", "replicas"), 0);
  t.equal(at(cluster.read(clones, "default/b"), "spec", "replicas"), 3);
});

t.test("migrate refuses other kinds and a missing namespace", async (t) => {
  const client = fakeCluster().client;
  t.equal(
    (await run("migrate CloneSet --from Deployment", { client })).stderr,
    "error: must specify namespace by -n or --namespace\n",
  );
  t.equal(
    (await run("migrate StatefulSet -n x", { client })).stderr,
    "error: currently only supported CloneSet as dst type\n",
  );
});

t.test("exec and logs are kubectl's; a missing kubectl is said so", async (t) => {
  const calls: (readonly string[])[] = [];
  const runProgram = async (_name: string, argv: readonly string[]) => {
    calls.push(argv);
    return 7;
  };
  const cluster = withPods();
  const upgraded = pod("pick-z", "uid-pick", "True");
  const annotations = { "kruise.io/sidecarset-working-hotupgrade-container": '{"envoy":"envoy-2"}' };
  cluster.put("pods", { ...upgraded, metadata: { ...upgraded.metadata, annotations } });
  const client = cluster.client;
  const entered = await run("exec pick-z -S envoy -it -- sh -S", { client, host: { runProgram } });
  t.match(entered, { code: 7, stderr: "Enter working container envoy-2 of SidecarSet.\n" });
  t.same(calls, [["exec", "-c", "envoy-2", "pick-z", "-it", "--", "sh", "-S"]]);
  t.match(await run("logs pick-a", { client }), { code: 1, stderr: /not on the PATH/ });
});

t.test("logs of a workload are those of its pods, by its selector", async (t) => {
  const calls: string[] = [];
  const runProgram = async (_name: string, argv: readonly string[]) => {
    calls.push(argv.join(" "));
    return 0;
  };
  const { client } = withPods();
  const logs = (words: string) => run(`logs ${words}`, { client, host: { runProgram } });
  t.equal((await logs("clone/pick -c web --tail 5 -n default")).code, 0);
  await logs("clone/pick --max-log-requests=3");
  await logs("deploy/web");
  await logs("pick-a");
  t.same(calls, [
    "logs -l app=pick --prefix --max-log-requests=50 -c web --tail 5 -n default",
    "logs -l app=pick --prefix --max-log-requests=3",
    "logs deploy/web",
    "logs pick-a",
  ]);
  t.match(await logs("clone/none"), { code: 1, stderr: /clonesets.apps.kruise.io "none" not found/ });
  t.match(await logs("sidecarset/proxy"), {
    code: 1,
    stderr: /not found|no pods that can be told by labels/,
  });
});

t.test("create ContainerRecreateRequest takes the pod's containers unless some are named", async (t) => {
  const requests = "containerrecreaterequests.apps.kruise.io";
  const cluster = fakeCluster();
  const containers = ["app", "proxy"].map((name) => ({ name, image: "i" }));
  cluster.put("pods", { ...pod("web-1", "uid-web", "True"), spec: { containers } });
  const all = await run("create ContainerRecreateRequest both --pod web-1", { client: cluster.client });
  t.same([all.code, all.stdout], [0, "containerrecreaterequest.apps.kruise.io/both created\n"]);
  t.same(at(cluster.read(requests, "default/both"), "spec"), {
    podName: "web-1",
    containers: [{ name: "app" }, { name: "proxy" }],
    strategy: { failurePolicy: "Fail", unreadyGracePeriodSeconds: 3, minStartedSeconds: 3 },
    activeDeadlineSeconds: 300,
    ttlSecondsAfterFinished: 1800,
  });
  const one = "create crr one --pod web-1 --containers proxy -u 0 -m 9";
  t.equal((await run(one, { client: cluster.client })).code, 0);
  t.match(at(cluster.read(requests, "default/one"), "spec"), {
    containers: [{ name: "proxy" }],
    strategy: { unreadyGracePeriodSeconds: 0, minStartedSeconds: 9 },
  });
  const bad = await run("create crr", { client: cluster.client });
  t.match(bad.stderr, /exactly one NAME is required/);
  t.match((await run("create crr x", { client: cluster.client })).stderr, /--pod is not set/);
});

t.test("create broadcastJob and job: of an image, or of a cron job", async (t) => {
  const cluster = fakeCluster();
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "task:1" }] } };
  const cron = (name: string, form: object) =>
    toAnyObject({
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "AdvancedCronJob",
      metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1" },
      spec: { schedule: "@daily", template: form },
    });
  const metadata = { labels: { a: "b" }, annotations: { c: "d" } };
  cluster.put(
    "advancedcronjobs.apps.kruise.io",
    cron("every", { broadcastJobTemplate: { metadata, spec: { template } } }),
  );
  cluster.put("advancedcronjobs.apps.kruise.io", cron("other", { jobTemplate: { spec: { template } } }));
  const client = cluster.client;
  const image = await run("create broadcastJob now --image busybox:1.34 -- date -u", { client });
  t.same([image.code, image.stdout], [0, "broadcastjob.apps.kruise.io/now created\n"]);
  t.match(at(cluster.read("broadcastjobs.apps.kruise.io", "default/now"), "spec", "template", "spec"), {
    restartPolicy: "Never",
    containers: [{ image: "busybox:1.34", command: ["date", "-u"] }],
  });
  t.equal((await run("create bcj once --from acj/every", { client })).code, 0);
  t.match(cluster.read("broadcastjobs.apps.kruise.io", "default/once"), {
    metadata: {
      labels: { a: "b" },
      annotations: { c: "d", "cronjob.kubernetes.io/instantiate": "manual" },
      ownerReferences: [{ kind: "AdvancedCronJob", name: "every", uid: "uid-every" }],
    },
    spec: { template },
  });
  const job = await run("create job once --from acj/other", { client });
  t.same([job.code, job.stdout], [0, "job.batch/once created\n"]);
  t.match((await run("create job x --from acj/every", { client })).stderr, /has no template of a Job/);
  t.match((await run("create bcj x", { client })).stderr, /either --image or --from must be specified/);
});

t.test("objects are printed as people read them: who, what is wanted, what is", async (t) => {
  const cluster = fakeCluster();
  const { apiVersion, kind, metadata, spec, status } = cloneSet("sample");
  cluster.put(clones, toAnyObject({ status, spec, metadata, kind, apiVersion }));
  const { client } = cluster;
  const members = (text: string, indent: string) =>
    [...text.matchAll(new RegExp(`^${indent}(\\w+):`, "gm"))].map(([, name]) => name);
  const order = ["apiVersion", "kind", "metadata", "spec", "status"];
  t.same(members((await run("get clone/sample -o yaml", { client })).stdout, ""), order);
  const list = (await run("get clone -o yaml", { client })).stdout;
  t.same(members(list.replace("  - ", "    "), " {4}"), order);
  const json: object = JSON.parse((await run("get clone/sample -o json", { client })).stdout);
  t.same(Object.keys(json), order);
});

t.test("get -w goes on with what changes, across streams that end, until Ctrl-C", async (t) => {
  const cluster = fakeCluster();
  cluster.put(clones, cloneSet("first"));
  const clock = testClock();
  const stopping = new AbortController();
  const lines: string[] = [];
  const io = { signal: stopping.signal, stdout: { write: (text: string) => lines.push(text.trimEnd()) } };
  const running = run("get clone -w -o name", { client: cluster.client, host: { clock }, io });
  await clock.settle();
  cluster.put(clones, cloneSet("second"));
  await clock.settle();
  cluster.endWatches();
  await clock.settle();
  cluster.put(clones, cloneSet("third"));
  clock.skip(1_000);
  await clock.settle();
  cluster.put(clones, cloneSet("first", { spec: { replicas: 9 } }));
  await clock.settle();
  stopping.abort();
  const name = (name: string) => `cloneset.apps.kruise.io/${name}`;
  t.match(await running, { code: 130, stderr: "" });
  t.same(lines, [name("first"), name("second"), name("third"), name("first")]);
  const { client } = cluster;
  t.match(await run("get clone,pods -w", { client }), { code: 1, stderr: /--watch needs one type/ });
  t.match(await run("get clone/none -w", { client }), { code: 1, stderr: /NotFound/ });
});
