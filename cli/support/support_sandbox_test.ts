import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { runHere } from "../../testkit/cli/command_fixture.ts";

t.test("a report holds the installation, and none of its secrets", async (t) => {
  const sandbox = await startSandbox({ seed: 17, clock: systemClock, nodes: 1 });
  t.teardown(() => sandbox.stop());
  const home = t.testdir();
  const kubeconfig = join(home, "kubeconfig");
  const folder = join(home, "report");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  await runHere(`install --controller-image c:1 --kubeconfig ${kubeconfig}`);
  const secret = "s3cr3t-VALUE";
  sandbox.cluster.create("secrets", {
    metadata: { namespace: "kruise-system", name: "own" },
    data: { a: secret },
  });
  sandbox.cluster.create("configmaps", {
    metadata: { namespace: "kruise-system", name: "kruise-configuration" },
    data: { PPS_Watch_Custom_Workload_WhiteList: "{}" },
  });
  sandbox.cluster.create("pods", {
    metadata: {
      namespace: "kruise-system",
      name: "replica",
      labels: { "control-plane": "controller-manager" },
    },
    spec: {
      nodeName: "node1",
      containers: [{ name: "manager", image: "c:1", env: [{ name: "A", value: secret }] }],
    },
  });
  const command = `support-bundle --folder ${folder} -n default --kubeconfig ${kubeconfig}`;
  const { code, stdout, stderr } = await runHere(command);
  t.equal(code, 0, stderr);
  t.match(stdout, /^\d+ files in .*report\n/);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  for (const name of [
    "about.json",
    "installation/deployments.json",
    "installation/kruise-configuration.json",
    "cluster/nodes.json",
    "kinds/clonesets.json",
    "namespaces/default/pods.json",
    "logs/replica.manager.log",
  ])
    t.ok(files.includes(name), name);
  const texts = files.map((name) => readFileSync(join(folder, name), "utf8"));
  t.notOk(texts.some((text) => text.includes(secret)));
  t.match(
    readFileSync(join(folder, "installation/pods.json"), "utf8"),
    /"name": "A",\s*"value": "\[hidden\]"/,
  );
  t.match(readFileSync(join(folder, "installation/kruise-configuration.json"), "utf8"), /WhiteList/);
  t.equal(statSync(join(folder, "about.json")).mode & 0o077, 0, "for the caller alone");

  const again = await runHere(command);
  t.match(
    [again.code, again.stderr],
    [1, /cannot make folder .*report: it exists already; name another one/],
  );
});

t.test("what cannot be read is named, and the rest is there", async (t) => {
  const sandbox = await startSandbox({ seed: 18, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const home = t.testdir();
  const kubeconfig = join(home, "kubeconfig");
  const folder = join(home, "report");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const { code, stdout } = await runHere(`support-bundle --folder ${folder} --kubeconfig ${kubeconfig}`);
  t.equal(code, 0);
  t.match(stdout, /could not be read: see missing\.txt/);
  t.match(readFileSync(join(folder, "missing.txt"), "utf8"), /^kinds\/clonesets\.json: /m);
  t.match(readFileSync(join(folder, "about.json"), "utf8"), /"refit": "0\.1\.0"/);
});
