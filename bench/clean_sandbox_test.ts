/** What an interrupted run leaves is found by its label and removed; everything else stays. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { customResourceDefinition, kinds } from "../crds/index.ts";
import {
  createClient,
  loadCredentials,
  nullLog,
  seededRandom,
  systemClock,
  undiciTransport,
} from "../kube/index.ts";
import { profiles, startSandbox } from "../sandbox/index.ts";
import { bench } from "./bench.ts";
import { clean } from "./clean.ts";
import { startHollowCluster } from "./hollow_cluster.ts";
import { barePod } from "./measure/limit.ts";
import { silentProgress } from "./progress.ts";
import { BENCH_LABEL, namespaces, nodeObjects, podObjects } from "./resources.ts";
import { firstImage, podSpec, workloadResources } from "./workloads.ts";

const clock = systemClock;
const random = seededRandom(1);

/** With the definition of CloneSets where `installed`. */
async function sandbox(t: { teardown(run: () => unknown): void }, installed = true) {
  const kind = kinds.find((each) => each.kind === "CloneSet");
  if (kind === undefined) throw new Error("no CloneSet");
  const definition = customResourceDefinition(kind, { service: { namespace: "x", name: "x" } });
  // No webhook answers here: the server converts by itself.
  const spec = { ...definition.spec, conversion: { strategy: "None" } };
  const started = await startSandbox({
    seed: 1,
    clock,
    nodes: 0,
    crds: installed ? [{ ...definition, spec }] : [],
  });
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-test-"));
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, started.kubeconfig);
  const credentials = await loadCredentials({ kubeconfig, env: {}, clock });
  const client = createClient({
    credentials,
    clock,
    random,
    userAgent: "test",
    transport: undiciTransport({ clock }),
  });
  t.teardown(async () => {
    await client.close();
    await started.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { client, kubeconfig, cluster: started.cluster };
}

async function command(argv: readonly string[], signal = new AbortController().signal) {
  const printed: string[] = [];
  const noted: string[] = [];
  const code = await bench(argv, {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
    progress: silentProgress,
    clock,
    log: nullLog,
    signal,
    controller: join(import.meta.dirname, "..", "cli", "bin.js"),
    settleMs: 50,
  });
  return { code, printed: printed.join("\n"), noted: noted.join("\n") };
}

t.test("clean removes nodes, namespaces, workloads and pods of benches", async (t) => {
  const { client, kubeconfig } = await sandbox(t);
  const run = "run-1";
  const timing = profiles.bench;
  const hollow = await startHollowCluster({
    client,
    clock,
    random,
    log: nullLog,
    nodes: 3,
    podsPerNode: 10,
    behaviour: { timing, failures: { crash: 0, pull: 0 } },
    run,
    heartbeats: true,
  });
  for (const [name, labels] of [
    ["left", { [BENCH_LABEL]: run }],
    ["mine", {}],
  ] as const)
    await client.create(namespaces, undefined, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
  const template = { metadata: { labels: { a: "b" } }, spec: podSpec(run, firstImage) };
  await client.create(workloadResources.CloneSet, "left", {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { name: "bench" },
    spec: { replicas: 1, selector: { matchLabels: { a: "b" } }, template },
  });
  // On a node whose kubelet is gone, thus nobody would ever end it.
  const pod = {
    ...barePod("stuck", run, {}),
    spec: { ...podSpec(run, firstImage), nodeName: hollow.nodes[0] },
  };
  await client.create(podObjects, "left", pod);
  await hollow.stop();
  await client.delete(podObjects, { namespace: "left", name: "stuck" });
  await client.create(podObjects, "mine", barePod("other", "x", {}));
  const { code, printed } = await command(["clean", "--kubeconfig", kubeconfig]);
  t.equal(code, 0);
  t.equal(printed, "removed: 1 namespaces, 1 workloads, 1 pods, 3 nodes");
  const left = (await client.list(namespaces)).items.map(({ metadata }) => metadata.name);
  t.ok(left.includes("mine") && !left.includes("left"), `namespaces: ${left.join(", ")}`);
  t.same((await client.list(nodeObjects)).items, []);
  t.same(
    (await client.list(podObjects, { namespace: "mine" })).items.map(({ metadata }) => metadata.name),
    ["other"],
  );
  t.equal(
    (await command(["clean", "--kubeconfig", kubeconfig])).printed,
    "removed: 0 namespaces, 0 workloads, 0 pods, 0 nodes",
  );
});

t.test("clean waits for as long as pods go", async (t) => {
  const { client, cluster } = await sandbox(t);
  const run = "run-1";
  const metadata = { name: "left", labels: { [BENCH_LABEL]: run } };
  await client.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata });
  // Of a node that nobody simulates; one of them takes its time.
  const spec = { ...podSpec(run, firstImage), nodeName: "gone" };
  for (const name of ["one", "two", "slow"]) {
    const pod = barePod(name, run, {});
    const finalizers = name === "slow" ? ["bench.refit.dev/test"] : [];
    await client.create(podObjects, "left", { ...pod, metadata: { ...pod.metadata, finalizers }, spec });
  }
  let now = 0;
  cluster.subscribe("pods", ({ type }) => {
    if (type === "DELETED") now += 1_000;
  });
  let isHeld = true;
  const later = {
    ...clock,
    monotonic: () => now,
    sleep: async (ms: number) => {
      const body = { metadata: { finalizers: null } };
      const slow = { namespace: "left", name: "slow" };
      if (isHeld) await client.patch(podObjects, slow, { type: "merge", body });
      isHeld = false;
      await clock.sleep(ms);
    },
  };
  t.match(await clean({ client, clock: later, run, timeoutMs: 1_500 }), { namespaces: 1 });
});

t.test("a controller that was installed for a run is removed with all that belongs to it", async (t) => {
  const { client, kubeconfig } = await sandbox(t, false);
  const before = (await client.list(namespaces)).items.map(({ metadata }) => metadata.name);
  const args = `create --kubeconfig ${kubeconfig} --pods 3 --nodes 2 --limit 0`.split(" ");
  const { code, printed, noted } = await command(args);
  t.equal(code, 0, noted);
  t.match(printed, /create: 3 pods on 2 hollow nodes, seed 1; refit; Kubernetes v1\.\S+$/m);
  t.same(
    (await client.list(namespaces)).items.map(({ metadata }) => metadata.name),
    before,
  );
  for (const path of [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/api/v1/nodes",
  ])
    t.match(JSON.stringify(await client.request("GET", path)), /"items":\[\]/, path);
});

t.test("Ctrl-C in the midst leaves nothing", async (t) => {
  const { client, kubeconfig } = await sandbox(t);
  const interruption = new AbortController();
  // A process that is no manager: its pods never come, the phase waits until it is interrupted.
  const args = [
    "create",
    "--kubeconfig",
    kubeconfig,
    "--pid",
    String(process.pid),
    "--pods",
    "2",
    "--nodes",
    "2",
  ];
  const done = command(args, interruption.signal);
  for (;;) {
    const made = await client.list(workloadResources.CloneSet);
    if (made.items.length > 0) break;
    await clock.sleep(20);
  }
  interruption.abort();
  const { code, noted } = await done;
  t.equal(code, 130);
  t.equal(noted, "bench: interrupted; everything that it made is removed");
  t.same((await client.list(nodeObjects)).items, []);
  t.same((await client.list(namespaces, { labelSelector: BENCH_LABEL })).items, []);
  t.same((await client.list(workloadResources.CloneSet)).items, []);
});

t.test("what cannot be done is said in one line, before anything is made", async (t) => {
  const { kubeconfig } = await sandbox(t);
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const nowhere = join(folder, "nowhere");
  writeFileSync(
    nowhere,
    `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "http://127.0.0.1:9" } }]
users: [{ name: u, user: {} }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`,
  );
  const own = String(process.pid);
  const refused: readonly [args: string, says: RegExp][] = [
    [
      `create --kubeconfig ${nowhere} --pid ${own}`,
      /^bench: the API server cannot be used: .*127\.0\.0\.1:9.*/,
    ],
    [`create --kubeconfig ${join(folder, "none")} --pid ${own}`, /^bench: .*none/],
    [
      `statefulset --kubeconfig ${kubeconfig} --pid ${own}`,
      /^bench: the API server does not serve statefulsets of apps\.kruise\.io\/v1beta1: is the manager installed\?$/,
    ],
    [
      `create --kubeconfig ${kubeconfig} --pid 4000000`,
      /^bench: there is no process 4000000 on this machine \(--pid\)$/,
    ],
    [
      `create --kubeconfig ${kubeconfig} --pid ${own} --metrics-url http://127.0.0.1:9/metrics --pods 1`,
      /^bench: the manager's metrics at http:\/\/127\.0\.0\.1:9\/metrics cannot be read: /,
    ],
    ["compare a.json", /^bench: compare needs two sides/],
    ["compare a.json b.json", /^bench: a\.json cannot be read: ENOENT/],
    ["clean", /^bench: clean needs --kubeconfig FILE/],
    ["report", /^bench: report needs results/],
    ["check --threshold 1", /^bench: --threshold must be a ratio over 1, not "1"/],
    ["nonsense", /^bench: there is no scenario "nonsense"; there are create/],
  ];
  for (const [args, says] of refused) {
    const { code, noted, printed } = await command(args.split(" "));
    t.equal(code, 2, args);
    t.match(noted.split("\n")[0], says);
    t.ok(noted.split("\n").length <= 2, "one line, and one that leads to the usage");
    t.equal(printed, "");
  }
  t.match((await command(["--help"])).printed, /Scenarios:\n {2}create/);
});
