import t from "tap";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import type { StoredObject } from "../cluster.ts";
import { startRoleAggregation } from "./aggregation.ts";

const resource = "clusterroles.rbac.authorization.k8s.io";

function role(
  name: string,
  rules: readonly string[],
  { from, to }: { from?: string; to?: string } = {},
): StoredObject {
  return {
    metadata: { name, ...(to === undefined ? {} : { labels: { to } }) },
    rules: rules.map((verb) => ({ verbs: [verb], apiGroups: [""], resources: ["pods"] })),
    ...(from === undefined
      ? {}
      : { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: from } }] } }),
  };
}

function verbsOf(cluster: FakeCluster, name: string): unknown {
  const rules = cluster.get(resource, { name })?.["rules"];
  return Array.isArray(rules) ? rules.flatMap(({ verbs }) => verbs) : [];
}

t.test(
  "aggregated roles hold the rules of those that they select, through other aggregated ones",
  async (t) => {
    const cluster = new FakeCluster();
    cluster.create(resource, role("admin", [], { from: "admin" }));
    cluster.create(resource, role("edit", ["stale"], { from: "edit", to: "admin" }));
    cluster.create(resource, role("view", [], { from: "view", to: "edit" }));
    cluster.create(resource, role("b", ["list", "get"], { to: "view" }));
    cluster.create(resource, role("a", ["get"], { to: "view" }));
    const stop = startRoleAggregation(cluster);
    for (const name of ["view", "edit", "admin"]) t.same(verbsOf(cluster, name), ["get", "list"]);
    cluster.create(resource, role("c", ["delete"], { to: "edit" }));
    t.same(verbsOf(cluster, "admin"), ["delete", "get", "list"]);
    t.same(verbsOf(cluster, "view"), ["get", "list"]);
    cluster.remove(resource, { name: "b" });
    t.same(verbsOf(cluster, "admin"), ["delete", "get"]);
    cluster.update(resource, { name: "view" }, (draft) => {
      draft["rules"] = [];
    });
    t.same(verbsOf(cluster, "view"), ["get"]);
    stop();
    cluster.remove(resource, { name: "a" });
    t.same(verbsOf(cluster, "view"), ["get"]);
  },
);

t.test("roles that aggregate each other come to rest", async (t) => {
  const cluster = new FakeCluster();
  for (const [name, from] of [
    ["a", "b"],
    ["b", "c"],
    ["c", "a"],
  ] as const)
    cluster.create(resource, role(name, [`${name}-own`], { from, to: name }));
  startRoleAggregation(cluster);
  const writes = cluster.writes.length;
  t.ok(writes < 20, `${writes} writes`);
  cluster.create(resource, role("d", ["get"], { to: "b" }));
  t.ok(cluster.writes.length < writes + 20);
});
