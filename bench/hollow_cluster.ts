/** Hollow nodes before an API server over HTTP: the sandbox's kubelets, reporting by patches like real ones. */
import {
  Cache,
  type Client,
  type Clock,
  createStrategicPatch,
  type Informer,
  isKubeError,
  type Log,
  type Random,
  startInformer,
} from "../kube/index.ts";
import {
  HollowNodes,
  hollowLabel,
  type NodeSink,
  nodeObject,
  nodeStatus,
  type PodObject,
} from "../sandbox/index.ts";
import { FailureDraw } from "./failures.ts";
import { eachInFlight } from "./in_flight.ts";
import { BENCH_LABEL, leases, type NodeObject, nodeObjects, podObjects } from "./resources.ts";
import type { NodeBehaviour } from "./timing.ts";

/** As a kubelet's. */
const LEASE_SECONDS = 40;
/** Of 5,000 nodes as of five: a server that is measured should not spend itself on heartbeats. */
const HEARTBEAT_MS = 20_000;
const AT_ONCE = 16;

export interface HollowClusterOptions {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  nodes: number;
  podsPerNode: number;
  behaviour: NodeBehaviour;
  /** Value of the bench label. */
  run: string;
  /** Renews Leases, which real node controllers ask for; the sandbox's does not. */
  heartbeats: boolean;
  /** Called as nodes are there. */
  onNode?(done: number): void;
  /** Ends the making of nodes. */
  signal?: AbortSignal;
}

export interface HollowCluster {
  /** Every pod of the run, as complete JSON but for managed fields. */
  readonly pods: Cache<PodObject>;
  readonly nodes: readonly string[];
  /** The machines are gone: they report nothing any more, and the API says so at once, without the grace of 40 s. */
  lose(names: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startHollowCluster(options: HollowClusterOptions): Promise<HollowCluster> {
  const cluster = new Cluster(options);
  try {
    await cluster.start();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

class Cluster implements HollowCluster {
  readonly pods = new Cache<PodObject>({ identify: podObjects.codec.identify });
  readonly nodes: readonly string[];
  readonly #options: HollowClusterOptions;
  readonly #hollow: HollowNodes;
  readonly #draw: FailureDraw;
  readonly #lost = new Set<string>();
  #stopped = false;
  readonly #informers: Pick<Informer, "stop">[] = [];
  /** What each node reports of itself. */
  readonly #reports = new Map<string, () => Promise<unknown>>();

  constructor(options: HollowClusterOptions) {
    this.#options = options;
    const { client, clock, random, log, behaviour, run } = options;
    this.nodes = Array.from({ length: options.nodes }, (_, index) => `hollow-${run}-${index + 1}`);
    this.#draw = new FailureDraw(behaviour.failures, random, clock);
    this.#hollow = new HollowNodes({
      clock,
      random,
      timing: behaviour.timing,
      sink: clientSink(client),
      sources: { get: () => undefined },
      pullFails: (pod, image) => this.#draw.pullFails(pod, image),
      onError: (error, key) => log.debug("a hollow node could not report", { error, pod: key }),
    });
  }

  async start(): Promise<void> {
    const { client, clock, random, log, run, onNode, signal } = this.#options;
    let done = 0;
    await eachInFlight(this.nodes, AT_ONCE, async (name, index) => {
      signal?.throwIfAborted();
      await this.#makeNode(name, index);
      onNode?.(++done);
    });
    this.pods.subscribe((change) => {
      if (change.type === "removed") this.#hollow.podGone(change.object.metadata.uid ?? "");
      else if (change.object.spec.nodeName) this.#see(change.object);
    });
    const labelSelector = `${BENCH_LABEL}=${run}`;
    const deps = { client, clock, random, log, labelSelector };
    const informer = startInformer({ ...deps, resource: podObjects, cache: this.pods });
    this.#informers.push(informer);
    await informer.synced;
    if (!this.#options.heartbeats) return;
    for (const [index, name] of this.nodes.entries()) this.#beat(name, index);
    const cache = new Cache<NodeObject>({ identify: nodeObjects.codec.identify });
    cache.subscribe(({ type, object }) => {
      if (type !== "removed") this.#reportAgain(object);
    });
    this.#informers.push(startInformer({ ...deps, resource: nodeObjects, cache }));
  }

  /** Whose heartbeats came late was given up by the node controller, and is until it reports, as a kubelet does. */
  #reportAgain({ metadata: { name = "" }, status }: NodeObject): void {
    const isReady = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
    if (isReady === true || this.#stopped || this.#lost.has(name)) return;
    void this.#reports
      .get(name)?.()
      .catch(() => undefined);
  }

  async lose(names: readonly string[]): Promise<void> {
    const { client, clock } = this.#options;
    const time = `${new Date(clock.now()).toISOString().slice(0, -5)}Z`;
    const condition = {
      type: "Ready",
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    };
    for (const name of names) {
      this.#lost.add(name);
      this.#hollow.kill(name);
    }
    await eachInFlight(names, AT_ONCE, (name) =>
      client.patch(
        nodeObjects,
        { name },
        { type: "strategic", body: { status: { conditions: [condition] } } },
        { subresource: "status" },
      ),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#hollow.stop();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  #see(pod: PodObject): void {
    this.#hollow.podChanged(pod);
    const crash = this.#draw.crashOf(pod);
    if (crash === undefined) return;
    this.#hollow.withContainer(pod.metadata.uid ?? "", crash.container, (run, now) => {
      run.endsAt = now + crash.afterMs;
      run.endCode = 1;
    });
  }

  /** Heartbeats of the nodes are spread over the interval. */
  #beat(name: string, index: number): void {
    const { client, clock } = this.#options;
    const next = (): void => {
      if (this.#stopped || this.#lost.has(name)) return;
      void renew(client, clock, name, this.#options.run).catch(() => undefined);
      clock.after(HEARTBEAT_MS, next);
    };
    clock.after((HEARTBEAT_MS * index) / this.nodes.length, next);
  }

  async #makeNode(name: string, index: number): Promise<void> {
    const { client, clock, podsPerNode, run, heartbeats } = this.#options;
    const profile = {
      name,
      // The sandbox would put kubelets of its own on any node: these are played here.
      labels: { [BENCH_LABEL]: run, [hollowLabel]: "false" },
      capacity: { cpu: "1000", memory: "4000Gi", pods: String(podsPerNode), "ephemeral-storage": "4000Gi" },
    };
    const block = `10.${100 + (index >> 8)}.${index & 255}`;
    const hostIp = `${block}.1`;
    // Other workloads of the cluster must not land here, where nothing runs.
    const taints = [{ key: BENCH_LABEL, value: run, effect: "NoSchedule" as const }];
    const node = nodeObject({ ...profile, taints }, name, { hostIp, cidr: `${block}.0/24` }, clock.now());
    try {
      await client.create(nodeObjects, undefined, node);
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
    const report = () => {
      const status = nodeStatus(node, profile, hostIp, clock.now());
      const patch = { type: "strategic" as const, body: { status } };
      return client.patch(nodeObjects, { name }, patch, { subresource: "status" });
    };
    await report();
    this.#reports.set(name, report);
    // A taint that the node lifecycle put on before the first status would keep pods away for a while.
    await client.patch(nodeObjects, { name }, { type: "merge", body: { spec: { taints } } });
    if (heartbeats) await renew(client, clock, name, run);
    this.#hollow.addNode(name, profile, profile.capacity);
  }
}

async function renew(client: Client, clock: Clock, name: string, run: string): Promise<void> {
  const renewTime = `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`;
  const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime };
  const ref = { namespace: "kube-node-lease", name };
  try {
    await client.patch(leases, ref, { type: "merge", body: { spec } });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const metadata = { ...ref, labels: { [BENCH_LABEL]: run } };
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    await client.create(leases, ref.namespace, body);
  }
}

/** Reports as a kubelet sends them: a patch of what changed, no precondition but the UID. */
function clientSink(client: Client): NodeSink {
  const refOf = (pod: PodObject) => ({
    namespace: pod.metadata.namespace ?? "",
    name: pod.metadata.name ?? "",
  });
  return {
    async reportStatus(pod, compute) {
      const status = compute(pod);
      const body = createStrategicPatch({ status: pod.status ?? {} }, { status }, "Pod");
      if (Object.keys(body).length === 0) return pod;
      const patch = { type: "strategic" as const, body: { metadata: { uid: pod.metadata.uid }, ...body } };
      return gone(() => client.patch(podObjects, refOf(pod), patch, { subresource: "status" }));
    },
    async removePod(pod) {
      const uid = pod.metadata.uid ?? "";
      await gone(() => client.delete(podObjects, refOf(pod), { gracePeriodSeconds: 0, uid }));
    },
    annotate: () => undefined,
    event: () => undefined,
  };
  async function gone<T>(run: () => Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      if (isKubeError(error, "NotFound", "Conflict")) return undefined;
      throw error;
    }
  }
}
