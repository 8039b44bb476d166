/**
 * What is made for an object that is gone is collected at once, and would be made again for as long as the watch of its kind is away: of
 * every kind that makes something (kinds/*, `confirm object`).
 */
import t from "tap";
import { run } from "./run.ts";
import type { Story } from "./story.ts";

const labels = { app: "gone" };
const containers = [{ name: "main", image: "web:1" }];
const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers } };
const selector = { matchLabels: labels };
const job = {
  template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } },
  completionPolicy: { type: "Always" },
};
const workload = { replicas: 3, selector, template };
const group = "apps.kruise.io";

interface Kind {
  readonly kind: string;
  readonly version: string;
  readonly plural: string;
  readonly spec: object;
  readonly isOfCluster?: true;
  /** When it is deleted, in milliseconds after the beginning. */
  readonly deletedAt?: number;
}

const kinds: readonly Kind[] = [
  { kind: "CloneSet", version: "v1alpha1", plural: "clonesets", spec: workload },
  {
    kind: "StatefulSet",
    version: "v1beta1",
    plural: "statefulsets",
    spec: { ...workload, serviceName: "gone", podManagementPolicy: "Parallel" },
  },
  { kind: "DaemonSet", version: "v1alpha1", plural: "daemonsets", spec: { selector, template } },
  { kind: "BroadcastJob", version: "v1beta1", plural: "broadcastjobs", spec: job },
  {
    kind: "AdvancedCronJob",
    version: "v1alpha1",
    plural: "advancedcronjobs",
    spec: { schedule: "* * * * *", template: { broadcastJobTemplate: { spec: job } } },
    // Its first run is due while nobody has heard that it is gone.
    deletedAt: 57_500,
  },
  {
    kind: "ImageListPullJob",
    version: "v1beta1",
    plural: "imagelistpulljobs",
    spec: { images: ["web:1", "web:2"], parallelism: 1, completionPolicy: { type: "Always" } },
  },
  {
    kind: "UnitedDeployment",
    version: "v1alpha1",
    plural: "uniteddeployments",
    spec: {
      replicas: 4,
      selector,
      template: { cloneSetTemplate: { metadata: { labels }, spec: { selector, template } } },
      topology: { subsets: [{ name: "one" }, { name: "two" }] },
    },
  },
  {
    kind: "ResourceDistribution",
    version: "v1alpha1",
    plural: "resourcedistributions",
    isOfCluster: true,
    spec: {
      resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "gone" }, data: { round: "1" } },
      targets: { allNamespaces: true },
    },
  },
  {
    kind: "SidecarSet",
    version: "v1beta1",
    plural: "sidecarsets",
    isOfCluster: true,
    spec: { selector, containers: [{ name: "side", image: "side:1" }] },
  },
];

const lateMs = 12_000;
const nodes = 4;

/** It is deleted, which its watch tells much later than all others do. */
function storyOf(
  { kind, version, plural, spec, isOfCluster, deletedAt = 9_500 }: Kind,
  isMadeAgain: boolean,
): Story {
  const namespace = isOfCluster ? "" : "/namespaces/blue";
  const path = `/apis/${group}/${version}${namespace}/${plural}/gone`;
  const metadata = isOfCluster ? { name: "gone" } : { name: "gone", namespace: "blue" };
  const manifest = { apiVersion: `${group}/${version}`, kind, metadata, spec };
  const rule = {
    verb: ["watch", "list"],
    userAgent: "replica-",
    resource: [`${plural}.${group}`],
    effect: { type: "lag", ms: lateMs },
  } as const;
  const create = { act: "create", path, manifest } as const;
  return {
    seed: 1,
    replicas: 1,
    shards: 1,
    nodes,
    namespaces: ["blue", "green"],
    stale: [{ from: 0, to: 120_000, ms: 2 * lateMs }],
    steps: [
      { at: 5_000, do: create },
      { at: deletedAt - 500, do: { act: "fault", rule, forMs: 20_000 } },
      { at: deletedAt, do: { act: "delete", path } },
      ...(isMadeAgain ? [{ at: deletedAt + 200, do: create }] : []),
    ],
  };
}

const isMade = /replica-\S+ create /;
const isMadeForNode = / create (events|leases|nodeimages|nodepodprobes)/;
/** Of a cron job that was made again: a job and its pods. */
const oneRun = 1 + nodes;

for (const kind of kinds)
  t.test(`${kind.kind}: nothing is made again and again for one that is gone`, async (t) => {
    for (const isMadeAgain of [false, true]) {
      const { trace } = await run(storyOf(kind, isMadeAgain));
      const made = trace.filter((line) => isMade.test(line) && !isMadeForNode.test(line));
      const deletion = trace.findIndex((line) => line.includes(`person delete ${kind.plural}`));
      const before = made.filter((line) => trace.indexOf(line) < deletion).length;
      const after = made.length - before;
      t.ok(deletion > 0 && (made.length > 0 || !isMadeAgain), `${made.length} were made`);
      t.ok(after <= 2 * before + (isMadeAgain ? oneRun : 0), `${after} were made after it, ${before} before`);
    }
  });
