import t from "tap";
import { defaultSidecarSet, type SidecarSet, sidecarSet, sidecarSetHashes } from "../../crds/index.ts";
import { type Client, KubeError } from "../../kube/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { golden } from "../../testkit/cli/golden.ts";
import { clusterOfOldPods } from "../../testkit/cli/old_pods.ts";
import { cloneSet } from "../../testkit/cli/workload_builder.ts";
import { type AnyObject, fieldsAt, toAnyObject } from "../fields.ts";
import { exitCodeOf, exitCodes, type State, stateOf } from "./answer.ts";
import type { Cause } from "./causes/cause.ts";
import type { Explanation } from "./explain.ts";

const clones = "clonesets.apps.kruise.io";

t.test("why names the budget and the pods that exhaust it", async (t) => {
  const { code, stdout } = await run("why clone/sample", { client: clusterOfOldPods({}, ["a"]).client });
  t.equal(code, 0);
  t.equal(stdout, golden("why_budget.txt", stdout));
});

t.test("why names a pause, and plan agrees", async (t) => {
  const client = clusterOfOldPods({ paused: true }).client;
  const { stdout } = await run("why clone/sample", { client });
  t.match(stdout, /Paused/);
  t.match((await run("plan clone/sample", { client })).stdout, /Paused/);
});

/** A client whose user may not list these. */
function limited(client: Client, ...refused: readonly string[]): Client {
  const list: Client["list"] = async (resource, options) => {
    const { group, plural } = resource;
    if (!refused.includes(plural)) return client.list(resource, options);
    const where =
      options?.namespace === undefined ? "at the cluster scope" : `in the namespace "${options.namespace}"`;
    const message = `${plural} is forbidden: User "dev" cannot list resource "${plural}" in API group "${group}" ${where}`;
    throw new KubeError("Forbidden", message, { status: 403 });
  };
  return { ...client, list };
}

t.test("who may not read everything is told so first, what to ask for, and what is known", async (t) => {
  const client = limited(clusterOfOldPods({}, ["a"]).client, "nodes", "events", "leases");
  const { code, stdout } = await run("why clone/sample", { client });
  t.equal(code, 1);
  const [, second, role, clusterRole] = stdout.split("\n");
  t.match(
    second,
    /^Cannot tell all .*: you may not list events in namespace default; list nodes in the whole cluster\.$/,
  );
  t.match(role, "  ask for: kubectl create role refit-viewer -n default --verb=list --resource=events");
  t.match(clusterRole, "  ask for: kubectl create clusterrole refit-viewer --verb=list --resource=nodes");
  t.match(stdout, /\n {2}ReadinessProbe +1 pod: container nginx runs and is not ready \(sample-a\)/);
  t.match(
    stdout,
    /Note: not read: leases\.coordination\.k8s\.io \(not allowed\)\./,
    "what is not needed comes last",
  );
});

t.test("who may read nothing beside the object is never told that nothing holds it back", async (t) => {
  const everything = ["pods", "events", "leases", "nodes", "controllerrevisions", "persistentvolumeclaims"];
  const client = limited(clusterOfOldPods({}, ["a"]).client, ...everything, "containerrecreaterequests");
  for (const words of ["why clone/sample", "why"]) {
    const { code, stdout } = await run(words, { client });
    t.equal(code, 1, words);
    t.notMatch(stdout, /Nothing/, words);
    t.match(stdout, /CannotTell|Cannot tell/, words);
  }
  const answer = JSON.parse((await run("why clone/sample -o json", { client })).stdout);
  t.equal(answer.state, "unknown");
  t.same(answer.unread.find(({ what }: { what: string }) => what === "pods").rule, {
    verb: "list",
    resource: "pods",
    namespace: "default",
  });
});

t.test("a script gets the same as an object, and a state as exit code", async (t) => {
  const { code, stdout } = await run("why clone/sample -o json", {
    client: clusterOfOldPods({}, ["a"]).client,
  });
  t.equal(stdout, golden("why.json", stdout));
  t.match([code, JSON.parse(stdout)], [0, { state: "progressing", reasons: [{ reason: "ReadinessProbe" }] }]);
  t.match(
    (await run("why clone/sample -o yaml", { client: clusterOfOldPods({}, ["a"]).client })).stdout,
    /^state: progressing$/m,
  );
  t.match(await run("why clone/sample -o name", { client: clusterOfOldPods({}).client }), {
    code: 1,
    stderr: /invalid value "name" for --output: must be json or yaml/,
  });
});

t.test("the state is the first of these that holds", async (t) => {
  const nothing = {
    forecast: undefined,
    causes: [],
    isStuck: false,
    isIdle: true,
    message: "",
    isReport: false,
    isDone: false,
    missing: [],
    unread: [],
  };
  const cause = (outlook: Cause["outlook"]): Cause => ({ reason: "R", message: "", until: "", outlook });
  const table: readonly [Partial<Explanation>, State, number][] = [
    [{ missing: [{ what: "pods", why: "not allowed" }], isStuck: true }, "unknown", 1],
    [{ isStuck: true, isDone: true, causes: [cause("stuck")] }, "stuck", 3],
    [{ isDone: true, causes: [cause("held")] }, "done", 0],
    [{ isReport: true, causes: [cause("held")] }, "done", 0],
    [{ isIdle: false, causes: [cause("held")] }, "progressing", 0],
    [{ causes: [cause("held"), cause("moving")] }, "progressing", 0],
    [{ causes: [cause("held")] }, "waiting", 4],
    [{}, "done", 0],
  ];
  for (const [parts, state, code] of table) {
    t.equal(stateOf({ ...nothing, ...parts }), state);
    t.equal(exitCodes[state], code);
  }
  t.equal(exitCodeOf(["waiting", "unknown", "stuck"]), 3);
  t.equal(exitCodeOf(["waiting", "unknown"]), 1);
  t.equal(exitCodeOf(["progressing", "waiting"]), 4);
  t.equal(exitCodeOf([]), 0);
});

t.test("without a name it is a table of what does not get on", async (t) => {
  const fake = clusterOfOldPods({}, ["a"]);
  const rested = cloneSet("rested", {
    spec: { replicas: 0 },
    status: { replicas: 0, readyReplicas: 0, updatedReplicas: 0 },
  });
  fake.put(clones, rested);
  fake.put(clones, {
    ...cloneSet("part", { spec: { replicas: 1 } }),
    metadata: {
      ...cloneSet("part").metadata,
      uid: "uid-part",
      ownerReferences: [
        {
          apiVersion: "apps.kruise.io/v1beta1",
          kind: "UnitedDeployment",
          name: "whole",
          uid: "u",
          controller: true,
        },
      ],
    },
  });
  const { client } = fake;
  const { code, stdout } = await run("why", { client });
  t.equal(stdout, golden("why_table.txt", stdout));
  t.equal(code, 0);
  t.notMatch(stdout, /rested|part/, "neither what is done nor what belongs to another object");
  const everywhere = await run("why -A", { client });
  t.match(everywhere, { code: 0, stdout: /^NAMESPACE +OBJECT +STATE/ });
  t.match(await run("why clone -o json", { client }), { code: 0, stdout: /"reason": "ReadinessProbe"/ });
  t.same(await run("why clone -l app=other", { client }), {
    code: 0,
    stdout: "Nothing is held up: 0 objects looked at in namespace default.\n",
    stderr: "",
  });
  const unseen = await run("why clone", { client: limited(client, "clonesets") });
  t.match(unseen, { code: 1, stdout: /^Cannot tell of all: you may not list clonesets/ });
  t.notMatch(unseen.stdout, /held up/, "nothing is said of what was not seen");
  t.equal(fake.patches.length, 0);
  for (const flag of ["-A", "-l app=sample"])
    t.match(await run(`why clone/sample ${flag}`, { client }), {
      code: 1,
      stderr: /chooses among objects, but clone\/sample is named/,
    });
  t.match(await run("why nonsense", { client }), {
    code: 1,
    stderr: /"nonsense" is neither a resource type nor a workload/,
  });
  t.match(await run("why cm", { client }), { code: 1, stderr: /why is not supported on configmaps/ });
});

t.test("plan says what comes next, from the object or from a manifest", async (t) => {
  const fake = clusterOfOldPods({});
  const { stdout } = await run("plan clone/sample", { client: fake.client });
  t.equal(stdout, golden("plan.txt", stdout));
  const stored = fake.read(clones, "default/sample");
  const manifest = {
    ...stored,
    metadata: { name: "sample" },
    spec: { ...fieldsAt(stored, "spec"), replicas: 5 },
  };
  const host = { readFile: async () => JSON.stringify(manifest) };
  const planned = await run("plan -f sample.json", { client: fake.client, host });
  t.match(planned.stdout, /3 of 5 pods/);
  t.equal(fake.patches.length, 0, "nothing is written");
});

t.test("plan is an object for scripts, and a list for manifests", async (t) => {
  const { client } = clusterOfOldPods({ partition: 3 });
  const { code, stdout } = await run("plan clone/sample -o json", { client });
  t.equal(code, 0);
  t.match(JSON.parse(stdout), {
    object: { group: "apps.kruise.io", kind: "CloneSet", namespace: "default", name: "sample" },
    message: /^3 of 3 pods/,
    actions: [{ type: "create revision", message: /^create revision sample-/ }],
    reasons: [{ reason: "Partition", outlook: "held", next: /^refit rollout promote/ }],
    notices: [],
  });
  const manifest = cloneSet("sample", { spec: { replicas: 4 } });
  const host = { readFile: async () => JSON.stringify(manifest) };
  const planned = await run("plan -f sample.json -o json", { client, host });
  t.match(JSON.parse(planned.stdout), { items: [{ object: { name: "sample" } }] });
});

t.test("plan of a manifest that the cluster does not have yet", async (t) => {
  const yaml = `apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: fresh}
spec:
  replicas: 2
  selector: {matchLabels: {app: fresh}}
  template:
    metadata: {labels: {app: fresh}}
    spec: {containers: [{name: a, image: "nginx:1.20"}]}
`;
  const { code, stdout } = await run("plan -f fresh.yaml", {
    client: fakeCluster().client,
    host: { readFile: async () => yaml },
  });
  t.equal(code, 0);
  t.match(stdout, /create revision fresh-/);
});

t.test("plan and why refuse what they cannot plan", async (t) => {
  const client = fakeCluster().client;
  t.match(await run("why cm/x", { client }), {
    code: 1,
    stderr: /why is not supported on configmaps: it knows workloads, pods, jobs and the kinds of this API/,
  });
  t.match(await run("plan cm/x", { client }), {
    code: 1,
    stderr: /not supported on configmaps: it knows CloneSet, .*, WorkloadSpread, .*, PodUnavailableBudget,/,
  });
  const host = { readFile: async () => "kind: {" };
  t.match(await run("plan -f broken.yaml", { client, host }), {
    code: 1,
    stderr: /^error: broken.yaml, document 1:/,
  });
  const job = {
    readFile: async () =>
      JSON.stringify({
        apiVersion: "apps.kruise.io/v1alpha1",
        kind: "EphemeralJob",
        metadata: { name: "look" },
      }),
  };
  t.match(await run("plan -f look.yaml", { client, host: job }), {
    code: 1,
    stderr: /^error: look.yaml: no object in it .*: plan -f knows CloneSet, .*; apply others and name them$/m,
  });
  t.match(await run("plan clone/x -f x.yaml", { client, host }), { code: 1, stderr: /not both/ });
  const slips = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: "web" },
    spec: { replica: 2, template: { spec: { containers: [{ name: "a", imagee: "b" }] } } },
  };
  const slip = { readFile: async () => JSON.stringify(slips) };
  t.same(await run("plan -f web.yaml", { client, host: slip }), {
    code: 1,
    stdout: "",
    stderr:
      'error: web.yaml: CloneSet web: unknown field "spec.replica" (did you mean "replicas"?), ' +
      'unknown field "spec.template.spec.containers[0].imagee" (did you mean "image"?)\n',
  });
});

t.test("jobs: which nodes wait, what runs next", async (t) => {
  const fake = fakeCluster();
  const node = (name: string, unschedulable: boolean) =>
    toAnyObject({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, uid: `uid-${name}`, resourceVersion: "1" },
      spec: { unschedulable },
      status: { allocatable: { cpu: "2", memory: "4Gi", pods: "110" } },
    });
  fake.put("nodes", node("node1", false));
  fake.put("nodes", node("node2", false));
  fake.put("nodes", node("node3", true));
  const job = toAnyObject({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "BroadcastJob",
    metadata: { name: "task", namespace: "default", uid: "uid-task", resourceVersion: "1" },
    spec: {
      parallelism: 1,
      template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "task:1" }] } },
    },
  });
  fake.put("broadcastjobs.apps.kruise.io", job);
  const planned = await run("plan bcj/task", { client: fake.client });
  t.equal(planned.code, 0, planned.stderr);
  t.match(planned.stdout, /running, 2 nodes, 0 pods active/);
  t.match(planned.stdout, /create pod task-/);
  t.match(planned.stdout, /1 node waits, 0 pods are active/);
  t.match((await run("why bcj/task", { client: fake.client })).stdout, /Parallelism/);
});

t.test("cron jobs: what is due, and when the next run is", async (t) => {
  const fake = fakeCluster();
  const container = { name: "a", image: "task:1" };
  const jobTemplate = {
    spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } },
  };
  const put = (schedule: string, status = {}) =>
    fake.put(
      "advancedcronjobs.apps.kruise.io",
      toAnyObject({
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "AdvancedCronJob",
        metadata: {
          name: "tick",
          namespace: "default",
          uid: "uid-tick",
          resourceVersion: "1",
          creationTimestamp: "2025-12-31T22:00:00Z",
        },
        spec: { schedule, timeZone: "UTC", template: { jobTemplate } },
        status,
      }),
    );
  put("30 * * * *");
  const planned = await run("plan acj/tick", { client: fake.client });
  t.equal(planned.code, 0, planned.stderr);
  t.match(planned.stdout, /0 children, 0 active, last run never/);
  t.match(planned.stdout, /create Job tick-\d+/);
  t.match((await run("why acj/tick", { client: fake.client })).stdout, /the next run is due at 20/);
  t.match((await run("why acj/tick -o json", { client: fake.client })).stdout, /"state": "progressing"/);
  put("0 3 1 1 *", { lastScheduleTime: "2026-01-01T03:00:00Z" });
  t.match((await run("why acj/tick -o json", { client: fake.client })).stdout, /"state": "done"/, "at rest");
});

t.test("distributions: where copies are missing, and why", async (t) => {
  const fake = fakeCluster();
  const metadata = { name: "settings" };
  const distribution = toAnyObject({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ResourceDistribution",
    metadata: { ...metadata, uid: "uid-settings", resourceVersion: "1" },
    spec: {
      resource: { apiVersion: "v1", kind: "ConfigMap", metadata, data: { mode: "one" } },
      targets: { includedNamespaces: { list: [{ name: "a" }, { name: "b" }, { name: "gone" }] } },
    },
  });
  fake.put("resourcedistributions.apps.kruise.io", distribution);
  for (const name of ["a", "b", "c"]) fake.put("namespaces", toAnyObject({ metadata: { name } }));
  fake.put("configmaps", toAnyObject({ metadata: { name: "settings", namespace: "b" } }));
  const ownerReferences = [{ uid: "uid-settings", controller: true }];
  fake.put("configmaps", toAnyObject({ metadata: { name: "settings", namespace: "c", ownerReferences } }));
  const planned = await run("plan distributor/settings", { client: fake.client });
  t.equal(planned.code, 0, planned.stderr);
  t.match(planned.stdout, /3 target namespaces, 0 hold the copy/);
  t.match(planned.stdout, /create ConfigMap a\/settings\n *delete ConfigMap c\/settings/);
  const why = await run("why distributor/settings", { client: fake.client });
  t.match(why.stdout, /ConflictOccurred +conflict with existing resources.*: b\n +ends when/);
  t.match(why.stdout, /NamespaceNotExists +namespace not found or is terminating: gone\n +ends when/);
});

/** A pod of the namespace; with the sidecars of the set as they were at an image when one is named. */
function sidecarPod(name: string, namespace: string, set: SidecarSet, image?: string): AnyObject {
  const sidecars = {
    ...set.spec,
    containers: [{ ...set.spec.containers?.[0], name: "side", image: image ?? "" }],
  };
  const { hash, hashWithoutImage } = sidecarSetHashes(sidecars);
  const annotations = {
    "kruise.io/sidecarset-injected-list": "proxy",
    "kruise.io/sidecarset-hash": JSON.stringify({ proxy: hash }),
    "kruise.io/sidecarset-hash-without-image": JSON.stringify({ proxy: hashWithoutImage }),
  };
  const side = image === undefined ? [] : [{ name: "side", image }];
  return toAnyObject({
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      labels: { app: "web" },
      ...(image === undefined ? {} : { annotations }),
    },
    spec: { containers: [{ name: "app", image: "app:1" }, ...side] },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "app" }, ...side].map((one) => ({
        image: "x",
        imageID: "x",
        ...one,
        ready: true,
      })),
    },
  });
}

t.test("SidecarSets: which pods get what, which do not, and why", async (t) => {
  const fake = fakeCluster();
  for (const [name, team] of [
    ["default", "a"],
    ["other", "a"],
    ["foreign", "b"],
  ] as const)
    fake.put("namespaces", { metadata: { name, labels: { team } } });
  const manifest = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "proxy", uid: "uid-proxy", generation: 1 },
    spec: {
      selector: { matchLabels: { app: "web" } },
      namespaceSelector: { matchLabels: { team: "a" } },
      containers: [{ name: "side", image: "side:1" }],
    },
  };
  const stored = toAnyObject(defaultSidecarSet(manifest));
  fake.put("sidecarsets.apps.kruise.io", stored);
  const read = sidecarSet.readStored(stored);
  if (!("object" in read) || read.object.spec === undefined) throw new Error("the set cannot be read");
  const set = { ...read.object, spec: read.object.spec };
  fake.put("pods", sidecarPod("web", "default", set, "side:1"));
  fake.put("pods", sidecarPod("web", "other", set, "side:1"));
  fake.put("pods", sidecarPod("early", "default", set));
  fake.put("pods", sidecarPod("web", "foreign", set));
  const { client } = fake;
  const why = await run("why sidecarset/proxy", { client });
  t.equal(why.code, 0, why.stderr);
  const changed = {
    ...manifest,
    spec: { ...manifest.spec, containers: [{ name: "side", image: "side:2" }] },
  };
  const host = { readFile: async () => JSON.stringify(changed) };
  const plan = await run("plan -f proxy.json", { client, host });
  t.equal(plan.code, 0, plan.stderr);
  const both = `${why.stdout}\n${plan.stdout}`;
  t.equal(both, golden("why_sidecar_set.txt", both));
  t.match(plan.stdout, "in place: side side:1 -> side:2");
  t.same(fake.writes, []);
  const open = { ...manifest, spec: { ...manifest.spec, selector: {} } };
  const refused = await run("plan -f proxy.json", {
    client,
    host: { readFile: async () => JSON.stringify(open) },
  });
  t.match(refused, { code: 1, stderr: /spec.selector of a SidecarSet must not be empty/ });
});
