/** What the page shows to people by their rights: all to a viewer, and to others what they may read with a line about the rest. */
import t from "tap";
import { follow, startPage } from "../../testkit/cli/live_page.ts";
import { createExamples, startPeopleSandbox } from "../../testkit/cli/people_sandbox.ts";
import { toAnyObject } from "../fields.ts";
import { peopleRoles, viewerRules } from "../install/people.ts";
import { unreadKey } from "./shared/detail_items.ts";
import { clusterKey, type Item } from "./shared/items.ts";
import { nodesKey } from "./shared/node_items.ts";

const viewer = "kruise-viewer-role";
const narrow = "without-nodes";
/** What the page does without; nothing of this API is taken but what is made for each node. */
const taken = ["nodes", "nodeimages", "events", "controllerrevisions", "containerrecreaterequests"];

const narrowRole = toAnyObject({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: narrow },
  rules: viewerRules().map((rule) => ({
    ...rule,
    resources: (rule.resources ?? []).filter((resource) => !taken.includes(resource)),
  })),
});

const { api, refusals, kubeconfigOf } = await startPeopleSandbox(t, [...peopleRoles(), narrowRole]);
const made = await createExamples(api);
const streamOf = (key: string): string => `/events?workload=${encodeURIComponent(key)}`;
const problemsIn = (state: ReadonlyMap<string, Item>): readonly string[] => {
  const [cluster, unread] = [state.get(clusterKey), state.get(unreadKey)];
  return [
    ...(cluster?.is === "cluster" ? cluster.problems : []),
    ...(unread?.is === "unread" ? unread.what : []),
  ];
};
const isComplete = (state: ReadonlyMap<string, Item>): boolean => {
  const cluster = state.get(clusterKey);
  return cluster?.is === "cluster" && cluster.isComplete;
};

t.test("a viewer sees the list, each workload and the nodes, and nothing is refused", async (t) => {
  const page = await startPage(`--kubeconfig ${kubeconfigOf(viewer)}`);
  t.teardown(() => page.stop());
  refusals.length = 0;
  const fleet = follow(t, page, "/events");
  await fleet.until(() => isComplete(fleet.state));
  const keys = [...fleet.state].flatMap(([key, item]) => (item.is === "workload" ? key : []));
  const kindsShown = new Set(keys.map((key) => key.split("/")[0]));
  t.ok(made.length > 18 && kindsShown.size > 6, `${kindsShown.size} kinds`);
  for (const key of keys) {
    const workload = follow(t, page, streamOf(key));
    await workload.until(() => workload.state.has("answer"));
    t.strictSame(problemsIn(workload.state), [], key);
    const answer = workload.state.get("answer");
    t.equal(answer?.is === "answer" && answer.unread, "", key);
  }
  const nodes = follow(t, page, streamOf(nodesKey));
  await nodes.until(() => nodes.state.size > 2);
  t.strictSame(problemsIn(nodes.state), []);
  t.strictSame(refusals, []);
});

t.test("without a right a line names it, and the rest of the page works", async (t) => {
  const page = await startPage(`--kubeconfig ${kubeconfigOf(narrow)}`);
  t.teardown(() => page.stop());
  const fleet = follow(t, page, "/events");
  await fleet.until(() => isComplete(fleet.state));
  t.strictSame(problemsIn(fleet.state), []);
  const key = "clonesets.apps.kruise.io/default/web";
  const workload = follow(t, page, streamOf(key));
  await workload.until(() => [...workload.state.values()].some((item) => item.is === "pod"));
  await workload.until(() => problemsIn(workload.state).length >= 4);
  t.match(problemsIn(workload.state).toSorted().join("\n"), /containerrecreaterequests/);
  for (const resource of ["controllerrevisions.apps", "events", "nodes"])
    t.ok(
      problemsIn(workload.state).some((line) => line.includes(resource)),
      resource,
    );
  const nodes = follow(t, page, streamOf(nodesKey));
  await nodes.until(() => problemsIn(nodes.state).length === 3);
  t.strictSame(problemsIn(nodes.state).toSorted(), [
    "you may not list containerrecreaterequests.apps.kruise.io in the whole cluster",
    "you may not list nodeimages.apps.kruise.io in the whole cluster",
    "you may not list nodes in the whole cluster",
  ]);
  const shown = [...nodes.state.values()].filter((item) => item.is === "node");
  t.ok(shown.length > 0, "nodes that pods name are shown");
  for (const node of shown) t.equal(node.isReady, undefined);
});
