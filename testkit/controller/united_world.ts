/** For tests: the controllers of this program over a server in memory that has UnitedDeployments, and StatefulSets that do what they are asked. */
import { type Controllers, controllerOptions, startControllers } from "../../controller/index.ts";
import { REVISION_LABEL, SUBSET_LABEL } from "../../controller/kinds/united_deployment/names.ts";
import type { UnitedDeployment } from "../../crds/index.ts";
import { type Client, formatTime, nullLog, seededRandom } from "../../kube/index.ts";
import { type TestClock, testClock } from "../kube/fake_clock.ts";
import { type FakeServer, fakeServer, type StoredObject } from "../kube/fake_server.ts";

const united = "uniteddeployments.apps.kruise.io";
const sets = "statefulsets.apps";
const revisions = "controllerrevisions.apps";

/** Resources by the path under which the server says that it has them. */
const served: Readonly<Record<string, readonly string[]>> = {
  "/api/v1": ["pods", "persistentvolumeclaims", "nodes", "events"],
  "/apis/apps/v1": ["statefulsets", "deployments", "controllerrevisions"],
  "/apis/apps.kruise.io/v1beta1": ["uniteddeployments"],
};

function discovery(path: string): unknown {
  if (path === "/version") return { gitVersion: "v1.34.0", major: "1", minor: "34" };
  return { resources: (served[path] ?? []).map((name) => ({ name })) };
}

const labels = { app: "web" };

export function setTemplate(image: string, more: object = {}): UnitedDeployment["spec"]["template"] {
  const pods = { metadata: { labels }, spec: { containers: [{ name: "main", image }] } };
  const spec = {
    selector: { matchLabels: labels },
    updateStrategy: { type: "RollingUpdate" },
    template: pods,
    ...more,
  };
  return { statefulSetTemplate: { metadata: { labels }, spec } };
}

export class UnitedWorld {
  readonly clock: TestClock = testClock();
  readonly server: FakeServer = fakeServer({ request: discovery });
  /** Subsets in which nothing is scheduled. */
  readonly full = new Set<string>();
  /** Those in which nothing gets ready. */
  readonly slow = new Set<string>();
  #controllers: Controllers | undefined;
  #count = 0;

  /** The object `ns/web`: what is given replaces members of its spec. */
  apply(spec: Partial<UnitedDeployment["spec"]>): void {
    const before = this.server.object(united, "ns/web");
    const metadata = { ...before?.metadata, name: "web", namespace: "ns", uid: "united" };
    const generation = (before?.metadata.generation ?? 0) + 1;
    const initial = { selector: { matchLabels: labels }, replicas: 6, template: setTemplate("a") };
    this.server.put(united, {
      ...before,
      metadata: { ...metadata, generation },
      spec: { ...initial, ...Object(before?.["spec"]), ...spec },
    });
  }

  get status(): UnitedDeployment["status"] {
    return Object(this.server.object(united, "ns/web"))["status"];
  }

  get sets(): StoredObject[] {
    return this.server.all(sets);
  }

  get pods(): StoredObject[] {
    return this.server.all("pods");
  }

  get revisions(): StoredObject[] {
    return this.server.all(revisions);
  }

  /** `spec.replicas` of all workloads by subset; more than one of a subset after each other. */
  sizes(): Record<string, string> {
    const sizes: Record<string, string> = {};
    for (const { metadata, spec } of this.sets.map((set) => ({
      metadata: set.metadata,
      spec: Object(set["spec"]),
    }))) {
      const name = metadata.labels?.[SUBSET_LABEL] ?? "";
      sizes[name] = `${sizes[name] ?? ""}${spec.replicas}`;
    }
    return sizes;
  }

  /** Somebody's StatefulSet, as the object itself would make it, without an owner. */
  putOrphan(name: string, subset: string, replicas: number): void {
    const all = { ...labels, [SUBSET_LABEL]: subset };
    const spec = { replicas, selector: { matchLabels: all }, template: { metadata: { labels: all } } };
    this.server.put(sets, { metadata: { name, namespace: "ns", uid: this.uid(), labels: all }, spec });
  }

  uid(): string {
    return `uid-of-world-${++this.#count}`;
  }

  /** Starts controllers; `client` may have faults. */
  async start(client: Client = this.server.client): Promise<void> {
    const { clock } = this;
    const options = controllerOptions();
    const random = seededRandom(++this.#count);
    const controllers = startControllers({ client, clock, random, log: nullLog, options });
    this.#controllers = controllers;
    // Controllers that end before they have begun never say that they have.
    controllers.synced.catch(() => undefined);
    await this.clock.advance(3000);
  }

  /** Ends them wherever they are. */
  async stop(): Promise<void> {
    void this.#controllers?.stop(0);
    this.#controllers = undefined;
    await this.clock.advance(1);
  }

  /** Everything happens that follows. */
  async settle(rounds = 12): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      this.work();
      await this.clock.advance(500);
    }
  }

  /** What the controller of StatefulSets and the garbage collector do: pods are made, removed, replaced, and ready at once. */
  work(): void {
    const alive = new Set(this.sets.map(({ metadata }) => metadata.uid));
    for (const { metadata } of this.pods) {
      const owner = metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
      if (!alive.has(owner)) this.server.remove("pods", `ns/${metadata.name}`);
    }
    for (const set of this.sets) this.#workOn(set);
  }

  #workOn(set: StoredObject): void {
    const { name = "", uid = "" } = set.metadata;
    const { replicas = 1, template, updateStrategy } = Object(set["spec"]);
    const partition: number = updateStrategy?.rollingUpdate?.partition ?? 0;
    const wanted = Array.from({ length: replicas }, (_, ordinal) => `${name}-${ordinal}`);
    for (const { metadata } of this.pods) {
      const isOwn = metadata.ownerReferences?.some((owner) => owner.uid === uid);
      if (isOwn && !wanted.includes(metadata.name ?? "")) this.server.remove("pods", `ns/${metadata.name}`);
    }
    for (const [ordinal, pod] of wanted.entries()) {
      const present = this.server.object("pods", `ns/${pod}`);
      const isOld =
        present?.metadata.labels?.[REVISION_LABEL] !== template?.metadata?.labels?.[REVISION_LABEL];
      if (present !== undefined && (!isOld || ordinal < partition)) continue;
      if (present !== undefined) this.server.remove("pods", `ns/${pod}`);
      this.#createPod(pod, { name, uid }, template);
    }
    const subset = template?.metadata?.labels?.[SUBSET_LABEL];
    const isReady = !this.full.has(subset) && !this.slow.has(subset);
    const status = { replicas, readyReplicas: isReady ? replicas : 0 };
    if (JSON.stringify(set["status"]) === JSON.stringify(status)) return;
    this.server.put(sets, { ...set, status });
  }

  #createPod(name: string, owner: { name: string; uid: string }, template: StoredObject): void {
    const reference = { apiVersion: "apps/v1", kind: "StatefulSet", ...owner, controller: true };
    const labels = template.metadata.labels ?? {};
    const creationTimestamp = formatTime(this.clock.now());
    const metadata = { name, namespace: "ns", uid: this.uid(), labels, creationTimestamp };
    const subset = labels[SUBSET_LABEL] ?? "";
    const isFull = this.full.has(subset);
    const conditions = this.slow.has(subset) ? [] : [{ type: "Ready", status: "True" }];
    this.server.put("pods", {
      metadata: { ...metadata, ownerReferences: [reference] },
      spec: { ...Object(template["spec"]), ...(isFull ? {} : { nodeName: "node" }) },
      status: isFull
        ? {
            phase: "Pending",
            conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
          }
        : { phase: "Running", conditions },
    });
  }
}
