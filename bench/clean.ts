/** Finds by their label and removes what a bench made: after each run, and what an interrupted one left. */
import { type Client, type Clock, isKubeError, listAll, serves } from "../kube/index.ts";
import { BenchError, messageOf } from "./errors.ts";
import { eachInFlight } from "./in_flight.ts";
import { BENCH_LABEL, leases, namespaces, nodeObjects, podObjects, sidecarSets } from "./resources.ts";
import { type WorkloadKind, workloadResources } from "./workloads.ts";

const atOnce = 16;
const waitMs = 200;

export interface CleanOptions {
  client: Client;
  clock: Clock;
  /** Only of this run; default: of all. */
  run?: string;
  /** How long to wait for namespaces to be gone once no pod goes any more. */
  timeoutMs: number;
}

export interface Cleaned {
  readonly namespaces: number;
  readonly workloads: number;
  readonly pods: number;
  readonly nodes: number;
}

/** Resolves when nothing with the label is left. Throws BenchError when something cannot be removed. */
export async function clean(options: CleanOptions): Promise<Cleaned> {
  const { client, clock, timeoutMs } = options;
  const labelSelector = options.run === undefined ? BENCH_LABEL : `${BENCH_LABEL}=${options.run}`;
  const found = (await listAll(client, namespaces, { labelSelector })).map(nameOf);
  const cleaned = { namespaces: found.length, workloads: 0, pods: 0, nodes: 0 };
  const kinds = await servedKinds(client);
  for (const namespace of found) cleaned.workloads += await removeWorkloads(client, kinds, namespace);
  await eachInFlight(found, atOnce, (name) =>
    ignoreGone(client.delete(namespaces, { name }, { propagationPolicy: "Background" })),
  );
  let fewest = Number.POSITIVE_INFINITY;
  let until = clock.monotonic() + timeoutMs;
  for (let left = found; left.length > 0; ) {
    let pods = 0;
    // Pods on nodes that nobody simulates any more would stay for ever: their grace is not awaited.
    for (const namespace of left) pods += await removePods(client, namespace);
    cleaned.pods += pods;
    left = (await listAll(client, namespaces, { labelSelector })).map(nameOf);
    // A hundred thousand of them take a while.
    if (pods < fewest) until = clock.monotonic() + timeoutMs;
    fewest = Math.min(fewest, pods);
    if (left.length > 0 && clock.monotonic() > until)
      throw new BenchError(
        `${timeoutMs / 1000} s after the last pod went namespaces are still there: ${left.join(", ")}`,
      );
    if (left.length > 0) await clock.sleep(waitMs);
  }
  await removeSidecarSets(client, labelSelector);
  const nodes = (await listAll(client, nodeObjects, { labelSelector })).map(nameOf);
  cleaned.nodes = nodes.length;
  await eachInFlight(nodes, atOnce, (name) => ignoreGone(client.delete(nodeObjects, { name })));
  const namespace = "kube-node-lease";
  const beats = (await listAll(client, leases, { labelSelector, namespace })).map(nameOf);
  await eachInFlight(beats, atOnce, (name) => ignoreGone(client.delete(leases, { namespace, name })));
  return cleaned;
}

async function removeWorkloads(
  client: Client,
  kinds: readonly WorkloadKind[],
  namespace: string,
): Promise<number> {
  let removed = 0;
  for (const kind of kinds) {
    const resource = workloadResources[kind];
    const names = (await listAll(client, resource, { namespace })).map(nameOf);
    removed += names.length;
    await eachInFlight(names, atOnce, (name) =>
      ignoreGone(client.delete(resource, { namespace, name }, { propagationPolicy: "Background" })),
    ).catch((error: unknown) => {
      throw new BenchError(
        `${resource.plural} in ${namespace} cannot be removed: ${messageOf(error)}; their webhook needs a manager: start it and run \`bench clean\` again`,
      );
    });
  }
  return removed;
}

async function removeSidecarSets(client: Client, labelSelector: string): Promise<void> {
  if (!(await serves(client, sidecarSets))) return;
  const names = (await listAll(client, sidecarSets, { labelSelector })).map(nameOf);
  await eachInFlight(names, atOnce, (name) => ignoreGone(client.delete(sidecarSets, { name })));
}

async function removePods(client: Client, namespace: string): Promise<number> {
  const pods = await listAll(client, podObjects, { namespace });
  await eachInFlight(pods, atOnce, ({ metadata }) =>
    ignoreGone(
      client.delete(
        podObjects,
        { namespace, name: metadata.name ?? "" },
        { gracePeriodSeconds: 0, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) },
      ),
    ),
  );
  return pods.length;
}

async function servedKinds(client: Client): Promise<WorkloadKind[]> {
  const kinds: WorkloadKind[] = [];
  for (const kind of ["CloneSet", "StatefulSet", "DaemonSet", "BroadcastJob"] as const)
    if (await serves(client, workloadResources[kind])) kinds.push(kind);
  return kinds;
}

function nameOf({ metadata }: { metadata: { name?: string } }): string {
  return metadata.name ?? "";
}

async function ignoreGone(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    // A conflict says that another object of the name is there now, which is looked at next.
    if (!isKubeError(error, "NotFound", "Conflict")) throw error;
  }
}
