/** Workloads as the API server has them, of any kind: their owners, and how many pods they want. Spec: workloadspread 4.3 rule 16. */
import { spreadTargetOf, type WorkloadIdentity, type WorkloadSpread } from "../../../crds/index.ts";
import { isJsonObject, type JsonObject, own } from "../../../kube/core/index.ts";
import { KubeError, type ReadingClient } from "../../../kube/index.ts";
import { numberAt, objectAt, textAt } from "../../native/json_fields.ts";
import { controllerIn } from "../../native/owners.ts";
import { objectOf, type ServedPath, scaleAt, servedPath } from "../../native/scale_lookup.ts";
import type { WhitelistedKind } from "./whitelist.ts";

/** Where kinds are that need not be asked for: `group/kind` -> version and plural. */
const knownPaths: ReadonlyMap<string, string> = new Map([
  ["apps/Deployment", "/apis/apps/v1 deployments"],
  ["apps/ReplicaSet", "/apis/apps/v1 replicasets"],
  ["apps/StatefulSet", "/apis/apps/v1 statefulsets"],
  ["batch/Job", "/apis/batch/v1 jobs"],
  ["apps.kruise.io/CloneSet", "/apis/apps.kruise.io/v1beta1 clonesets"],
  ["apps.kruise.io/StatefulSet", "/apis/apps.kruise.io/v1beta1 statefulsets"],
]);

/** Size of a workload that does not say how many pods it wants. */
export const UNKNOWN_SIZE = -1;

export interface FoundWorkload {
  readonly uid: string;
  /** Wanted pods; UNKNOWN_SIZE where nothing says so. */
  readonly size: number;
  readonly terminating: boolean;
  /** Of its pods, where its kind has the scale subresource; else empty. */
  readonly selector: string;
}

/** Undefined when there is no such workload. Throws KubeError. */
export async function findWorkload(
  client: ReadingClient,
  spread: WorkloadSpread,
  whitelist: readonly WhitelistedKind[],
): Promise<FoundWorkload | undefined> {
  const target = spreadTargetOf(spread);
  const served = await pathOf(client, spread.metadata.namespace ?? "", target);
  const object = served && (await objectOf(client, served.path));
  if (served === undefined || object === undefined) return undefined;
  const metadata = objectAt(object, "metadata");
  const paths = replicasPaths(spread, whitelist);
  const counted = paths.length > 0 ? sumAt(object, paths) : replicasOf(object, target);
  const scale = served.hasScale ? await scaleAt(client, served) : undefined;
  return {
    uid: textAt(metadata, "uid"),
    size: counted ?? scale?.replicas ?? UNKNOWN_SIZE,
    terminating: textAt(metadata, "deletionTimestamp") !== "",
    selector: scale?.selector ?? "",
  };
}

/** The object itself; undefined when there is none. Throws KubeError. */
export async function workloadOf(
  client: ReadingClient,
  namespace: string,
  identity: WorkloadIdentity,
): Promise<JsonObject | undefined> {
  const served = await pathOf(client, namespace, identity);
  return served && objectOf(client, served.path);
}

/** The object that controls another one. Throws KubeError; NotFound when the other one is not there. */
export async function ownerOf(
  client: ReadingClient,
  namespace: string,
  identity: WorkloadIdentity,
): Promise<WorkloadIdentity | undefined> {
  const { kind, name } = identity;
  const object = await workloadOf(client, namespace, identity);
  if (object === undefined)
    throw new KubeError("NotFound", `${kind} ${namespace}/${name}, which owns the pod, is not found`);
  return controllerIn(objectAt(object, "metadata"));
}

async function pathOf(
  client: ReadingClient,
  namespace: string,
  { group, kind, name }: WorkloadIdentity,
): Promise<ServedPath | undefined> {
  const known = knownPaths.get(`${group}/${kind}`);
  if (known === undefined) return servedPath(client, { group, kind, namespace, name });
  const [root = "", plural = ""] = known.split(" ");
  const place = `${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
  return { path: `${root}/namespaces/${place}`, hasScale: false };
}

function replicasOf(object: JsonObject, { group, kind }: WorkloadIdentity): number | undefined {
  if (!knownPaths.has(`${group}/${kind}`)) return undefined;
  return numberAt(objectAt(object, "spec"), kind === "Job" ? "parallelism" : "replicas") ?? 1;
}

/** Where the size is instead of the usual place: as the object says, else the list. */
export function replicasPaths(
  { spec }: WorkloadSpread,
  whitelist: readonly WhitelistedKind[],
): readonly string[] {
  const paths = spec.targetFilter?.replicasPathList ?? [];
  if (paths.length > 0) return paths;
  const { apiVersion, kind } = spec.targetRef;
  const listed = whitelist.find(
    (each) => `${each.group}/${each.version}` === apiVersion && each.kind === kind,
  );
  return listed === undefined || listed.replicasPath === "" ? [] : [listed.replicasPath];
}

/** Whole numbers at dot paths of an object, added up; numbers in a path are places in lists. What is not there adds nothing. */
export function sumAt(object: JsonObject, paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + numberOfPath(object, path), 0);
}

function numberOfPath(object: JsonObject, path: string): number {
  let current: unknown = object;
  for (const part of path.split(".")) {
    if (Array.isArray(current)) current = /^\d+$/.test(part) ? current[Number(part)] : undefined;
    else current = isJsonObject(current) ? own(current, part) : undefined;
  }
  return Number.isSafeInteger(current) ? Number(current) : 0;
}
