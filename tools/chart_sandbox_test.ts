/** The chart, installed by the real helm into a sandbox. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { systemClock } from "../kube/index.ts";
import { startSandbox } from "../sandbox/index.ts";
import { runHere } from "../testkit/cli/command_fixture.ts";
import { type HelmRun, helm, helmMissing } from "../testkit/cli/helm_fixture.ts";
import { root } from "./chart.ts";

const chart = join(root, "bundles/chart");
const former = join(root, "tools/chart/testdata/former");
const at = (name: string, namespace = "kruise-system") => ({ namespace, name });

async function cluster(t: Test) {
  const sandbox = await startSandbox({ seed: 16, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const home = t.testdir();
  const kubeconfig = join(home, "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const call = (...args: string[]): Promise<HelmRun> => helm(home, ...args, "--kubeconfig", kubeconfig);
  return { objects: sandbox.cluster, kubeconfig, helm: call };
}

/** What the controller in the cluster writes once it runs: webhooks and conversions call its Service. */
function callServices(objects: Objects): void {
  const service = { namespace: "kruise-system", name: "kruise-webhook-service", path: "/" };
  const call = (client: unknown): void => {
    if (!(client instanceof Object && "url" in client)) return;
    Reflect.deleteProperty(client, "url");
    Reflect.set(client, "service", service);
  };
  for (const resource of webhookResources)
    for (const { metadata } of [...objects.list(resource)])
      objects.update(resource, { name: metadata.name ?? "" }, (live) => {
        call(valueAt(live, "spec", "conversion", "webhook", "clientConfig"));
        for (const webhook of Array.isArray(live["webhooks"]) ? live["webhooks"] : [])
          call(valueAt(webhook, "clientConfig"));
      });
}

const webhookResources = [
  "customresourcedefinitions.apiextensions.k8s.io",
  "mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
];

type Objects = Awaited<ReturnType<typeof cluster>>["objects"];

/** Ends the Job of the hook as its container would: by what `uninstall --check` says. */
function runHook({ objects, kubeconfig }: Awaited<ReturnType<typeof cluster>>): {
  readonly said: string[];
  stop(): void;
} {
  const said: string[] = [];
  const stop = objects.subscribe("jobs.batch", ({ type, object }) => {
    if (type !== "ADDED") return;
    void runHere(`uninstall --check --kubeconfig ${kubeconfig}`).then((check) => {
      said.push(check.stdout + check.stderr);
      const condition = {
        type: check.code === 0 ? "Complete" : "Failed",
        status: "True",
        message: check.stderr,
      };
      objects.update("jobs.batch", at(object.metadata.name ?? ""), (job) => {
        job["status"] =
          check.code === 0
            ? { succeeded: 1, conditions: [condition] }
            : { failed: 1, conditions: [condition] };
      });
    });
  });
  return { said, stop };
}

t.test("helm", { skip: helmMissing }, async (t) => {
  await t.test("takes over a release of OpenKruise's chart with its values, and gives it back", async (t) => {
    const { objects, helm } = await cluster(t);
    const webhooks = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
    const configuration = { name: "kruise-mutating-webhook-configuration" };
    t.match(await helm("install", "kruise", former), { code: 0 });
    // What the former manager writes while it runs.
    const data = { "tls.crt": "Y2VydA==" };
    objects.update("secrets", at("kruise-webhook-certs"), (secret) => {
      secret["data"] = data;
    });
    objects.update(webhooks, configuration, (live) => {
      live.metadata.annotations = { ...live.metadata.annotations, template: "[]" };
    });
    const before = objects.get("deployments.apps", at("kruise-controller-manager"));
    const upgraded = await helm("upgrade", "kruise", chart, "--reuse-values");
    t.match(upgraded, { code: 0, stdout: /REVISION: 2\n.*manager\.image names OpenKruise's manager/s });
    t.match(objects.get("secrets", at("kruise-webhook-certs")), { data }, "certificates are kept");
    const live = objects.get(webhooks, configuration);
    t.match(
      live,
      { metadata: { annotations: { template: "" } } },
      "the list of the former release is forgotten",
    );
    t.match(JSON.stringify(live), /mutate-apps-kruise-io-cloneset/);
    t.notMatch(JSON.stringify(live), /mutate-former/);
    const after = objects.get("deployments.apps", at("kruise-controller-manager"));
    t.equal(after?.metadata.uid, before?.metadata.uid, "the Deployment rolls, it is not replaced");
    const [container] = containersOf(after);
    t.match(container, { image: "refit/controller:0.1.0", command: ["node"] });
    t.notMatch(JSON.stringify(container), /FORMER|enable-leader-election/);
    t.equal(objects.get("serviceaccounts", at("former")), undefined);

    t.match(await helm("rollback", "kruise", "1"), { code: 0 });
    const back = containersOf(objects.get("deployments.apps", at("kruise-controller-manager")));
    t.match(back, [{ image: "openkruise/kruise-manager:v1.9.0", command: ["/manager"] }]);
    t.match(objects.get("secrets", at("kruise-webhook-certs")), { data });
  });

  await t.test("is not uninstalled while there are workloads", async (t) => {
    const world = await cluster(t);
    const { objects, helm } = world;
    const installed = await helm("install", "kruise", chart, "--namespace", "default");
    t.match(installed, { code: 0, stdout: /Refit 0\.1\.0 is installed in namespace kruise-system/ });
    const spec = {
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "a", image: "a:1" }] } },
    };
    objects.create("clonesets.apps.kruise.io", { metadata: at("a", "default"), spec });
    const hook = runHook(world);
    t.teardown(hook.stop);
    const refused = await helm("uninstall", "kruise");
    t.equal(refused.code, 1);
    t.match(hook.said, [/there still exists some clonesets in the cluster/]);
    t.ok(objects.get("deployments.apps", at("kruise-controller-manager")));
    t.ok(objects.get("clonesets.apps.kruise.io", at("a", "default")));

    objects.remove("clonesets.apps.kruise.io", at("a", "default"));
    t.match(await helm("uninstall", "kruise"), { code: 0, stdout: /release "kruise" uninstalled/ });
    t.match(hook.said[1], /cluster is clean, ready to delete kruise/);
    t.equal(objects.get("deployments.apps", at("kruise-controller-manager")), undefined);
    t.strictSame([...objects.list("customresourcedefinitions.apiextensions.k8s.io")], []);
    const hooks = [...objects.list("serviceaccounts")].filter(
      ({ metadata }) => metadata.name === "kruise-helm-hook",
    );
    t.strictSame(hooks, [], "hooks leave nothing behind");
  });

  await t.test("an installation without helm becomes a release's", async (t) => {
    const { objects, kubeconfig, helm } = await cluster(t);
    const images = "--controller-image refit/controller:0.1.0 --agent-image refit/agent:0.1.0";
    t.match(await runHere(`install ${images} --kubeconfig ${kubeconfig}`), { code: 0 });
    const before = objects.get("deployments.apps", at("kruise-controller-manager"));
    const refused = await helm("install", "kruise", chart);
    t.match([refused.code, refused.stderr], [1, /invalid ownership metadata/]);
    t.match(await helm("install", "kruise", chart, "--take-ownership"), { code: 0 });
    const after = objects.get("deployments.apps", at("kruise-controller-manager"));
    t.equal(after?.metadata.uid, before?.metadata.uid);
    t.match(after?.metadata, { annotations: { "meta.helm.sh/release-name": "kruise" } });
  });

  await t.test(
    "over a controller outside of the cluster it is refused before anything is written",
    async (t) => {
      const { objects, kubeconfig, helm } = await cluster(t);
      t.match(await runHere(`install --webhook-host 127.0.0.1 --kubeconfig ${kubeconfig}`), { code: 0 });
      const take = () => helm("install", "kruise", chart, "--take-ownership");
      const before = objects.get("namespaces", { name: "kruise-system" });
      const refused = await take();
      t.match(refused, {
        code: 1,
        stderr: /call a controller that runs outside of it, at https:\/\/127\.0\.0\.1:9876,/,
      });
      t.match(await helm("list", "--all", "--all-namespaces", "--short"), { code: 0, stdout: /^$/ });
      t.strictSame(objects.get("namespaces", { name: "kruise-system" }), before);
      t.equal(objects.get("deployments.apps", at("kruise-controller-manager")), undefined);

      const [, command = ""] = /^ +refit (install .+)$/m.exec(refused.stderr) ?? [];
      t.match(await runHere(`${command} --kubeconfig ${kubeconfig}`), { code: 0 });
      callServices(objects);
      t.match(await take(), { code: 0 });
      t.match(await helm("upgrade", "kruise", chart), { code: 0, stdout: /STATUS: deployed/ });
    },
  );

  await t.test("a definition alone that calls a controller outside of the cluster is enough", async (t) => {
    const { objects, helm } = await cluster(t);
    t.match(await helm("install", "kruise", chart), { code: 0 });
    const definition = { name: "statefulsets.apps.kruise.io" };
    objects.update("customresourcedefinitions.apiextensions.k8s.io", definition, (live) => {
      const client = valueAt(live, "spec", "conversion", "webhook", "clientConfig");
      if (!(client instanceof Object)) throw new Error("no conversion");
      Reflect.deleteProperty(client, "service");
      Reflect.set(client, "url", "https://10.0.0.9:9876/convert");
    });
    t.match(await helm("upgrade", "kruise", chart), { code: 1, stderr: /at https:\/\/10\.0\.0\.9:9876,/ });
    t.match(await helm("list", "--all", "--all-namespaces"), { stdout: /\bdeployed\b/ });
  });

  await t.test("what the chart installs, refit install leaves as it is", async (t) => {
    const { kubeconfig, helm } = await cluster(t);
    t.match(await helm("install", "kruise", chart), { code: 0 });
    const gates = "--feature-gates=ImagePullJobGate=true";
    const flags = [
      "--controller-image refit/controller:0.1.0 --agent-image refit/agent:0.1.0",
      `--controller-flag=${gates} --agent-flag=${gates} --kubeconfig ${kubeconfig}`,
    ].join(" ");
    const { code, stdout } = await runHere(`install ${flags}`);
    t.equal(code, 0);
    t.strictSame(
      stdout.split("\n").filter((line) => /created$/.test(line)),
      [],
    );
  });

  await t.test(
    "an upgrade leaves what the controller wrote: who is trusted, and by whom it is called",
    async (t) => {
      const { objects, helm } = await cluster(t);
      t.match(await helm("install", "kruise", chart), { code: 0 });
      const caBundle = "Q0E=";
      const trust = (config: unknown): void => {
        if (config instanceof Object) Reflect.set(config, "caBundle", caBundle);
      };
      const definition = { name: "statefulsets.apps.kruise.io" };
      const configuration = { name: "kruise-mutating-webhook-configuration" };
      const webhooks = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
      objects.update("customresourcedefinitions.apiextensions.k8s.io", definition, (live) =>
        trust(valueAt(live, "spec", "conversion", "webhook", "clientConfig")),
      );
      objects.update(webhooks, configuration, (live) =>
        trust(valueAt(live, "webhooks", "0", "clientConfig")),
      );
      t.match(await helm("upgrade", "kruise", chart, "--set", "manager.replicas=3"), {
        code: 0,
        stdout: /REVISION: 2/,
      });
      t.match(objects.get("deployments.apps", at("kruise-controller-manager")), { spec: { replicas: 3 } });
      t.match(objects.get("customresourcedefinitions.apiextensions.k8s.io", definition), {
        spec: { conversion: { webhook: { clientConfig: { caBundle } } } },
      });
      t.match(objects.get(webhooks, configuration), { webhooks: [{ clientConfig: { caBundle } }] });
    },
  );
});

function valueAt(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, step) => (at instanceof Object ? Reflect.get(at, step) : undefined),
    object,
  );
}

function containersOf(workload: unknown): readonly unknown[] {
  const found = valueAt(workload, "spec", "template", "spec", "containers");
  return Array.isArray(found) ? found : [];
}
