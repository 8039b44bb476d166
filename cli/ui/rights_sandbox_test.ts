/** What the page shows to people by their rights: all to a viewer, and to others what they may read with a line about the rest. */
import t from "tap";
import { follow, startPage } from "../../testkit/cli/live_page.ts";
import { createExamples, startPeopleSandbox } from "../../testkit/cli/people_sandbox.ts";
import { toAnyObject } from "../fields.ts";
import { peopleRoles, viewerRules } from "../install/people.ts";
import { unreadKey } from "./shared/detail_items.ts";
import { answerKey, clusterKey, type Item } from "./shared/items.ts";
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
  for (const key of keys)
    await t.test(key, async (t) => {
      const { state, until } = follow(t, page, streamOf(key));
      await until(() => state.has(answerKey));
      t.strictSame(problemsIn(state), []);
      const answer = state.get(answerKey);
      t.equal(answer?.is === "answer" && answer.unread, "");
    });
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
  const refusalOf = (resource: string): RegExp => new RegExp(`^you may not (list|watch) ${resource} in `);
  const names = (state: ReadonlyMap<string, Item>, resources: readonly string[]) => {
    const problems = problemsIn(state);
    return (
      problems.length === resources.length &&
      resources.every((resource) => problems.some((line) => refusalOf(resource).test(line)))
    );
  };
  const requests = "containerrecreaterequests.apps.kruise.io";
  await workload.until(() =>
    names(workload.state, ["controllerrevisions.apps", requests, "events", "nodes"]),
  );
  const nodes = follow(t, page, streamOf(nodesKey));
  await nodes.until(() => names(nodes.state, [requests, "nodeimages.apps.kruise.io", "nodes"]));
  const shown = [...nodes.state.values()].filter((item) => item.is === "node");
  t.ok(shown.length > 0, "nodes that pods are on are shown");
  for (const { isReady, pods } of shown) t.ok(isReady === undefined && pods > 0);
});
