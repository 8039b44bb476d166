import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { cloneSet } from "../../testkit/cli/workload_builder.ts";
import { at, toAnyObject } from "../fields.ts";
import { amountOf, promoted, unitedDeploymentPartitions } from "./partition.ts";

const clones = "clonesets.apps.kruise.io";
const path = ["spec", "updateStrategy", "rollingUpdate", "partition"];

function withClone(rollingUpdate: object, replicas = 10) {
  const cluster = fakeCluster();
  cluster.put(
    clones,
    cloneSet("sample", { spec: { replicas, updateStrategy: { type: "RollingUpdate", rollingUpdate } } }),
  );
  return cluster;
}

t.test("promote lowers the partition by a step or to an end, against the version it read", async (t) => {
  const cluster = withClone({ partition: 5 });
  const { client } = cluster;
  const did: [string, string, unknown][] = [
    ["--step 2", "partition 5 -> 3", 3],
    ["--step 10%", "partition 3 -> 2", 2],
    ["--to 1", "partition 2 -> 1", 1],
    ["", "partition 1 -> 0", 0],
  ];
  for (const [flags, says, now] of did) {
    const { code, stdout } = await run(`rollout promote clone/sample ${flags}`, { client });
    t.equal(code, 0);
    t.equal(stdout, `cloneset.apps.kruise.io/sample promoted: ${says}\n`);
    t.equal(at(cluster.read(clones, "default/sample"), ...path), now);
  }
  t.match(cluster.patches[0]?.patch, {
    type: "json",
    body: [{ path: "/metadata/resourceVersion" }, { path: "/spec/updateStrategy/rollingUpdate/partition" }],
  });
});

t.test("percentages stay percentages, and a dry run writes nothing", async (t) => {
  const cluster = withClone({ partition: "80%" });
  const { client } = cluster;
  const promote = async (flags: string) =>
    (await run(`rollout promote clone/sample ${flags}`, { client })).stdout.replace(/^.*promoted: /, "");
  t.equal(await promote("--step 30% --dry-run"), "partition 80% -> 50% (dry run)\n");
  t.equal(cluster.patches.length, 0);
  t.equal(await promote("--step 30%"), "partition 80% -> 50%\n");
  t.equal(await promote("--to 20%"), "partition 50% -> 20%\n");
  t.equal(await promote("--step 1"), "partition 20% -> 1\n");
});

t.test("promote refuses what it cannot do, in one line", async (t) => {
  const named = 'error: clonesets.apps.kruise.io "sample"';
  const refusals: [object, string, string][] = [
    [
      { partition: 5 },
      "--to 7",
      `${named}: the partition is 5, and 7 would raise it: promote only lowers it; give a smaller --to\n`,
    ],
    [
      { partition: 5 },
      "--to 90%",
      `${named}: the partition is 5, and 90% would raise it: promote only lowers it; give a smaller --to\n`,
    ],
    [{ partition: 5 }, "--to 50%", `${named}: the partition is 5 already\n`],
    [{}, "", `${named} has no partition that keeps pods at the old revision: nothing to promote\n`],
    [
      { partition: "0%" },
      "",
      `${named} has no partition that keeps pods at the old revision: nothing to promote\n`,
    ],
    [
      { partition: 5, paused: true },
      "",
      `${named} is paused; resume it first with "refit rollout resume cloneset.apps.kruise.io/sample -n default"\n`,
    ],
    [
      { partition: 5 },
      "--to 1 --step 1",
      "error: give --step or --to, not both: --step lowers the partition by that much, --to to that\n",
    ],
    [
      { partition: 5 },
      "--step 0",
      'error: invalid value "0" for --step: must be 1 or more pods, or a percentage such as 20%\n',
    ],
    [
      { partition: 5 },
      "--to 101%",
      'error: invalid value "101%" for --to: must be 0 or more pods, or a percentage such as 20%\n',
    ],
  ];
  for (const [rolling, flags, stderr] of refusals) {
    const cluster = withClone(rolling);
    const result = await run(`rollout promote clone/sample ${flags}`, { client: cluster.client });
    t.same(result, { code: 1, stdout: "", stderr }, flags);
    t.equal(cluster.patches.length, 0);
  }
  const { client } = fakeCluster();
  t.match((await run("rollout promote deploy/web", { client })).stderr, /the kind has no partition\n$/);
  t.match((await run("rollout promote pods/web", { client })).stderr, /it has no rollouts\n$/);
});

t.test("promote knows where each kind has its partition, and of what it is a part", async (t) => {
  const cluster = fakeCluster();
  const { client } = cluster;
  const kinds: [string, string, object, object, string, string][] = [
    [
      "statefulsets.apps.kruise.io",
      "asts",
      { replicas: 4, updateStrategy: { rollingUpdate: { partition: 9 } } },
      {},
      "--step 1",
      "partition 9 -> 3",
    ],
    [
      "statefulsets.apps",
      "statefulset.apps",
      { replicas: 4, updateStrategy: { rollingUpdate: { partition: 4 } } },
      {},
      "--to 25%",
      "partition 4 -> 1",
    ],
    [
      "daemonsets.apps.kruise.io",
      "ads",
      { updateStrategy: { rollingUpdate: { partition: "50%" } } },
      { desiredNumberScheduled: 8 },
      "--step 1",
      "partition 50% -> 3",
    ],
    [
      "sidecarsets.apps.kruise.io",
      "sidecarset",
      { updateStrategy: { partition: "90%" } },
      { matchedPods: 20 },
      "--to 3",
      "partition 90% -> 3",
    ],
  ];
  for (const [resource, word, spec, status, flags, says] of kinds) {
    const isOfCluster = word === "sidecarset";
    const metadata = { name: "web", ...(isOfCluster ? {} : { namespace: "default" }) };
    cluster.put(resource, toAnyObject({ apiVersion: "apps.kruise.io/v1beta1", metadata, spec, status }));
    const { stdout, stderr } = await run(`rollout promote ${word}/web ${flags}`, { client });
    t.equal(stderr, "");
    t.match(stdout, new RegExp(` promoted: ${says}\n$`), word);
  }
});

t.test("a UnitedDeployment has a partition for each subset", (t) => {
  const united = toAnyObject({
    metadata: { name: "u" },
    spec: { updateStrategy: { manualUpdate: { partitions: { a: 3, b: 0, c: 2 } } } },
    status: { subsetStatuses: [{ name: "a", replicas: 4 }] },
  });
  const found = unitedDeploymentPartitions(united);
  t.same(
    found.map(({ label, value, total }) => [label, value, total]),
    [
      ["partition of subset a", 3, 4],
      ["partition of subset c", 2, undefined],
    ],
  );
  const [a, c] = found;
  if (a === undefined || c === undefined) throw new Error("no partitions");
  t.equal(promoted(a, { by: "step", amount: "50%" }), 1);
  t.equal(promoted(c, { by: "step", amount: 5 }), 0);
  t.throws(() => promoted(c, { by: "step", amount: "50%" }), /counts no pods yet.*: give --to N/);
  t.equal(amountOf("20%", "to", 0), "20%");
  t.end();
});
