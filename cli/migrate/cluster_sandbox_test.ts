import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { systemClock } from "../../kube/index.ts";
import { type ClusterChange, type StoredObject, startSandbox } from "../../sandbox/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import {
  formerDefinitions,
  podsOf,
  putStoredObjects,
  storedObjects,
} from "../../testkit/cli/stored_objects.ts";
import { accountKubeconfig } from "../../testkit/kube/account_fixture.ts";
import { type PodChange, podDisturbances, undisturbed } from "../../testkit/kube/pod_disturbances.ts";
import { listAt, numberAt, textAt } from "../fields.ts";
import { processHost } from "../host.ts";

const host = processHost();
const system = "kruise-system";
const sandbox = await startSandbox({
  seed: 17,
  clock: systemClock,
  nodes: 2,
  agent: true,
  crds: formerDefinitions(),
});
const { cluster } = sandbox;
const folder = t.testdir();
const kubeconfig = join(folder, "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const namespace = "shop";
const objects = await storedObjects();
await putStoredObjects(kubeconfig, objects);
const pods = podsOf(objects);
const webhookPort = portAt(await freePorts(1), 0);
sandbox.serviceUrls.set(`${system}/kruise-webhook-service`, `https://127.0.0.1:${webhookPort}`);

const deployment = () =>
  cluster.get("deployments.apps", { namespace: system, name: "kruise-controller-manager" });
const record = () =>
  [...cluster.list("configmaps", system)].filter(({ metadata }) =>
    metadata.name?.startsWith("refit-migration"),
  );
const isRefit = (object: StoredObject | undefined): boolean =>
  JSON.stringify(object ?? {}).includes("/refit/refit.mjs");

/** Runs the controller itself for as long as its Deployment has replicas, as the cluster would run its image. */
class ControllerOfDeployment {
  #stopping: AbortController | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  readonly #watch = setInterval(() => void this.#follow(), 50);

  async #follow(): Promise<void> {
    const wanted = isRefit(deployment()) && (numberAt(deployment(), "spec", "replicas") ?? 1) > 0;
    if (!wanted) return this.#stopping?.abort();
    if (this.#stopping !== undefined && !this.#stopping.signal.aborted) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    const account = join(folder, "account");
    writeFileSync(account, await accountKubeconfig(kubeconfig, "kruise-manager"));
    const env = {
      WEBHOOK_PORT: String(webhookPort),
      WEBHOOK_CERT_WRITER: "secret",
      WEBHOOK_CERT_DIR: join(folder, "certificates"),
      POD_NAMESPACE: system,
    };
    this.#ended = run(`controller --kubeconfig ${account} --metrics-addr=0 --health-probe-addr=0`, {
      host,
      io: { env, signal: stopping.signal },
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch);
    this.#stopping?.abort();
    await this.#ended;
  }
}

const controller = new ControllerOfDeployment();
t.teardown(async () => {
  await controller.stop();
  await sandbox.stop();
});

await untilReady();
/** Of the workloads' pods. */
const changes: PodChange[] = [...cluster.list("pods", namespace)].map((object) => ({
  type: "PRESENT",
  object: structuredClone(object),
}));
cluster.subscribe("pods", ({ type, object }: ClusterChange) => {
  if (object.metadata.namespace === namespace) changes.push({ type, object });
});

async function untilReady(): Promise<void> {
  const isReady = (pod: StoredObject): boolean =>
    listAt(pod, "status", "conditions").some(
      (condition) => textAt(condition, "type") === "Ready" && textAt(condition, "status") === "True",
    );
  while ([...cluster.list("pods", namespace)].filter(isReady).length < pods.length) await sleep(50);
}

const migrate = (flags: string, signal?: AbortSignal) =>
  run(`migrate cluster --kubeconfig ${kubeconfig} ${flags}`, {
    host,
    io: signal === undefined ? {} : { signal },
  });
const images = "--controller-image refit:1 --agent-image agent:1";
/** Long enough for every controller to have looked at everything. */
const settleMs = 2_000;
const revisionNames = () =>
  [...cluster.list("controllerrevisions.apps")]
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => !name.startsWith("kruise-daemon-"))
    .sort();
const revisions = revisionNames();

function setWebImage(from: string, to: string): void {
  cluster.update("statefulsets.apps.kruise.io", { namespace, name: "web" }, (draft) => {
    draft["spec"] = JSON.parse(JSON.stringify(draft["spec"]).replace(from, to));
  });
}

t.test("changes nothing while something is in the way, unless it is forced", async (t) => {
  setWebImage("nginx:alpine", "nginx:next");
  const refused = await migrate(images);
  t.equal(refused.code, 1);
  t.match(refused.stdout, /^In the way: 1\n {2}StatefulSet shop\/web .*: a rollout is under way/);
  t.match(refused.stderr, /^error: 1 obstacle, and nothing was changed: .* --force takes over anyway\n$/);
  t.equal(numberAt(deployment(), "spec", "replicas"), 2);
  t.equal(record().length, 0);
  const killed = new AbortController();
  const forced = migrate(`${images} --force`, killed.signal);
  while (numberAt(deployment(), "spec", "replicas") !== 0) await sleep(5);
  killed.abort();
  t.match((await forced).stdout, /^In the way: 1\n.*\nrecord what is there:\n/);
  setWebImage("nginx:next", "nginx:alpine");
});

t.test("takes over without touching a pod, killed on the way or not", async (t) => {
  const killed = new AbortController();
  const first = migrate(images, killed.signal);
  while (numberAt(deployment(), "spec", "replicas") !== 0) await sleep(5);
  killed.abort();
  await first;
  const { code, stdout, stderr } = await migrate(images);
  t.equal(code, 0, stdout + stderr);
  t.match(stdout, /Refit leads and answers webhooks\.\n$/);
  t.ok(isRefit(deployment()));
  await sleep(settleMs);
  t.same(podDisturbances(changes), undisturbed);
  t.same(revisionNames(), revisions, "adopted as they are");
  const again = await migrate(images);
  t.same([again.code, again.stdout], [0, "Refit leads and answers webhooks.\n"], "nothing is left to do");
});

t.test("goes back to what was there", async (t) => {
  const { code, stdout, stderr } = await migrate("--back");
  t.equal(code, 0, stdout + stderr);
  t.match(deployment(), {
    spec: { replicas: 2, template: { spec: { containers: [{ command: ["/manager"] }] } } },
  });
  const agents = cluster.get("daemonsets.apps", { namespace: system, name: "kruise-daemon" });
  t.match(agents, { spec: { template: { spec: { containers: [{ command: ["/kruise-daemon"] }] } } } });
  const definition = cluster.get("customresourcedefinitions.apiextensions.k8s.io", {
    name: "clonesets.apps.kruise.io",
  });
  t.match(definition, {
    spec: { conversion: { strategy: "None" } },
    status: { storedVersions: ["v1alpha1"] },
  });
  t.equal(listAt(definition, "spec", "versions").length, 1);
  const webhooks = cluster.get("mutatingwebhookconfigurations.admissionregistration.k8s.io", {
    name: "kruise-mutating-webhook-configuration",
  });
  t.equal(
    textAt(listAt(webhooks, "webhooks")[0], "clientConfig", "service", "path"),
    "/mutate-apps-kruise-io-v1alpha1-cloneset",
  );
  t.same(record(), []);
  await sleep(settleMs / 4);
  t.same(podDisturbances(changes), undisturbed);
  t.match(await migrate("--back"), { code: 0 });
});

t.test("what takes over must be named", async (t) => {
  t.match(await migrate(""), { code: 1, stderr: /--controller-image IMAGE, or --webhook-host HOST/ });
});
