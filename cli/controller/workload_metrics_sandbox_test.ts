/** The controller with --workload-metrics, scraped while workloads come, roll out and go. */
import t, { type Test } from "tap";
import { isJsonObject } from "../../kube/core/index.ts";
import { startControlledSandbox } from "../../testkit/cli/controlled_sandbox.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { type ParsedFamily, parsedMetrics } from "../../testkit/kube/parsed_metrics.ts";
import { reached } from "../../testkit/sandbox/sandbox_client.ts";

const port = portAt(await freePorts(1), 0);
// Both shards are led here: what each tells is one family, and each object is in one of them.
const { sandbox, api, stopController } = await startControlledSandbox(t, {
  seed: 31,
  gates: "ImagePullJobGate=false",
  flags: `--metrics-addr=127.0.0.1:${port} --workload-metrics --shards=2`,
});
const collection = "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets";
const names = ["web-0", "web-1", "web-2", "web-3", "web-4", "web-5"];
const replicas = 2;

function cloneSet(name: string): object {
  const labels = { app: name };
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name, labels: { "app.kubernetes.io/name": name } },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "nginx:1.25" }] } },
      updateStrategy: { rollingUpdate: { partition: 1, podUpdatePolicy: "InPlaceIfPossible" } },
    },
  };
}

async function scraped(): Promise<ParsedFamily[]> {
  return parsedMetrics(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
}

/** Values of a metric by the object's name. */
async function served(metric: string, label = "cloneset"): Promise<Record<string, number>> {
  const samples = (await scraped()).find(({ name }) => name === metric)?.samples ?? [];
  return Object.fromEntries(samples.map(({ labels, value }) => [labels[label] ?? "", value]));
}

const ofAll = (value: number) => Object.fromEntries(names.map((name) => [name, value]));

const settled = (holds: (status: Record<string, unknown>) => boolean, what: string) =>
  reached(
    sandbox,
    "clonesets.apps.kruise.io",
    (objects) =>
      objects.length === names.length &&
      objects.every(({ metadata, status }) => {
        const { observedGeneration, ...counts } = isJsonObject(status) ? status : {};
        return observedGeneration === metadata.generation && holds(counts);
      }),
    what,
  );

/** A watch may be a moment behind the store: asked again until it says so. */
async function comesToSay(t: Test, metric: string, wanted: Record<string, number>): Promise<void> {
  const giveUpAt = Date.now() + 20_000;
  const text = (values: object) => JSON.stringify(Object.entries(values).sort());
  let last = await served(metric);
  while (text(last) !== text(wanted) && Date.now() < giveUpAt) last = await served(metric);
  t.strictSame(text(last), text(wanted), metric);
}

t.test("what is served of workloads is their status, each of them once", async (t) => {
  for (const name of names) await api.post(collection, cloneSet(name));
  await settled(({ availableReplicas }) => availableReplicas === replicas, "all pods available");
  for (const name of ["replicas", "replicas_ready", "replicas_available", "replicas_updated"])
    await comesToSay(t, `kruise_cloneset_status_${name}`, ofAll(replicas));
  await comesToSay(t, "kruise_cloneset_spec_replicas", ofAll(replicas));
  t.strictSame(await served("kruise_cloneset_labels", "label_app_kubernetes_io_name"), ofAll(1));
  t.strictSame(await served("refit_rollout_replicas_to_update", "name"), ofAll(0));
});

t.test("a rollout is seen as far as its partition, and what was deleted is gone", async (t) => {
  for (const name of names)
    await api.patch(`${collection}/${name}`, [
      { op: "replace", path: "/spec/template/spec/containers/0/image", value: "nginx:1.26" },
    ]);
  const one = ({ updatedReplicas }: Record<string, unknown>) => updatedReplicas === 1;
  await settled(one, "one pod of each is updated");
  await comesToSay(t, "kruise_cloneset_status_replicas_updated", ofAll(1));
  await comesToSay(t, "kruise_cloneset_metadata_generation", ofAll(2));
  await api.delete(`${collection}/web-0`);
  const { "web-0": _, ...rest } = ofAll(1);
  await comesToSay(t, "kruise_cloneset_status_replicas_updated", rest);
});

t.test("the controller ends", async (t) => {
  t.equal((await stopController()).code, 0);
});
