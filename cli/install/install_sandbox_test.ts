import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fieldsAt, listAt, textAt } from "../fields.ts";
import { processHost } from "../host.ts";

t.test("what stands around the controller is installed once, and removed with it", async (t) => {
  const sandbox = await startSandbox({ seed: 13, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const kubeconfig = join(t.testdir(), "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const refit = (words: string) => run(`${words} --kubeconfig ${kubeconfig}`, { host: processHost() });
  const images = "--controller-image controller:1 --agent-image agent:1";
  const safeguards = [
    "resourcequota/kruise-critical-pods",
    "networkpolicy.networking.k8s.io/kruise-controller-manager",
    "poddisruptionbudget.policy/kruise-controller-manager",
  ];
  const toldOf = ({ stdout }: { stdout: string }, did: string) =>
    safeguards.filter((name) => stdout.split("\n").includes(`${name} ${did}`));
  t.same(toldOf(await refit(`install ${images}`), "created"), safeguards);
  t.same(toldOf(await refit(`install ${images}`), "unchanged"), safeguards);
  t.same(toldOf(await refit("uninstall"), "deleted").sort(), safeguards.sort());
  for (const resource of [
    "resourcequotas",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
  ])
    t.same(sandbox.cluster.list(resource), []);
});

t.test("install right after uninstall waits for what is still on its way out, and says so", async (t) => {
  const sandbox = await startSandbox({ seed: 12, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const kubeconfig = join(t.testdir(), "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const host = processHost();
  const waits = Promise.withResolvers<void>();
  const refit = (words: string, write: (text: string) => void = () => undefined) =>
    run(`${words} --kubeconfig ${kubeconfig}`, { host, io: { stderr: { write } } });
  t.match(await refit("install"), { code: 0 });
  const held = { namespace: "kruise-system", name: "held" };
  sandbox.cluster.create("configmaps", { metadata: { ...held, finalizers: ["example.com/hold"] } });
  t.match(await refit("uninstall"), { code: 0 });
  const before = sandbox.cluster.get("namespaces", { name: "kruise-system" });
  t.match(before, { status: { phase: "Terminating" } });
  const said: string[] = [];
  const again = refit("install", (text) => {
    said.push(text);
    waits.resolve();
  });
  await Promise.race([waits.promise, again]);
  t.match(said[0], /^waiting: namespace\/kruise-system is being deleted/);
  sandbox.cluster.update("configmaps", held, (map) => {
    map.metadata.finalizers = [];
  });
  const { code, stdout } = await again;
  t.equal(code, 0, said.join(""));
  t.match(stdout, /^namespace\/kruise-system created$/m);
  t.match(stdout, /definitions established\n$/);
  t.not(sandbox.cluster.get("namespaces", { name: "kruise-system" })?.metadata.uid, before?.metadata.uid);
});

t.test("uninstall --check names what is left, and removes nothing", async (t) => {
  const sandbox = await startSandbox({ seed: 14, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const kubeconfig = join(t.testdir(), "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const refit = (words: string) => run(`${words} --kubeconfig ${kubeconfig}`, { host: processHost() });
  await refit("install");
  t.match(await refit("uninstall --check"), {
    code: 0,
    stdout: "cluster is clean, ready to delete kruise\n",
  });
  const spec = {
    selector: { matchLabels: { app: "a" } },
    template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "a", image: "a:1" }] } },
  };
  const named = (name: string) => ({ metadata: { namespace: "default", name } });
  sandbox.cluster.create("clonesets.apps.kruise.io", { ...named("a"), spec });
  const refused = await refit("uninstall --check");
  t.match(refused, { code: 1, stdout: /^IN THE WAY +OBJECTS\nclonesets\.apps\.kruise\.io +default\/a\n$/ });
  t.match(await refit("uninstall"), { code: 1, stdout: "" });
  t.match(
    refused.stderr,
    /^error: there still exists some clonesets in the cluster; delete them first: "kubectl delete clonesets.apps.kruise.io --all --all-namespaces --cascade=orphan" leaves/,
  );
  for (const name of ["b", "c", "d"])
    sandbox.cluster.create("clonesets.apps.kruise.io", { ...named(name), spec });
  const subset = { name: "one", nodeSelectorTerm: {} };
  const spread = {
    targetRef: { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet", name: "a" },
    subsets: [subset],
  };
  sandbox.cluster.create("workloadspreads.apps.kruise.io", { ...named("w"), spec: spread });
  t.match(
    (await refit("uninstall --check")).stdout,
    /^clonesets\S+ +default\/a, default\/b, default\/c, …\nworkloadspreads\S+ +default\/w\n$/m,
  );
  t.ok(sandbox.cluster.get("namespaces", { name: "kruise-system" }));
});

t.test("over another program's webhooks: its paths and entries go, the authority stays", async (t) => {
  const sandbox = await startSandbox({ seed: 15, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const kubeconfig = join(t.testdir(), "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const refit = (words: string) => run(`${words} --kubeconfig ${kubeconfig}`, { host: processHost() });
  const resource = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
  const ref = { name: "kruise-mutating-webhook-configuration" };
  const former = (name: string, path: string) => ({
    name,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    clientConfig: {
      caBundle: "Y2E=",
      service: { namespace: "kruise-system", name: "kruise-webhook-service", path },
    },
  });
  sandbox.cluster.create(resource, {
    metadata: { ...ref, annotations: { template: "[]" }, labels: { "app.kubernetes.io/managed-by": "Helm" } },
    webhooks: [
      former("mcloneset.kb.io", "/mutate-apps-kruise-io-v1alpha1-cloneset"),
      former("mgone.kb.io", "/mutate-gone"),
    ],
  });
  t.match(await refit("install"), { code: 0 });
  const entries = () => listAt(sandbox.cluster.get(resource, ref), "webhooks");
  const configOf = (name: string) =>
    fieldsAt(
      entries().find((entry) => textAt(entry, "name") === name),
      "clientConfig",
    );
  t.same(configOf("mcloneset.kb.io"), {
    caBundle: "Y2E=",
    service: {
      namespace: "kruise-system",
      name: "kruise-webhook-service",
      path: "/mutate-apps-kruise-io-cloneset",
      port: 443,
    },
  });
  t.equal(configOf("mpod.kb.io")["caBundle"], "Y2E=");
  t.notOk(entries().some((entry) => textAt(entry, "name") === "mgone.kb.io"));
  t.match(sandbox.cluster.get(resource, ref)?.metadata, {
    annotations: { template: "" },
    labels: { "app.kubernetes.io/managed-by": "Helm" },
  });

  const written = { caBundle: "bmV3", url: "https://192.0.2.1:9876/mutate-apps-kruise-io-cloneset" };
  sandbox.cluster.update(resource, ref, (draft) => {
    draft["webhooks"] = entries().map((entry) =>
      textAt(entry, "name") === "mcloneset.kb.io" ? { ...fieldsAt(entry), clientConfig: written } : entry,
    );
  });
  t.match(await refit("install"), { code: 0 });
  t.same(configOf("mcloneset.kb.io"), written, "how the running controller is reached is its own");
  t.match((await refit("install")).stdout, /kruise-mutating-webhook-configuration unchanged/);
});
