import t, { type Test } from "tap";
import {
  KubeError,
  type Metrics,
  nullLog,
  nullMetrics,
  type Resource,
  seededRandom,
  type WatchOptions,
} from "../kube/index.ts";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import { kinds } from "./kinds.ts";
import { parseFeatureGates } from "./runtime/feature_gates.ts";
import { SharedWatches } from "./runtime/informers.ts";
import { controllerOptions } from "./runtime/options.ts";
import type { Shard } from "./runtime/shard.ts";
import { startControllers } from "./start.ts";
import { admission } from "./start_admission.ts";

const ofOthers = ["configmaps", "deployments", "jobs", "replicasets", "secrets", "statefulsets"];
const ofNodes = ["controllerrevisions", "namespaces", "nodes", "persistentvolumeclaims", "pods"];
const served = [...ofOthers, ...ofNodes, ...kinds.map(({ resource }) => resource.plural)];

/** A process with every gate on, before a server that has all resources and no objects. */
function startProcess(t: Test) {
  const server = fakeServer({
    request: (path) =>
      path === "/version"
        ? { major: "1", minor: "34", gitVersion: "v1.34.0" }
        : { resources: served.map((name) => ({ name })) },
  });
  const { client } = server;
  /** What each open watch selects, by resource. */
  const open = new Set<{ readonly resource: string; readonly selection: string }>();
  const { watch } = client;
  client.watch = <T>(resource: Resource<T>, options: WatchOptions) => {
    const { namespace = "", labelSelector = "", fieldSelector = "" } = options;
    const name = `${resource.plural}.${resource.group}`;
    const one = { resource: name, selection: [namespace, labelSelector, fieldSelector].join(" ").trim() };
    open.add(one);
    options.signal.addEventListener("abort", () => open.delete(one), { once: true });
    return watch(resource, options);
  };
  const restarts = new Map<string, number>();
  const metrics: Metrics = {
    ...nullMetrics,
    watchRestart: (resource) => void restarts.set(resource, (restarts.get(resource) ?? 0) + 1),
  };
  const options = controllerOptions({
    systemNamespace: "kruise-system",
    gates: parseFeatureGates("AllAlpha=true,AllBeta=true"),
  });
  const clock = testClock();
  const deps = { client, clock, random: seededRandom(24), log: nullLog, options };
  const watches = new SharedWatches(metrics);
  const webhooks = admission({
    ...deps,
    watches,
    settings: {
      namespace: "kruise-system",
      service: "kruise-webhook-service",
      secret: "kruise-webhook-certs",
      host: undefined,
      port: 0,
      listenHost: undefined,
      certificateDirectory: undefined,
      certificates: "secret",
      renewBeforeMs: 0,
    },
    allowPrivileged: true,
    leads: false,
    refused: () => undefined,
    podStepTook: () => undefined,
    metrics: { review: () => undefined, failed: () => undefined },
  });
  t.teardown(() => webhooks.stop());
  const lead = async (shard?: Shard) => {
    const controllers = startControllers({ ...deps, metrics, watches, ...(shard ? { shard } : {}) });
    await controllers.synced;
    return controllers;
  };
  const watched = () => [...open].map(({ resource, selection }) => `${resource} ${selection}`.trim()).sort();
  return { server, clock, watched, restarts, lead };
}

/** What is watched more than once by whoever asks for all of it or for parts of it, and why. */
const watchedTwice = [
  // Admission needs those of SidecarSets on every replica; controllers hold what a shard's owners have, in all namespaces.
  "controllerrevisions.apps",
  "controllerrevisions.apps kruise-system",
  // Sidecars of other owners' jobs: in another projection, and of few pods.
  "pods.",
  "pods. spec.restartPolicy!=Always,status.phase!=Pending",
  // What UnitedDeployments write as a whole, in another projection; budgets and others read the scale of all.
  "statefulsets.apps",
  "statefulsets.apps apps.kruise.io/subset-name",
];

t.test("a leading process has one watch of each resource, and one again when it leads again", async (t) => {
  const { server, clock, watched, restarts, lead } = startProcess(t);
  await clock.settle();
  const ofAdmission = watched();
  t.strictSame(ofAdmission, [
    "controllerrevisions.apps kruise-system",
    "namespaces.",
    "persistentpodstates.apps.kruise.io",
    "podprobemarkers.apps.kruise.io",
    "podunavailablebudgets.policy.kruise.io",
    "sidecarsets.apps.kruise.io",
    "workloadspreads.apps.kruise.io",
  ]);
  let leading: string[] | undefined;
  for (let times = 0; times < 3; times++) {
    const controllers = await lead();
    leading ??= watched();
    t.strictSame(watched(), leading);
    await controllers.stop(0);
    await clock.settle();
    t.strictSame(watched(), ofAdmission, "admission goes on watching");
  }
  const resources = leading?.map((watch) => watch.split(" ")[0]) ?? [];
  t.strictSame(
    leading?.filter((_, index) => resources.filter((each) => each === resources[index]).length > 1),
    watchedTwice,
  );
  const wanted = [
    ...ofAdmission,
    "nodes.",
    ...kinds.map(({ resource }) => `${resource.plural}.${resource.group}`),
  ];
  t.strictSame(
    wanted.filter((watch) => !leading?.includes(watch)),
    [],
  );

  const controllers = await lead();
  server.endWatches(new KubeError("Network", "connection reset"));
  await clock.settle();
  t.equal(restarts.get("sidecarsets"), 1, "and each is counted once");
  t.equal(restarts.get("clonesets"), 1);
  await controllers.stop(0);
});

t.test("who begins to lead while a watch of admission is interrupted waits for it", async (t) => {
  const { server, clock, lead } = startProcess(t);
  await clock.settle();
  server.endWatches(new KubeError("Network", "connection reset"));
  await clock.settle();
  let works = false;
  const leading = lead().then((controllers) => {
    works = true;
    return controllers;
  });
  await clock.settle();
  t.notOk(works);
  await clock.advance(5_000);
  await (await leading).stop(0);
});

t.test("shards of one process share the watches of what they hold alike", async (t) => {
  const { clock, watched, lead } = startProcess(t);
  const shards = [await lead({ index: 0, count: 2 }), await lead({ index: 1, count: 2 })];
  const both = watched();
  t.strictSame(
    both.filter((watch, index) => both.indexOf(watch) !== index),
    // What is kept of these depends on the shard.
    ["controllerrevisions.apps", "persistentvolumeclaims.", "pods."],
  );
  await shards[0]?.stop(0);
  await clock.settle();
  t.ok(watched().includes("clonesets.apps.kruise.io"), "a shard that goes takes no watch from the other");
  await shards[1]?.stop(0);
  await clock.settle();
  t.equal(watched().length, 7);
});
