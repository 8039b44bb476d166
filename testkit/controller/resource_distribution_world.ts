/** For tests of ResourceDistributions: the controller of the kind over a server in memory, with namespaces and objects in it. */

import { resourceDistributionKind } from "../../controller/kinds/resource_distribution/index.ts";
import { SharedInformers } from "../../controller/runtime/informers.ts";
import { enqueueItself } from "../../controller/runtime/owner_queues.ts";
import { Shell } from "../../controller/runtime/shell.ts";
import type { ResourceDistribution, ResourceDistributionSpec } from "../../crds/index.ts";
import type { Labels } from "../../kube/core/index.ts";
import { type Client, KubeError, nullMetrics, runController } from "../../kube/index.ts";
import { type TestClock, testClock } from "../kube/fake_clock.ts";
import { type FakeServer, fakeServer, type StoredObject } from "../kube/fake_server.ts";
import { kindDeps } from "./kind_deps_builder.ts";

const PLURAL = "resourcedistributions.apps.kruise.io";

/** What the controller asks for its namespaces by. */
function discovery(): unknown {
  return {
    resources: [
      { name: "namespaces", kind: "Namespace", namespaced: false, verbs: ["list", "watch"] },
      {
        name: "resourcedistributions",
        kind: "ResourceDistribution",
        namespaced: false,
        verbs: ["list", "watch"],
      },
    ],
  };
}

export class DistributionWorld {
  readonly clock: TestClock = testClock();
  readonly server: FakeServer = fakeServer({ request: discovery });
  /** Of a server that knows namespaces: nothing is created where there is none. */
  readonly client: Client = {
    ...this.server.client,
    create: async (resource, namespace, body, options) => {
      const metadata = this.server.object("namespaces", namespace ?? "")?.metadata;
      const about = { kind: "namespaces", name: namespace ?? "" };
      if (metadata === undefined)
        throw new KubeError("NotFound", "namespace not found", { status: 404, about });
      if (metadata.deletionTimestamp !== undefined)
        throw new KubeError("NamespaceTerminating", "it is being terminated", { status: 403 });
      return this.server.client.create(resource, namespace, body, options);
    },
  };
  #generation = 0;
  #uids = 0;
  #stop: () => Promise<void> = () => Promise.resolve();

  namespace(name: string, labels: Labels = {}, deleting = false): void {
    const deletion = deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
    const uid = this.server.object("namespaces", name)?.metadata.uid ?? this.uid();
    this.server.put("namespaces", { metadata: { name, uid, labels: { ...labels }, ...deletion } });
  }

  /** The distribution `d` gets this spec. */
  distribute(spec: ResourceDistributionSpec): void {
    const before = this.server.object(PLURAL, "d");
    const metadata = { name: "d", uid: "distribution", generation: ++this.#generation };
    this.server.put(PLURAL, { ...before, metadata, spec });
  }

  /** Somebody else's object. */
  put(
    plural: "configmaps" | "secrets",
    namespace: string,
    object: object,
    metadata: object = {},
  ): StoredObject {
    const named = { name: "settings", namespace, uid: this.uid(), ...metadata };
    return this.server.put(plural, { ...object, metadata: named });
  }

  uid(): string {
    return `u-${++this.#uids}`;
  }

  get status(): ResourceDistribution["status"] {
    const { status } = this.server.read(PLURAL, "d") as StoredObject & Pick<ResourceDistribution, "status">;
    return status;
  }

  /** Starts a controller; `client` may have faults. */
  async start(client: Client = this.client): Promise<ReturnType<typeof kindDeps<ResourceDistribution>>> {
    const { resource, reconciler, controllerName: name } = resourceDistributionKind;
    const deps = kindDeps(resource, client, this.clock);
    const { clock, random, log, queue } = deps;
    const metrics = nullMetrics;
    const informers = new SharedInformers({ client, clock, random, log, metrics, namespace: "" });
    const objects = informers.cacheOf(resource);
    const given = { ...deps, informers, objects };
    const shell = new Shell(given, reconciler(given));
    objects.subscribe((change) => enqueueItself(resourceDistributionKind, queue, shell, change));
    informers.start();
    await this.#over(informers.synced());
    const ending = new AbortController();
    const reconcile = (key: string) => shell.reconcile(key);
    const ended = runController({
      name,
      queue,
      workers: 1,
      reconcile,
      clock,
      log,
      metrics,
      signal: ending.signal,
    });
    this.#stop = async () => {
      ending.abort();
      informers.stop();
      await this.#over(Promise.all([deps.stop(), ended]));
    };
    return given;
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  /** Lets time pass until it is. */
  async #over(awaited: Promise<unknown>): Promise<void> {
    let isOver = false;
    const ended = awaited.finally(() => {
      isOver = true;
    });
    for (let step = 0; !isOver; step++) {
      if (step > 1000) throw new Error("it does not end");
      await this.clock.advance(100);
    }
    await ended;
  }

  /** Lets everything happen that follows without a change from outside, pauses after failures included. */
  async settle(ms = 2000): Promise<void> {
    for (let past = 0; past < ms; past += 500) await this.clock.advance(500);
  }
}
