import t from "tap";
import { run } from "../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../testkit/cli/fake_cluster.ts";
import { cloneSet } from "../testkit/cli/workload_builder.ts";
import { toAnyObject } from "./fields.ts";

function withWeb() {
  const cluster = fakeCluster();
  cluster.put("clonesets.apps.kruise.io", cloneSet("web"));
  return cluster;
}

const deployment = toAnyObject({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: { replicas: 1, template: { spec: { containers: [] } } },
});

t.test("a lone name is taken for the one workload of that name", async (t) => {
  for (const command of ["tree", "why", "rollout history", "rollout status -w=false"]) {
    const { stderr } = await run(`${command} web`, { client: withWeb().client });
    t.match(stderr, /^"web" is taken for cloneset\.apps\.kruise\.io\/web\.\n/, command);
  }
});

t.test("a name of several workloads is answered with the words to write", async (t) => {
  const cluster = withWeb();
  cluster.put("deployments.apps", deployment);
  t.same(await run("rollout status web", { client: cluster.client }), {
    code: 1,
    stdout: "",
    stderr: 'error: "web" names 2 objects; write one of: cloneset.apps.kruise.io/web, deployment.apps/web\n',
  });
});

t.test("a name of nothing, and a mistyped type", async (t) => {
  const { client } = withWeb();
  const stderrOf = async (line: string) => (await run(line, { client })).stderr;
  t.match(
    await stderrOf("tree nothing"),
    /neither a resource type nor a workload .* such as pod\/nothing\n$/,
  );
  t.match(await stderrOf("rollout status clonset"), /did you mean the type "cloneset"\?\n$/);
  t.match(await stderrOf("rollout status clonset web"), /"clonset"; did you mean "cloneset"\?\n$/);
});

t.test("a lone type names no object, and what is changed is named in full", async (t) => {
  const { client } = withWeb();
  const expected = { code: 1, stdout: "" };
  t.match(await run("rollout status clone", { client }), {
    ...expected,
    stderr: /"clone" alone names no object/,
  });
  t.match(await run("rollout undo web", { client }), { ...expected, stderr: /"web" alone names no object/ });
  t.match(await run("why clone", { client }), { stderr: "" }, "why of a type is about many");
});
