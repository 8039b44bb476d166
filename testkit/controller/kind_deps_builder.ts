/** For tests of reconcilers: what a controller is given, over the client and the time of the test. */

import { writersInNamespaces, writersOf } from "../../controller/plan/owners.ts";
import { sharedCaches } from "../../controller/runtime/caches.ts";
import type { KindDeps, SharedDeps } from "../../controller/runtime/kind.ts";
import { controllerOptions } from "../../controller/runtime/options.ts";
import { type SelectableObject, SelectedObjects } from "../../controller/runtime/selected_objects.ts";
import {
  Cache,
  type Client,
  nullMetrics,
  podResource,
  type Resource,
  seededRandom,
  WorkQueue,
} from "../../kube/index.ts";
import type { TestClock } from "../kube/fake_clock.ts";
import { testLog } from "../kube/fake_log.ts";

interface TestDeps extends SharedDeps {
  clock: TestClock;
  log: ReturnType<typeof testLog>;
  /** `Warning CreateFailed …` */
  events: string[];
  stop(): Promise<void>;
}

export function sharedDeps(client: Client, clock: TestClock): TestDeps {
  const random = seededRandom(1);
  const log = testLog();
  const queue = new WorkQueue({ clock });
  const ending = new AbortController();
  const selections: { stop(): Promise<void> }[] = [];
  const events: string[] = [];
  const selectObjects = <T extends SelectableObject>(resource: Resource<T>) => {
    const deps = { client, clock, random, log, metrics: nullMetrics, namespace: "" };
    const selected = new SelectedObjects<T>({ ...deps, resource });
    selections.push(selected);
    return selected;
  };
  return {
    client,
    writesFor: writersInNamespaces(client),
    clock,
    random,
    log,
    queue,
    recorder: { event: (_, type, reason, message) => events.push(`${type} ${reason} ${message}`) },
    events,
    options: controllerOptions(),
    server: { resizeSubresource: true, imagePullJobs: true },
    caches: {
      ...sharedCaches(),
      pullJobs: () => [],
      pullJobWritten: () => undefined,
      nodeImage: () => undefined,
    },
    informers: { cacheOf: (resource, indexes) => new Cache({ identify: resource.codec.identify, indexes }) },
    selectObjects,
    selectedPods: selectObjects(podResource),
    signal: ending.signal,
    async stop() {
      ending.abort();
      queue.stop();
      await Promise.all(selections.map((selection) => selection.stop()));
    },
  };
}

export function kindDeps<T>(resource: Resource<T>, client: Client, clock: TestClock): KindDeps<T> & TestDeps {
  const writesFor = resource.namespaced ? writersInNamespaces(client) : writersOf(client);
  return { ...sharedDeps(client, clock), writesFor, resource, objects: new Cache<T>(resource.codec) };
}
