/** Carries out what a story says. */
import type { StoredObject } from "../sandbox/index.ts";
import type { Act } from "./act.ts";
import { claimSpec, theirsLabel } from "./applied.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { claimsOf, controllerOf } from "./observer/fields.ts";
import type { Replica } from "./replica.ts";
import { promptMs, type Stale } from "./story.ts";

/** Who is stopped for longer leads no more. */
const longestLedMs = 10_000;
const cronJobs = "advancedcronjobs.apps.kruise.io";
const claims = "persistentvolumeclaims";
const finalizer = "simulated.io/hold";

/** What controllers make for the objects of people, and how somebody changes it. */
const edits: Readonly<
  Record<string, { path: (namespace: string) => string; patch: (share: number) => object }>
> = {
  "clonesets.apps.kruise.io": {
    path: (namespace) => `/apis/apps.kruise.io/v1alpha1/namespaces/${namespace}/clonesets`,
    patch: (share) => ({ spec: { replicas: Math.floor(share * 1e6) % 9 } }),
  },
  configmaps: {
    path: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
    patch: () => ({ data: { round: "by hand" } }),
  },
};

export class Cast {
  readonly #cluster: SimulatedCluster;
  readonly #endings = new Set<() => void>();
  /** When a replica was stopped only the course of the story shows. */
  readonly stale: Stale[] = [];

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster;
  }

  do(act: Act): void {
    const doer = this.#doers[act.act];
    // Each is asked for what is its own: the key says so.
    Reflect.apply(doer, undefined, [act]);
  }

  readonly #doers: { readonly [A in Act["act"]]: (act: Extract<Act, { act: A }>) => void } = {
    create: ({ path, manifest }) => this.#ask("POST", path.slice(0, path.lastIndexOf("/")), manifest),
    change: ({ path, patch }) => this.#ask("PATCH", path, patch),
    delete: ({ path }) => this.#ask("DELETE", path, { propagationPolicy: "Background" }),
    "delete pod": ({ share }) => this.#withPod(share, (pod) => this.#ask("DELETE", pathOf(pod))),
    "evict pod": ({ share }) => this.#withPod(share, (pod) => this.#evict(pod)),
    "crash container": ({ share }) =>
      this.#withPod(share, ({ metadata: { name = "", namespace = "" } }) => {
        this.#cluster.server.nodes?.crashContainer(namespace, name, "main");
      }),
    "delete claim": ({ share }) =>
      this.#withClaim(share, (claim) => this.#ask("DELETE", pathOf(claim, claims))),
    "replace claim": ({ share }) => this.#withClaim(share, (claim) => this.#replace(claim)),
    "recreate containers": ({ share, force }) =>
      this.#withPod(share, (pod) => this.#recreate(pod, share, force)),
    "kill replica": ({ number, afterWrites, downMs }) =>
      this.#afterWrites(number, afterWrites, () => {
        this.#cluster.kill(number);
        this.#for(downMs, () => this.#cluster.start(number));
      }),
    "stop replica": ({ number, afterWrites, forMs }) =>
      this.#afterWrites(number, afterWrites, ({ clock }) => {
        clock.stop();
        this.#for(forMs, () => clock.goOn());
        const from = this.#cluster.clock.monotonic();
        const ms = Math.min(forMs, longestLedMs) + promptMs;
        this.stale.push({ from, to: from + forMs + ms, ms });
      }),
    "skew clock": ({ number, ms }) => this.#replica(number)?.clock.skew(ms),
    fault: ({ rule, forMs }) => this.#for(forMs, this.#cluster.server.faults.add(rule)),
    "break watches": ({ share, how }) => this.#watch(share)?.[how](),
    "silence watches": ({ share, forMs }) => {
      const watch = this.#watch(share);
      watch?.silence();
      this.#for(forMs, () => watch?.resume());
    },
    "move to server behind": ({ number, ms, forMs }) => {
      const { faults } = this.#cluster.server;
      const userAgent = `replica-${number}.`;
      // An object is read from etcd wherever it is asked for; the controller relies on it (Kubernetes API concepts, resource versions).
      const verb = ["list", "watch"];
      this.#for(forMs, faults.add({ userAgent, verb, effect: { type: "lag", ms } }));
      for (const watch of faults.watches({ userAgent })) watch.drop();
    },
    "restart server": ({ forMs }) => {
      const { faults } = this.#cluster.server;
      const away = faults.add({ userAgent: "replica-", effect: { type: "drop", when: "before" } });
      for (const watch of faults.watches({ userAgent: "replica-" })) {
        const { resource } = watch;
        watch.drop();
        faults.add({ verb: "watch", userAgent: "replica-", resource, times: 1, effect: { type: "expire" } });
      }
      this.#for(forMs, away);
    },
    "fail probe": ({ share, forMs }) =>
      this.#withPod(share, ({ metadata: { name = "", namespace = "" } }) => {
        const { nodes } = this.#cluster.server;
        if (nodes?.setReady(namespace, name, "main", false) !== true) return;
        this.#for(forMs, () => nodes.setReady(namespace, name, "main", undefined));
      }),
    "kill node": ({ name, forMs }) => {
      const { agents, server } = this.#cluster;
      server.nodes?.kill(name);
      agents?.kill(name);
      this.#for(forMs, () => {
        server.nodes?.revive(name);
        agents?.start(name);
      });
    },
    "cordon node": ({ name, forMs }) => this.#cordon(name, forMs),
    "drain node": ({ name, forMs }) => {
      this.#cordon(name, forMs);
      for (const pod of this.#pods()) if (nodeOf(pod) === name) this.#evict(pod);
    },
    "restart agent": ({ name, afterSteps, downMs }) => {
      const { agents } = this.#cluster;
      const restart = (): void => {
        agents?.kill(name);
        this.#for(downMs, () => agents?.start(name));
      };
      if (afterSteps === 0) restart();
      else if (agents !== undefined) this.#endings.add(agents.disk(name).afterSteps(afterSteps, restart));
    },
    "tear state file": ({ name, share, how }) => this.#cluster.agents?.disk(name).tear(share, how),
    "lose state file": ({ name, share }) => this.#cluster.agents?.disk(name).lose(share),
    "fill disk": ({ name, forMs }) => {
      const disk = this.#cluster.agents?.disk(name);
      disk?.fill();
      this.#for(forMs, () => disk?.free());
    },
    "fail runtime": ({ name, how, afterCalls, forMs }) => {
      const runtime = this.#cluster.agents?.runtime(name);
      if (runtime === undefined) return;
      const fail = (): void => this.#for(forMs, runtime.fail(how));
      if (afterCalls === 0) fail();
      else this.#endings.add(runtime.afterCalls(afterCalls, fail));
    },
    "hang pulls": ({ name, forMs }) => {
      const runtime = this.#cluster.agents?.runtime(name);
      if (runtime !== undefined) this.#for(forMs, runtime.holdPulls());
    },
    "fail pull": ({ image, forMs }) => {
      this.#cluster.server.nodes?.failPull(image);
      this.#for(forMs, () => this.#cluster.server.nodes?.mendPull(image));
    },
    "edit pod": ({ share, patch, kinds }) => {
      const pods = this.#pods().filter((pod) => kinds?.includes(controllerOf(pod)?.kind ?? "") ?? true);
      const pod = pods[Math.floor(share * pods.length)];
      if (pod !== undefined) this.#ask("PATCH", pathOf(pod), patch);
    },
    "hold pod": ({ share, forMs }) =>
      this.#withPod(share, (pod) => {
        this.#setFinalizer(pod, true);
        this.#for(forMs, () => this.#setFinalizer(pod, false));
      }),
    "edit status": ({ path, status }) => this.#ask("PATCH", `${path}/status`, { status }),
    "edit child": ({ share, how }) => {
      const children = Object.entries(edits).flatMap(([resource, { path, patch }]) =>
        this.#cluster
          .objects(resource)
          .filter((object) => controllerOf(object) !== undefined)
          .map(({ metadata }) => ({ path: `${path(metadata.namespace ?? "")}/${metadata.name}`, patch })),
      );
      const child = children[Math.floor(share * children.length)];
      if (child === undefined) return;
      if (how === "delete") this.#ask("DELETE", child.path, { propagationPolicy: "Background" });
      else this.#ask("PATCH", child.path, child.patch(share));
    },
  };

  /** All that is wrong ends: from now on everything is well. */
  end(replicas: number): void {
    for (const ending of this.#endings) ending();
    this.#cluster.server.faults.clear();
    for (let number = 0; number < replicas; number++) this.#cluster.start(number);
    for (const replica of this.#cluster.replicas) replica.clock.skew(0);
  }

  /** A cluster with runs each minute would never rest. Nothing may refuse this. */
  pauseCronJobs(): void {
    for (const { metadata } of this.#cluster.objects(cronJobs))
      this.#setSpec(cronJobs, metadata, { paused: true });
  }

  #for(ms: number, ending: () => void): void {
    const once = (): void => {
      if (this.#endings.delete(once)) ending();
    };
    this.#endings.add(once);
    this.#cluster.clock.after(ms, once);
  }

  /** Of this life of the replica: what happens to it once it has written so much. */
  #afterWrites(number: number, afterWrites: number, happen: (replica: Replica) => void): void {
    const replica = this.#replica(number);
    if (replica === undefined) return;
    if (afterWrites === 0) {
      happen(replica);
      return;
    }
    let left = afterWrites;
    const stop = this.#cluster.server.faults.onWrite(({ userAgent, resource }) => {
      if (userAgent !== replica.userAgent || resource === "events") return;
      left -= 1;
      if (left > 0) return;
      stop();
      if (!replica.isDead) happen(replica);
    });
    this.#endings.add(stop);
  }

  #replica(number: number) {
    return this.#cluster.replicas.find((replica) => replica.number === number);
  }

  #ask(method: string, path: string, body?: object): void {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    void this.#cluster.ask(method, path, body, type);
  }

  #pods(): StoredObject[] {
    return this.#cluster.objects("pods").filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  #withPod(share: number, act: (pod: StoredObject) => void): void {
    const pods = this.#pods();
    const pod = pods[Math.floor(share * pods.length)];
    if (pod !== undefined) act(pod);
  }

  #withClaim(share: number, act: (claim: StoredObject) => void): void {
    const found = this.#cluster
      .objects(claims)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const claim = found[Math.floor(share * found.length)];
    if (claim !== undefined) act(claim);
  }

  #replace(claim: StoredObject): void {
    const { uid, name = "", namespace } = claim.metadata;
    const theirs = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace, labels: { [theirsLabel]: "true" } },
      spec: claimSpec("2Gi"),
    };
    const stop = this.#cluster.server.cluster.subscribe(claims, ({ type, object }) => {
      if (type !== "DELETED" || object.metadata.uid !== uid) return;
      stop();
      this.#ask("POST", `/api/v1/namespaces/${namespace}/${claims}`, theirs);
    });
    this.#ask("DELETE", pathOf(claim, claims));
    for (const pod of this.#pods())
      if (pod.metadata.namespace === namespace && claimsOf(pod).includes(name))
        this.#ask("DELETE", pathOf(pod));
  }

  /** In the store: nothing may refuse it. */
  #setFinalizer({ metadata: { namespace = "", name = "", uid } }: StoredObject, isThere: boolean): void {
    const { cluster } = this.#cluster.server;
    if (cluster.get("pods", { namespace, name })?.metadata.uid !== uid) return;
    cluster.update("pods", { namespace, name }, ({ metadata }) => {
      const others = metadata.finalizers?.filter((each) => each !== finalizer) ?? [];
      metadata.finalizers = isThere ? [...others, finalizer] : others;
    });
  }

  #evict(pod: StoredObject): void {
    const { namespace, name } = pod.metadata;
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
    this.#ask("POST", `${pathOf(pod)}/eviction`, eviction);
  }

  #recreate({ metadata: { namespace, name } }: StoredObject, share: number, force = false): void {
    this.#ask("POST", `/apis/apps.kruise.io/v1alpha1/namespaces/${namespace}/containerrecreaterequests`, {
      apiVersion: "apps.kruise.io/v1alpha1",
      kind: "ContainerRecreateRequest",
      metadata: { name: `again-${Math.floor(share * 1e9)}`, namespace },
      spec: {
        podName: name,
        containers: [{ name: "main" }],
        ttlSecondsAfterFinished: 60,
        ...(force ? { strategy: { forceRecreate: true } } : {}),
      },
    });
  }

  #watch(share: number) {
    const watches = this.#cluster.server.faults.watches({ userAgent: "replica-" });
    return watches[Math.floor(share * watches.length)];
  }

  #cordon(name: string, forMs: number): void {
    this.#setSpec("nodes", { name }, { unschedulable: true });
    this.#for(forMs, () => this.#setSpec("nodes", { name }, { unschedulable: false }));
  }

  /** In the store, whatever admission says. */
  #setSpec(
    resource: string,
    { namespace, name = "" }: { namespace?: string; name?: string },
    change: object,
  ): void {
    this.#cluster.server.cluster.update(resource, { ...(namespace && { namespace }), name }, (draft) => {
      draft["spec"] = { ...(typeof draft["spec"] === "object" ? draft["spec"] : {}), ...change };
    });
  }
}

function pathOf({ metadata: { namespace, name } }: StoredObject, resource = "pods"): string {
  return `/api/v1/namespaces/${namespace}/${resource}/${name}`;
}

function nodeOf(pod: StoredObject): unknown {
  const { spec } = pod;
  return typeof spec === "object" && spec !== null && "nodeName" in spec ? spec.nodeName : undefined;
}
