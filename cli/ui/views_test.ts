/** What is made of objects and items for the views of the page, without a browser and without a cluster. */
import t from "tap";
import { pod, workload } from "../../testkit/cli/page_items_builder.ts";
import { revisedTemplate } from "../rollout/revised.ts";
import { groupedPods, groupingsOf } from "./page/pod_groups.ts";
import { pageFiles } from "./page_files.ts";
import { labelFilter } from "./shared/label_filter.ts";
import { workloadItem } from "./watching/workload_item.ts";
import { EventLog } from "./workload/event_log.ts";
import { fieldChanges } from "./workload/field_changes.ts";
import { podItem } from "./workload/pod_item.ts";
import { pullItem } from "./workload/pull_items.ts";
import { recreateItem } from "./workload/recreate_items.ts";
import { describeRevisions } from "./workload/revision_items.ts";
import { rolloutItem } from "./workload/rollout_item.ts";
import { injectedPod, ownerItems } from "./workload/sidecar_owners.ts";
import { subsetsOfSpread, subsetsOfUnited } from "./workload/subset_items.ts";

t.test("every module that the page imports is served", async (t) => {
  const files = await pageFiles();
  for (const [path, text] of Object.entries(files)) {
    if (!path.endsWith(".js")) continue;
    for (const [, to = ""] of text.matchAll(/^(?:import|export) .*?from ?"([./][^"]+)"/gms))
      t.ok(files[new URL(to, `http://page${path}`).pathname] !== undefined, `${path} imports ${to}`);
  }
  t.ok(files["/kube/core/selector_text.js"]);
});

t.test("labels filter as a selector does; what cannot be read filters nothing, and says why", async (t) => {
  const labelled: Readonly<Record<string, Record<string, string>>> = {
    a: { app: "web", tier: "db" },
    b: { app: "web" },
    c: {},
  };
  const matched = (text: string): string[] =>
    Object.entries(labelled)
      .filter(([, labels]) => labelFilter(text).matches(labels))
      .map(([name]) => name);
  t.strictSame(matched(""), ["a", "b", "c"]);
  t.strictSame(matched("app=web,tier!=db"), ["b"]);
  t.strictSame(matched("app in (web), tier"), ["a"]);
  t.strictSame(matched("!app"), ["c"]);
  t.equal(labelFilter("app=web").problem, undefined);
  t.strictSame(matched("app=web,"), ["a", "b", "c"]);
  t.match(labelFilter("app=web,").problem, /expected: identifier after ','/);
});

const groups = (pods: readonly ReturnType<typeof pod>[], by: Parameters<typeof groupedPods>[1]): string[] =>
  groupedPods(
    pods.map((each) => [each.name, each]),
    by,
  ).map(({ pod, group }) => `${group}: ${pod.name}`);

t.test("pods are grouped by what tells them apart, those without it last", async (t) => {
  const pods = [
    pod(10, { zone: "b", subset: "s", node: "" }),
    pod(2, { zone: "", subset: "" }),
    pod(1, { zone: "a", subset: "s", node: "n-10" }),
    pod(3, { zone: "b", node: "n-9" }),
  ];
  t.strictSame(groups(pods, "zone"), ["a: web-1", "b: web-3", "b: web-10", "zone not known: web-2"]);
  t.strictSame(groups(pods, "subset"), ["s: web-1", "s: web-10", "no subset: web-2", "no subset: web-3"]);
  t.strictSame(groups(pods, "node"), ["n-9: web-3", "n-10: web-1", "node-2: web-2", "no node yet: web-10"]);
  t.strictSame(groups(pods, "ordinal"), ["0–9: web-1", "0–9: web-2", "0–9: web-3", "10–19: web-10"]);
  t.strictSame(groups(pods, "name"), [": web-1", ": web-2", ": web-3", ": web-10"]);
  t.strictSame(groups([pod(250), pod(1)], "ordinal"), ["0–99: web-1", "200–299: web-250"]);
});

t.test("only groupings that tell something are offered", async (t) => {
  const offered = (kind: string, ...pods: ReturnType<typeof pod>[]) =>
    groupingsOf(
      pods.map((each) => [each.name, each]),
      workload({ kind }),
    );
  t.strictSame(offered("CloneSet", pod(1)), ["node", "name"]);
  t.strictSame(offered("StatefulSet", pod(1)), ["node", "ordinal", "name"]);
  t.strictSame(offered("CloneSet", pod(1, { zone: "a" }), pod(2, { subset: "s" })), [
    "node",
    "zone",
    "subset",
    "name",
  ]);
});

t.test("a pod's subset is that of its UnitedDeployment, or of its WorkloadSpread", async (t) => {
  const subset = (metadata: object): string => podItem({ metadata: { name: "web-1", ...metadata } }).subset;
  t.equal(subset({}), "");
  t.equal(subset({ labels: { "apps.kruise.io/subset-name": "a" } }), "a");
  const matched = (text: string) => ({ annotations: { "apps.kruise.io/matched-workloadspread": text } });
  t.equal(subset(matched('{"name":"spread","subset":"b"}')), "b");
  t.equal(subset(matched("{")), "");
});

t.test("a pod that has succeeded is completed, not on its way to serve", async (t) => {
  const state = (phase: string, metadata = {}) =>
    podItem({ metadata: { name: "task-1", ...metadata }, spec: { nodeName: "node-1" }, status: { phase } })
      .state;
  t.equal(state("Running"), "starting");
  t.equal(state("Succeeded"), "completed");
  t.equal(state("Failed"), "failing");
  t.equal(state("Succeeded", { deletionTimestamp: "2026-01-01T00:00:00Z" }), "terminating");
});

t.test("jobs are told apart, and each kind says its newest revision", async (t) => {
  const job = workloadItem(kruise("BroadcastJob"), stored("BroadcastJob", {}, { desired: 3, succeeded: 2 }));
  t.match(job, { isJob: true, desired: 3, updated: 2, revision: "" });
  const clones = stored("CloneSet", { replicas: 1 }, { updateRevision: "web-abc" });
  t.match(workloadItem(kruise("CloneSet"), clones), { isJob: false, revision: "abc" });
  const sidecars = stored("SidecarSet", {}, { matchedPods: 1, latestRevision: "proxy-abc" });
  const annotations = { "kruise.io/sidecarset-hash": "7zw" };
  const marked = { ...sidecars, metadata: { ...sidecars.metadata, annotations } };
  t.match(workloadItem(kruise("SidecarSet"), marked), { isJob: false, revision: "abc", hash: "7zw" });
});

const kruise = (kind: string) => ({
  group: "apps.kruise.io",
  version: "v1beta1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  shortNames: [],
  namespaced: true,
});

const stored = (kind: string, spec: object, status: object = {}) => ({
  apiVersion: "apps.kruise.io/v1beta1",
  kind,
  metadata: { name: "web" },
  spec,
  status,
});

t.test("the ruler says the partition as it was given, and what it keeps back", async (t) => {
  const scales = (kind: string, spec: object, status?: object) =>
    rolloutItem(kruise(kind), stored(kind, spec, status))?.scales;
  const half = { updateStrategy: { rollingUpdate: { partition: "50%" } }, replicas: 5 };
  t.strictSame(scales("CloneSet", half, { updatedReplicas: 1 }), [
    { label: "partition", given: "50%", total: 5, kept: 3, updated: 1 },
  ]);
  t.strictSame(scales("CloneSet", { replicas: 5 }), [
    { label: "", given: "", total: 5, kept: 0, updated: 0 },
  ]);
  const subsets = {
    replicas: 6,
    updateStrategy: { manualUpdate: { partitions: { a: 2, b: 0 } } },
  };
  const statuses = { subsetStatuses: [{ name: "a", replicas: 3 }], updatedReplicas: 4 };
  t.strictSame(scales("UnitedDeployment", subsets, statuses), [
    { label: "", given: "", total: 6, kept: 2, updated: 4 },
    { label: "partition of subset a", given: "2", total: 3, kept: 2 },
  ]);
  t.equal(rolloutItem({ ...kruise("Deployment"), group: "apps" }, stored("Deployment", {})), undefined);
});

t.test("hooks are told with what holds a pod there, and whether anything goes by itself", async (t) => {
  const spec = {
    replicas: 1,
    updateStrategy: { type: "OnDelete" },
    lifecycle: {
      preDelete: { labelsHandler: { "example.com/drained": "false" }, finalizersHandler: ["example.com/a"] },
      inPlaceUpdate: {},
    },
  };
  t.match(rolloutItem(kruise("StatefulSet"), stored("StatefulSet", spec)), {
    isOnDelete: true,
    hooks: [{ name: "preDelete", handlers: ["example.com/drained=false", "example.com/a"] }],
  });
});

const event = (
  number: number,
  over: { uid?: string; name?: string; about?: string; kind?: string } = {},
) => ({
  metadata: { uid: over.uid ?? `e${number}`, name: "e" },
  type: "Warning",
  reason: "BackOff",
  message: `restart\n${number}`,
  count: number,
  lastTimestamp: new Date(number * 1_000).toISOString(),
  involvedObject: { kind: "Pod", name: over.name ?? "web-1", uid: over.about ?? "pod" },
});

t.test("the newest events about a workload and its pods are kept, however many there are", async (t) => {
  const log = new EventLog("web");
  t.equal(log.add(event(1, { name: "website" })), false, "begins alike, but is not of its pods");
  for (let number = 1; number <= 3_000; number++) log.add(event(number));
  log.add(event(5_000, { about: "pod of web-db", uid: "other" }));
  const shown = log.newest((uid) => uid === "pod");
  t.equal(shown.size, 50);
  t.match([...shown][0], ["event/e3000", { at: 3_000_000, count: 3_000, message: "restart 3000" }]);
  log.add(event(4_000, { uid: "e10" }));
  t.equal(
    [...log.newest((uid) => uid === "pod").keys()][0],
    "event/e10",
    "one that happens again is the newest",
  );
  t.equal(log.newest(() => false).size, 0);
});

t.test(
  "changes of a template are told by field, containers by their names, secrets not at all",
  async (t) => {
    const template = (image: string, env: string, more: object = {}) => ({
      template: {
        spec: {
          containers: [
            { name: "log", image: "log:1" },
            { name: "web", image, env: [{ name: "PASSWORD", value: env }], ...more },
          ],
        },
      },
    });
    const at = "template.spec.containers[web]";
    t.strictSame(fieldChanges(template("web:1", "a"), template("web:2", "b", { args: ["-v"] })), [
      { path: `${at}.args`, from: "", to: '["-v"]' },
      { path: `${at}.env[PASSWORD].value`, from: "[hidden]", to: "another value" },
      { path: `${at}.image`, from: "web:1", to: "web:2" },
    ]);
    t.strictSame(fieldChanges(template("web:1", "a"), template("web:1", "a")), []);
    t.match(fieldChanges({ list: [1, 2] }, { list: [1] }), [{ path: "list", from: "[1,2]", to: "[1]" }]);
  },
);

t.test("of many revisions the newest are told, each with what changed since the one before", async (t) => {
  const revisions = Array.from({ length: 12 }, (_, index) => ({
    number: index + 1,
    name: `web-hash${index + 1}`,
    changeCause: undefined,
    spec: { template: { spec: { containers: [{ name: "web", image: `web:${index + 1}` }] } } },
    object: { metadata: { name: `web-hash${index + 1}`, creationTimestamp: "2026-01-02T03:04:05Z" } },
  }));
  const items = [...describeRevisions(revisions, revisedTemplate).values()];
  t.equal(items.length, 10);
  t.match(items[0], { number: 3, since: 2, changes: [{ from: "web:2", to: "web:3" }] });
  t.match(items.at(-1), { number: 12, revision: "hash12", images: ["web:12"], moreChanges: 0 });
  t.equal([...describeRevisions(revisions.slice(0, 1), revisedTemplate).values()][0]?.since, undefined);
});

t.test("a recreate request is told with its node and the state of each container", async (t) => {
  const request = {
    metadata: {
      name: "again",
      creationTimestamp: "2026-01-02T03:04:05Z",
      labels: { "crr.apps.kruise.io/node-name": "n-1" },
    },
    spec: { podName: "web-1", containers: [{ name: "a" }, { name: "b" }] },
    status: { phase: "Recreating", containerRecreateStates: [{ name: "b", phase: "Failed" }] },
  };
  t.match(recreateItem(request), {
    node: "n-1",
    pod: "web-1",
    phase: "Recreating",
    since: Date.UTC(2026, 0, 2, 3, 4, 5),
    containers: [
      { name: "a", phase: "" },
      { name: "b", phase: "Failed" },
    ],
  });
});

t.test("a pull is told with the nodes that do not have the image yet, at most twenty", async (t) => {
  const job = {
    metadata: { name: "pull", uid: "job", creationTimestamp: "2026-01-02T03:04:05Z" },
    spec: { image: "web:2" },
    status: { desired: 30, succeeded: 1 },
  };
  const task = (number: number, phase: string, owner = "job") => ({
    node: `n-${number}`,
    image: "web:2",
    owners: [owner],
    phase,
    message: "",
    progress: 40,
    createdAt: 1,
    startedAt: undefined,
    endedAt: undefined,
  });
  const tasks = [
    task(0, "Succeeded"),
    task(1, "Failed", "another"),
    ...Array.from({ length: 29 }, (_, index) => task(index + 2, "Pulling")),
  ];
  const item = pullItem(job, tasks);
  t.match(item, { image: "web:2", desired: 30, succeeded: 1, moreNodes: 9 });
  t.equal(item.nodes.length, 20);
  t.strictSame(item.nodes[0], { node: "n-2", phase: "Pulling", message: "", progress: 40, since: 1 });
  t.equal(item.endedAt, undefined);
});

t.test("subsets are told as given and as wanted, with those that take no pods", async (t) => {
  const closed = { conditions: [{ type: "Schedulable", status: "False" }] };
  const united = stored(
    "UnitedDeployment",
    { topology: { subsets: [{ name: "a", replicas: "50%" }, { name: "b" }, { name: "c" }] } },
    { subsetStatuses: [{ name: "a", replicas: 2, ...closed }], subsetReplicas: { b: 3 } },
  );
  const of = "UnitedDeployment web";
  t.strictSame(subsetsOfUnited(united), [
    { is: "subset", of, name: "a", given: "50%", wanted: 2, isClosed: true },
    { is: "subset", of, name: "b", given: "", wanted: 3, isClosed: false },
    { is: "subset", of, name: "c", given: "", isClosed: false },
  ]);
  const spread = stored(
    "WorkloadSpread",
    { subsets: [{ name: "a", maxReplicas: 3 }, { name: "b" }] },
    {
      subsetStatuses: [
        { name: "a", replicas: 2, missingReplicas: 1 },
        { name: "b", replicas: 4, missingReplicas: -1 },
      ],
    },
  );
  const ofSpread = { is: "subset", of: "WorkloadSpread web", isClosed: false };
  t.strictSame(subsetsOfSpread(spread), [
    { ...ofSpread, name: "a", given: "3", wanted: 3, present: 2 },
    { ...ofSpread, name: "b", given: "", present: 4 },
  ]);
});

t.test("sidecars are counted by owner, those with the most old ones first", async (t) => {
  const injected = (kind: string, name: string, hash: string, labels: Record<string, string> = {}) => {
    const entry = { hash, sidecarSetName: "proxy", controllerRevision: `proxy-of-${hash}` };
    const annotations = { "kruise.io/sidecarset-hash": JSON.stringify({ proxy: entry }) };
    const owner = { apiVersion: "v1", kind, name, uid: "u", controller: true };
    const metadata = { name: "lone", namespace: "shop", labels, annotations };
    return injectedPod(
      { metadata: kind === "" ? metadata : { ...metadata, ownerReferences: [owner] } },
      "proxy",
    );
  };
  const pods = [
    injected("CloneSet", "web", "new"),
    injected("CloneSet", "web", "old"),
    injected("ReplicaSet", "api-5d8f", "old", { "pod-template-hash": "5d8f" }),
    injected("ReplicaSet", "api-77aa", "old", { "pod-template-hash": "77aa" }),
    injected("", "", "new"),
  ];
  const items = [...ownerItems(pods, "new").values()];
  t.strictSame(
    items.map(({ kind, name, pods, updated }) => `${kind} ${name}: ${updated} of ${pods}`),
    ["Deployment api: 0 of 2", "CloneSet web: 1 of 2", "Pod lone: 1 of 1"],
  );
  t.strictSame(items[1]?.versions, [
    { version: "new", pods: 1, isNewest: true },
    { version: "old", pods: 1, isNewest: false },
  ]);
  const [none] = ownerItems([injectedPod({ metadata: { name: "p" } }, "proxy")], "").values();
  t.match(none, { updated: 0, versions: [{ version: "", isNewest: false }] });
});
