import t from "tap";
import type { ImagePullJob } from "../../crds/index.ts";
import {
  Cache,
  nullMetrics,
  podResource,
  type Resource,
  seededRandom,
  testClock,
  testLog,
  WorkQueue,
} from "../../kube/index.ts";
import { podServer } from "../_pod_server.ts";
import { controllerOptions } from "../options.ts";
import { type SelectablePod, SelectedPods } from "../selected_pods.ts";
import { imagePullJobShell } from "./reconcile.ts";
import { imagePullJobResource } from "./resource.ts";
import { pullJob } from "./testing.ts";

t.test("pods of a job that goes during its pass are not watched", async (t) => {
  const { client, watches } = podServer();
  const clock = testClock();
  const random = seededRandom(1);
  const log = testLog();
  const queue = new WorkQueue({ clock });
  const objects = new Cache<ImagePullJob>(imagePullJobResource.codec);
  const stops: (() => Promise<void>)[] = [async () => queue.stop()];
  const selectPods = <P extends SelectablePod>(resource: Resource<P>) => {
    const deps = { client, clock, random, log, metrics: nullMetrics, namespace: "" };
    const selected = new SelectedPods<P>({ ...deps, resource });
    stops.push(() => selected.stop());
    return selected;
  };
  t.teardown(() => Promise.all(stops.map((stop) => stop())));
  const shell = imagePullJobShell({
    client,
    clock,
    informers: { cacheOf: (resource, indexes) => new Cache({ identify: resource.codec.identify, indexes }) },
    log,
    objects,
    options: controllerOptions(),
    queue,
    random,
    recorder: { event: () => undefined },
    resource: imagePullJobResource,
    selectPods,
    selectedPods: selectPods(podResource),
    signal: new AbortController().signal,
  });
  const put = (uid: string, resourceVersion: string) =>
    objects.upsert(pullJob({ podSelector: { matchLabels: { app: "web" } } }, { uid, resourceVersion }));
  put("one", "1");
  const pass = shell.reconcile("ns/job");
  objects.remove("ns/job", "one");
  shell.forget("ns/job", "one");
  await pass;
  await clock.settle();
  t.equal(watches.size, 0);
  put("other", "2");
  await shell.reconcile("ns/job");
  await clock.settle();
  t.equal(watches.size, 1, "those of a job that is there are");
});
