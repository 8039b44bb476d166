/** Hollow nodes before an API server over HTTP: the sandbox's kubelets, reporting by patches like real ones. */
import {
  Cache,
  type Client,
  type Clock,
  createStrategicPatch,
  isKubeError,
  jsonResource,
  type KubeObject,
  type Log,
  type Random,
  startInformer,
} from "../kube/index.ts";
import {
  HollowNodes,
  type NodeSink,
  nodeObject,
  nodeStatus,
  type PodObject,
  type Timing,
} from "../sandbox/index.ts";

/** On everything that a bench makes: `bench clean` finds what an interrupted run left. */
export const BENCH_LABEL = "refit.dev/bench";
/** As a kubelet's. */
const LEASE_SECONDS = 40;
const HEARTBEAT_MS = 10_000;

export const podObjects = jsonResource<PodObject>({
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
});
export const nodeObjects = jsonResource<KubeObject>({
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
});
const leases = jsonResource<KubeObject & { spec?: object }>({
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
});

export interface HollowClusterOptions {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  nodes: number;
  podsPerNode: number;
  timing: Timing;
  /** Value of the bench label. */
  run: string;
}

export interface HollowCluster {
  /** Every pod of the cluster, as complete JSON. */
  pods: Cache<PodObject>;
  stop(): Promise<void>;
}

export async function startHollowCluster(options: HollowClusterOptions): Promise<HollowCluster> {
  const { client, clock, random, log } = options;
  const pods = new Cache<PodObject>({ identify: podObjects.codec.identify });
  const hollow = new HollowNodes({
    clock,
    random,
    timing: options.timing,
    sink: clientSink(client),
    sources: { get: () => undefined },
    onError: (error, key) => log.warn("a hollow node could not report", { error, pod: key }),
  });
  const names = Array.from({ length: options.nodes }, (_, index) => `hollow-${index + 1}`);
  for (const [index, name] of names.entries()) await makeNode(options, hollow, name, index);
  pods.subscribe((change) => {
    if (change.type === "removed") hollow.podGone(change.object.metadata.uid ?? "");
    else if (change.object.spec?.nodeName) hollow.podChanged(change.object);
  });
  const informer = startInformer({ client, resource: podObjects, cache: pods, clock, random, log });
  await informer.synced;
  let stopped = false;
  const beat = (): void => {
    if (stopped) return;
    for (const name of names)
      void renew(client, clock, name).catch((error: unknown) => log.debug("no heartbeat", { error }));
    clock.after(HEARTBEAT_MS, beat);
  };
  beat();
  return {
    pods,
    async stop() {
      stopped = true;
      hollow.stop();
      await informer.stop();
    },
  };
}

async function makeNode(
  options: HollowClusterOptions,
  hollow: HollowNodes,
  name: string,
  index: number,
): Promise<void> {
  const { client, clock, podsPerNode, run } = options;
  const profile = {
    name,
    labels: { [BENCH_LABEL]: run },
    capacity: { cpu: "1000", memory: "4000Gi", pods: String(podsPerNode), "ephemeral-storage": "4000Gi" },
  };
  const hostIp = `10.${100 + (index >> 8)}.${index & 255}.1`;
  const cidr = `10.${100 + (index >> 8)}.${index & 255}.0/24`;
  const node = nodeObject(profile, name, { hostIp, cidr }, clock.now());
  try {
    await client.create(nodeObjects, undefined, node);
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) throw error;
  }
  const status = nodeStatus(node, profile, hostIp, clock.now());
  await client.patch(
    nodeObjects,
    { name },
    { type: "strategic", body: { status } },
    { subresource: "status" },
  );
  // A taint that the node lifecycle put on before the first status keeps pods away for a while.
  await client.patch(nodeObjects, { name }, { type: "merge", body: { spec: { taints: null } } });
  await renew(client, clock, name);
  hollow.addNode(name, profile, profile.capacity);
}

async function renew(client: Client, clock: Clock, name: string): Promise<void> {
  const renewTime = `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`;
  const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime };
  const ref = { namespace: "kube-node-lease", name };
  try {
    await client.patch(leases, ref, { type: "merge", body: { spec } });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: ref, spec };
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
