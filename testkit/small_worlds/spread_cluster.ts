/** What the server of a small world of one WorkloadSpread stores, and how its rules read that. Spec: workloadspread 2 to 4. */
import { workloadSpreadResource } from "../../controller/plan/resources.ts";
import { groupOf, type WorkloadSpread, type WorkloadSpreadSubsetStatus } from "../../crds/index.ts";
import {
  applyJsonPatch,
  applyMergePatch,
  type JsonObject,
  type JsonPatchOperation,
} from "../../kube/core/index.ts";
import type { Node, Pod } from "../../kube/index.ts";
import { barePod } from "../controller/pod_builder.ts";
import { plainNode } from "../controller/projection_builder.ts";

export type Pods = Readonly<Record<string, Pod>>;

/** How many pods are wanted, and of which template. */
export interface Workload {
  readonly size: number;
  readonly template: string;
}

/** What the server stores. */
export interface Cluster {
  readonly spread: WorkloadSpread;
  readonly pods: Pods;
  readonly workload: Workload;
}

/** A write of the status, or of one pod's metadata. */
export type SpreadWrite =
  | {
      readonly to: "status";
      readonly patch: object | readonly JsonPatchOperation[];
      /** That the controller made it for. */
      readonly version?: string | undefined;
    }
  | { readonly to: "pod"; readonly pod: Pod; readonly metadata: JsonObject };

const NAMESPACE = "default";
export const SPREAD_KEY = `${NAMESPACE}/spread`;
export const MATCHED = "apps.kruise.io/matched-workloadspread";
export const COST = "controller.kubernetes.io/pod-deletion-cost";
export const ZONE = "zone";
const TEMPLATE = "pod-template-hash";

/** What controls the pods of the workload. */
export function ownerOf({ spread, workload }: Pick<Cluster, "spread" | "workload">): Pod["controller"] {
  const { apiVersion, kind } = spread.spec.targetRef;
  if (kind === "Deployment")
    return { group: "apps", kind: "ReplicaSet", name: `web-${workload.template}`, uid: workload.template };
  return { group: groupOf(apiVersion), kind, name: "web", uid: "web" };
}

/** As a new one is sent to the server. */
export function newPod(cluster: Pick<Cluster, "spread" | "workload">, name: string, uid: string): Pod {
  const { template } = cluster.workload;
  return barePod(name, { uid, labels: { [TEMPLATE]: template }, controller: ownerOf(cluster) });
}

/** `isNamed`: whether the workload has given it a name, or leaves that to the server. */
export function podJson({ name, labels, controller }: Pod, isNamed: boolean): JsonObject {
  const { group, kind, name: owner, uid } = controller ?? { group: "", kind: "", name: "", uid: "" };
  const ownerReferences = [{ apiVersion: `${group}/v1`, kind, name: owner, uid, controller: true }];
  return {
    metadata: {
      ...(isNamed ? { name } : { generateName: "web-" }),
      namespace: NAMESPACE,
      labels,
      ownerReferences,
    },
    spec: { containers: [] },
  };
}

/** As admission has made it, and in which zones it may run. */
export function placedPod(pod: Pod, { metadata, spec }: JsonObject): { pod: Pod; zones: string[] } {
  const { annotations } = Object(metadata);
  const required = Object(spec).affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const [term] = required?.nodeSelectorTerms ?? [];
  const zones = (term?.matchExpressions ?? []).flatMap(({ values }: { values: string[] }) => values);
  return { pod: { ...pod, annotations }, zones };
}

export function templateOf({ labels }: Pod): string {
  return labels[TEMPLATE] ?? "";
}

/** Under which its ledger is. Section 3. */
export function versionOf(pod: Pod): string {
  return pod.controller?.kind === "ReplicaSet" ? templateOf(pod) : "versionIgnored";
}

/** What its annotation says. */
function matchOf({ annotations }: Pick<Pod, "annotations">): { subset?: string; uid?: string } {
  return JSON.parse(annotations[MATCHED] ?? "{}");
}

export function subsetOf(pod: Pick<Pod, "annotations">): string | undefined {
  return matchOf(pod).subset;
}

/** Under which the ledger knows a new pod. */
export function keyOf(pod: Pod): string {
  return matchOf(pod).uid ?? pod.name;
}

function isActive({ deletionAt, phase }: Pod): boolean {
  return deletionAt === undefined && phase !== "Succeeded" && phase !== "Failed";
}

export function activeIn({ pods }: Pick<Cluster, "pods">): Pod[] {
  return Object.values(pods).filter(isActive);
}

export function costOf({ annotations }: Pod): number {
  return Number(annotations[COST] ?? 0);
}

/** Each subset has a zone of its name, each zone a node. */
export function nodeOf(zone: string): string {
  return `node-${zone}`;
}

export function nodeNamed(name: string): Node {
  return plainNode(name, { labels: { [ZONE]: name.slice(nodeOf("").length) } });
}

export function withPod(pods: Pods, name: string, pod: Pod | undefined): Pods {
  const { [name]: _, ...others } = pods;
  return pod === undefined ? others : { ...others, [name]: pod };
}

/** Of one version of the pods. */
export function rowsOf({ status }: WorkloadSpread, version: string): readonly WorkloadSpreadSubsetStatus[] {
  return status?.versionedSubsetStatuses?.[version] ?? [];
}

/** Ledgers by version, and the totals. */
export function listsOf({ status }: WorkloadSpread): [string, readonly WorkloadSpreadSubsetStatus[]][] {
  return [["", status?.subsetStatuses ?? []], ...Object.entries(status?.versionedSubsetStatuses ?? {})];
}

/** Pods that are expected to go. */
export function goingIn(spread: WorkloadSpread): ReadonlySet<string> {
  return new Set(
    listsOf(spread).flatMap(([, rows]) =>
      rows.flatMap(({ deletingPods }) => Object.keys(deletingPods ?? {})),
    ),
  );
}

/** Undefined: the object is not the one that the write is about, and nothing is written. `version`: of the write. */
export function written(cluster: Cluster, write: SpreadWrite, version: string): Cluster | undefined {
  if (write.to === "pod") {
    const { name, uid } = write.pod;
    const pod = cluster.pods[name];
    if (pod?.uid !== uid) return undefined;
    const { annotations } = Object(applyMergePatch({ annotations: pod.annotations }, write.metadata));
    return {
      ...cluster,
      pods: withPod(cluster.pods, name, { ...pod, annotations, resourceVersion: version }),
    };
  }
  const { spread } = cluster;
  const patched = patchedSpread(spread, write.patch);
  if (patched === undefined || patched.metadata.resourceVersion !== spread.metadata.resourceVersion)
    return undefined;
  return { ...cluster, spread: { ...patched, metadata: { ...patched.metadata, resourceVersion: version } } };
}

/** Undefined: a test of the patch fails. */
function patchedSpread(spread: WorkloadSpread, patch: object | readonly JsonPatchOperation[]) {
  const [test] = Array.isArray(patch) ? patch : [];
  if (test?.op === "test" && test.value !== spread.metadata.resourceVersion) return undefined;
  const json = Array.isArray(patch) ? applyJsonPatch(spread, patch) : applyMergePatch(spread, patch);
  return workloadSpreadResource.codec.decode(Buffer.from(JSON.stringify(json)), "application/json");
}
