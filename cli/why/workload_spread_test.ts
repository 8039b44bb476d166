import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { cloneSet } from "../../testkit/cli/workload_builder.ts";
import { spreadOf } from "../../testkit/controller/workload_spread_builder.ts";
import type { FakeServer } from "../../testkit/kube/fake_server.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";

const plural = "workloadspreads.apps.kruise.io";
const now = "2026-01-01T00:00:00Z";

interface PodOptions {
  /** What its annotation says; absent for a pod that was there before. */
  readonly subset?: string;
  readonly cost?: number;
  readonly owner?: string;
  readonly unschedulable?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

function pod(
  name: string,
  { subset, cost, owner = "uid-web", unschedulable, labels }: PodOptions,
): AnyObject {
  const match = JSON.stringify({ name: "web-spread", subset });
  const annotations = {
    ...(subset === undefined ? {} : { "apps.kruise.io/matched-workloadspread": match }),
    ...(cost === undefined ? {} : { "controller.kubernetes.io/pod-deletion-cost": String(cost) }),
  };
  const ownerReferences = [
    {
      apiVersion: "apps/v1",
      kind: owner === "uid-web" ? "CloneSet" : "ReplicaSet",
      uid: owner,
      controller: true,
    },
  ];
  const noNode = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
  return toAnyObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      creationTimestamp: "2025-12-31T23:00:00Z",
      annotations,
      labels,
      ownerReferences,
    },
    spec: { ...(unschedulable ? {} : { nodeName: "node1" }), containers: [{ name: "a", image: "a:1" }] },
    status: unschedulable ? { phase: "Pending", conditions: [noNode] } : { phase: "Running" },
  });
}

function cluster(objects: Readonly<Record<string, readonly object[]>>): FakeServer {
  const fake = fakeCluster();
  fake.put("nodes", { metadata: { name: "node1", labels: { zone: "x" } } });
  for (const [resource, all] of Object.entries(objects))
    for (const each of all) fake.put(resource, toAnyObject(each));
  return fake;
}

const clones = "clonesets.apps.kruise.io";
const web = (replicas: number) => cloneSet("web", { spec: { replicas } });

t.test("a plan says where the pods are, which costs are written, and where the next pod goes", async (t) => {
  const spread = spreadOf([2, 3, undefined]);
  const pods = [
    pod("a1", { subset: "a", cost: 300 }),
    pod("a2", { subset: "a" }),
    pod("a3", { subset: "a", cost: 300 }),
    pod("b1", { subset: "b", cost: 200 }),
    pod("other", { owner: "uid-other" }),
  ];
  const { client } = cluster({ [plural]: [spread], [clones]: [web(6)], pods });
  const { code, stdout, stderr } = await run("plan workloadspread/web-spread", { client });
  t.equal(code, 0, stderr);
  t.equal(
    stdout,
    `workloadspread.apps.kruise.io/web-spread: 4 of 6 pods of CloneSet web: a 3 of at most 2, b 1 of at most 3, c 0
Next:
  set deletion cost -100: 1 pod (a1)
  set deletion cost 300: 1 pod (a2)
Note: a new pod goes to subset b.
Note: subset a has 1 pod more than its maxReplicas: the surplus goes first when the workload is scaled in.
`,
  );
});

t.test("a manifest is planned on the pods that are there: what it would take over", async (t) => {
  const { status: _, metadata, ...rest } = spreadOf([1, undefined]);
  const manifest = { ...rest, metadata: { name: metadata.name } };
  const { client } = cluster({ [clones]: [web(3)], pods: [pod("p1", {}), pod("p2", {})] });
  const host = { readFile: async () => JSON.stringify(manifest) };
  const { code, stdout, stderr } = await run("plan -f spread.yaml", { client, host });
  t.equal(code, 0, stderr);
  t.match(stdout, /: 2 of 3 pods of CloneSet web: a 1 of at most 1, b 1\n/);
  t.match(
    stdout,
    / {2}take into subset a: 1 pod \(p\d\)\n {2}take into subset b: 1 pod \(p\d\)\n {2}set deletion cost 200: 1 pod/,
  );
  t.match(stdout, /Note: a new pod goes to subset b\./);
});

t.test("what was recorded at admission is waited for, in plan and in why", async (t) => {
  const rows = [
    {
      name: "a",
      replicas: 1,
      missingReplicas: 0,
      creatingPods: { x: now, y: now },
      deletingPods: { a1: now },
    },
    { name: "b", replicas: 0, missingReplicas: 1 },
  ];
  const status = { observedGeneration: 1, versionedSubsetStatuses: { versionIgnored: rows } };
  const spread = spreadOf([2, 1], { status });
  const pods = [pod("a1", { subset: "a", cost: 200 })];
  const { client } = cluster({ [plural]: [spread], [clones]: [web(3)], pods });
  const planned = await run("plan workloadspread/web-spread", { client });
  t.match(
    planned.stdout,
    /Admitted +2 pods had a place at admission and are not seen yet\n +ends when they are seen/,
  );
  t.match(planned.stdout, /Leaving +1 pod may go and is still there \(a1\)\n/);
  t.match(planned.stdout, /Note: a new pod goes to subset b\.\nLooks again after \d+\.\d s\./);
  const why = await run("why workloadspread/web-spread", { client });
  t.match(
    why.stdout,
    /: 1 of 3 pods of CloneSet web: a 1 of at most 2, b 0 of at most 1\nIt waits for 3 reasons:\n[\s\S]*Admitted/,
  );
});

t.test("where nothing has room, new pods get no place", async (t) => {
  const pods = [pod("a1", { subset: "a", cost: 100 }), pod("plain", { unschedulable: true })];
  const { client } = cluster({ [plural]: [spreadOf([1])], [clones]: [web(2)], pods });
  const { stdout } = await run("plan workloadspread/web-spread", { client });
  t.match(stdout, /: 2 of 2 pods of CloneSet web: a 1 of at most 1, 1 in no subset\n/);
  t.match(stdout, / {2}set deletion cost -200: 1 pod \(plain\)\n/);
  t.match(stdout, /Note: every subset is full or closed: a new pod is created without a place\./);
});

t.test("pods that find no node are moved, and their subset is closed", async (t) => {
  const scheduleStrategy = { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 5 } } as const;
  const spread = spreadOf([2, undefined], { scheduleStrategy });
  const pods = [pod("a1", { subset: "a", cost: 200, unschedulable: true })];
  const { client } = cluster({ [plural]: [spread], [clones]: [web(2)], pods });
  const { stdout } = await run("plan workloadspread/web-spread", { client });
  t.match(stdout, / {2}delete pod a1, which finds no node in subset a\n/);
  t.match(
    stdout,
    /Note: a new pod goes to subset b\.\nNote: subset a takes no new pods until 2026-01-01T00:05:00Z at least/,
  );
});

t.test("a workload that is not there", async (t) => {
  const { client } = cluster({ [plural]: [spreadOf([1])] });
  const { code, stdout } = await run("plan workloadspread/web-spread", { client });
  t.equal(code, 0);
  t.match(
    stdout,
    /: no pods: CloneSet web is not in namespace default\nNothing to do\.\nIt waits for one reason:\n {2}NoTarget/,
  );
  const why = await run("why workloadspread/web-spread", { client });
  t.match(why.stdout, /next: kubectl get cloneset\.apps\.kruise\.io -n default/);
});

t.test("a Deployment's pods cost by the version of its present template", async (t) => {
  const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const spread = spreadOf([1, undefined], { targetRef });
  const revision = (number: number) => ({ "deployment.kubernetes.io/revision": String(number) });
  const owner = [{ uid: "uid-d", name: "web", controller: true }];
  const set = (hash: string, number: number) => ({
    metadata: {
      namespace: "default",
      name: `web-${hash}`,
      uid: `uid-${hash}`,
      labels: { "pod-template-hash": hash },
      annotations: revision(number),
      ownerReferences: owner,
    },
    spec: { replicas: 1 },
  });
  const deployment = (observedGeneration: number) => ({
    metadata: { namespace: "default", name: "web", uid: "uid-d", generation: 2, annotations: revision(2) },
    spec: { replicas: 2 },
    status: { observedGeneration },
  });
  const placed = (name: string, hash: string) =>
    pod(name, { subset: "a", owner: `uid-${hash}`, labels: { "pod-template-hash": hash } });
  const rest = {
    [plural]: [spread],
    "replicasets.apps": [set("one", 1), set("two", 2)],
    pods: [placed("old", "one"), placed("new", "two")],
  };
  const { client } = cluster({ ...rest, "deployments.apps": [deployment(2)] });
  const { stdout } = await run("plan workloadspread/web-spread", { client });
  t.match(stdout, /: 2 of 2 pods of Deployment web: a 2 of at most 1, b 0\n/);
  t.match(stdout, / {2}set deletion cost 100: 1 pod \(old\)\n {2}set deletion cost 200: 1 pod \(new\)\n/);
  t.match(stdout, /Note: a new pod goes to subset b\./);
  const unseen = cluster({ ...rest, "deployments.apps": [deployment(1)] });
  const early = await run("plan workloadspread/web-spread", unseen);
  t.match(early.stdout, /NoVersion +deletion costs are not written: Deployment web has no ReplicaSet/);
  t.notMatch(early.stdout, /set deletion cost|a new pod goes/);
});

t.test("pods of StatefulSets are placed by ordinal", async (t) => {
  const targetRef = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };
  const set = { metadata: { namespace: "default", name: "web", uid: "uid-web" }, spec: { replicas: 5 } };
  const { client } = cluster({
    [plural]: [spreadOf([2, 0, 3, undefined, undefined], { targetRef })],
    "statefulsets.apps": [set],
    pods: [pod("web-0", { subset: "a" })],
  });
  const { stdout } = await run("plan workloadspread/web-spread", { client });
  t.match(
    stdout,
    /: 1 of 5 pods of StatefulSet web: a 1 of at most 2, b 0 of at most 0, c 0 of at most 3, d 0, e 0\nNothing to do\.\n/,
  );
  t.match(stdout, /Note: pods are placed by ordinal: a 0 to 1, b none, c 2 to 4, d from 5 on, e none\.\n/);
});
