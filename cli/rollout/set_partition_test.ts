import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { cloneSet } from "../../testkit/cli/workload_builder.ts";
import { at, toAnyObject } from "../fields.ts";

const clones = "clonesets.apps.kruise.io";
const path = ["spec", "updateStrategy", "rollingUpdate", "partition"];

function withClone(spec: object) {
  const cluster = fakeCluster();
  cluster.put(clones, cloneSet("sample", { spec: { replicas: 10, ...spec } }));
  return cluster;
}

t.test(
  "a partition is raised and lowered, also while it is paused, against the version that was read",
  async (t) => {
    const cluster = withClone({ updateStrategy: { rollingUpdate: { partition: 2, paused: true } } });
    const { client } = cluster;
    const did: [string, string, unknown][] = [
      ["--to 8", "partition 2 -> 8", 8],
      ["--to 50%", "partition 8 -> 50%", "50%"],
      ["--to 0", "partition 50% -> 0", 0],
    ];
    for (const [flags, says, now] of did) {
      const { code, stdout } = await run(`rollout partition clone/sample ${flags}`, { client });
      t.equal(code, 0);
      t.equal(stdout, `cloneset.apps.kruise.io/sample ${says}\n`);
      t.equal(at(cluster.read(clones, "default/sample"), ...path), now);
    }
    t.match(cluster.patches[0]?.patch, { body: [{ path: "/metadata/resourceVersion" }, { value: 8 }] });
  },
);

t.test("where there is none yet it is made; a dry run writes nothing", async (t) => {
  const cluster = withClone({});
  const { client } = cluster;
  const dry = await run("rollout partition clone/sample --to 3 --dry-run", { client });
  t.match(dry.stdout, /partition 0 -> 3 \(dry run\)/);
  t.equal(cluster.patches.length, 0);
  await run("rollout partition clone/sample --to 3", { client });
  t.equal(at(cluster.read(clones, "default/sample"), ...path), 3);
});

t.test("a kind whose field takes no percentage gets the number of pods", async (t) => {
  const cluster = fakeCluster();
  const spec = { replicas: 4, updateStrategy: { rollingUpdate: { partition: 1 } } };
  const metadata = { name: "web", namespace: "default" };
  cluster.put("statefulsets.apps", toAnyObject({ apiVersion: "apps/v1", metadata, spec }));
  const { stdout } = await run("rollout partition statefulset.apps/web --to 75%", { client: cluster.client });
  t.match(stdout, /partition 1 -> 3/);
});

t.test("what cannot be done is refused in one line", async (t) => {
  const cluster = withClone({ updateStrategy: { rollingUpdate: { partition: 2 } } });
  const { client } = cluster;
  const refusals: [string, RegExp][] = [
    ["clone/sample --to 2", /^error: clonesets.apps.kruise.io "sample": the partition is 2 already\n$/],
    ["clone/sample", /^error: give --to N or --to N%: how many pods stay at the old revision\n$/],
    ["clone/sample --to 101%", /^error: invalid value "101%" for --to: .*\n$/],
    [
      "uniteddeployments/web --to 1",
      /^error: uniteddeployments.apps.kruise.io "web": .* has no partition of its own\n$/,
    ],
    ["pods/web --to 1", /it has no rollouts\n$/],
  ];
  for (const [words, stderr] of refusals)
    t.match(await run(`rollout partition ${words}`, { client }), { code: 1, stdout: "", stderr }, words);
  t.equal(cluster.patches.length, 0);
});
