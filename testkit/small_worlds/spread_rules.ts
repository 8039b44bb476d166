/** What must never happen to a WorkloadSpread of a small world, and what has to be so in the end. Spec: workloadspread 4. */
import type { WorkloadSpread, WorkloadSpreadSubset, WorkloadSpreadSubsetStatus } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import type { Answer } from "./asked_spread.ts";
import {
  activeIn,
  type Cluster,
  costOf,
  goingIn,
  keyOf,
  listsOf,
  rowsOf,
  subsetOf,
  versionOf,
} from "./spread_cluster.ts";

/** A subset in the ledger of one version. */
interface Row {
  readonly name: string;
  readonly cap: number;
  readonly isClosed: boolean;
  readonly creating: Set<string>;
  readonly deleting: Set<string>;
  replicas: number;
}

function isPercent({ maxReplicas }: WorkloadSpreadSubset): boolean {
  return typeof maxReplicas === "string";
}

/** Section 2: a percentage is rounded up. */
function capOf({ maxReplicas }: WorkloadSpreadSubset, size: number): number {
  if (typeof maxReplicas === "number") return maxReplicas;
  if (typeof maxReplicas !== "string") return Number.POSITIVE_INFINITY;
  return Math.ceil((Number.parseInt(maxReplicas, 10) * size) / 100);
}

function ledgerOf(spread: WorkloadSpread, version: string): Row[] {
  const stored = rowsOf(spread, version);
  return spread.spec.subsets.map((subset) => {
    const { name } = subset;
    const row = stored.find((one) => one.name === name);
    return {
      name,
      cap: capOf(subset, 0),
      isClosed: row?.conditions?.[0]?.status === "False",
      creating: new Set(Object.keys(row?.creatingPods ?? {})),
      deleting: new Set(Object.keys(row?.deletingPods ?? {})),
      replicas: row?.replicas ?? 0,
    };
  });
}

/** Rules 6, 9 and 13, and docs/compatibility.md: what is not counted frees nothing, caps count as they are now. */
function roomIn({ cap, creating, deleting, replicas }: Row): number {
  return Math.max(0, cap - creating.size - Math.max(0, replicas - deleting.size));
}

/** Rules 7 to 9, and docs/compatibility.md for a pod that comes back under its name. */
function placed(rows: readonly Row[], key: string): string | undefined {
  const asked = rows.find(({ creating }) => creating.has(key));
  if (asked !== undefined) return asked.name;
  const isOpen = (row: Row | undefined) => row !== undefined && !row.isClosed && roomIn(row) > 0;
  const former = rows.find(({ deleting }) => deleting.has(key));
  const row = isOpen(former) ? former : rows.find(isOpen);
  if (row === undefined || row.cap === Number.POSITIVE_INFINITY) return row?.name;
  if (row.deleting.delete(key)) row.replicas = Math.max(0, row.replicas - 1);
  row.creating.add(key);
  return row.name;
}

/** Rule 13. */
function left(rows: readonly Row[], pod: Pod): void {
  const row = rows.find(({ name }) => name === subsetOf(pod));
  if (row === undefined || row.cap === Number.POSITIVE_INFINITY || row.creating.has(pod.name)) return;
  row.deleting.add(pod.name);
}

/** Throws where pods were placed, or records were stored, otherwise than the rules say. `before`: what was decided on. */
export function checkAnswers(
  before: WorkloadSpread,
  after: WorkloadSpread,
  answers: readonly Answer[],
): void {
  // What a percentage is worth the controller says, and it may be late (rule 41).
  if (before.spec.subsets.some(isPercent)) return;
  const ledgers = new Map<string, Row[]>();
  for (const { operation, pod, isNamed } of answers) {
    const version = versionOf(pod);
    const rows = ledgers.get(version) ?? ledgerOf(before, version);
    ledgers.set(version, rows);
    if (operation === "DELETE") left(rows, pod);
    else {
      const right = placed(rows, isNamed ? pod.name : pod.uid);
      const place = subsetOf(pod);
      if (place !== right) throw new Error(`${pod.name} is put into ${place}, not into ${right}`);
    }
  }
  for (const [version, rows] of ledgers) {
    const stored = rowsOf(after, version);
    for (const row of rows) {
      const is = stored.find(({ name }) => name === row.name);
      if (is === undefined && row.creating.size + row.deleting.size === 0) continue;
      const [says, has] = [textOf(row), is && textOfStatus(is)];
      if (says !== has) throw new Error(`the ledger of ${row.name} has ${has}, not ${says}`);
    }
  }
}

function textOf(row: Row): string {
  const room = row.cap === Number.POSITIVE_INFINITY ? -1 : roomIn(row);
  return text(row.replicas, room, [...row.creating], [...row.deleting]);
}

function textOfStatus({
  replicas,
  missingReplicas,
  creatingPods,
  deletingPods,
}: WorkloadSpreadSubsetStatus): string {
  return text(replicas, missingReplicas, Object.keys(creatingPods ?? {}), Object.keys(deletingPods ?? {}));
}

function text(replicas: number, room: number, creating: string[], deleting: string[]): string {
  return `${replicas} pods, room for ${room}, [${creating.sort()}] to come, [${deleting.sort()}] to go`;
}

/** Throws where the subset has more pods than its cap, but for those that are expected to go. `coming`: placed, and not there yet. */
export function checkCap(
  { spread, pods, workload }: Cluster,
  pod: Pod,
  coming: readonly Pod[],
  size = workload.size,
) {
  const name = subsetOf(pod);
  const subset = spread.spec.subsets.find((one) => one.name === name);
  if (subset === undefined) return;
  const going = goingIn(spread);
  const isIn = (one: Pod) =>
    subsetOf(one) === name && versionOf(one) === versionOf(pod) && !going.has(one.name);
  const taken = activeIn({ pods }).filter(isIn).length + coming.filter(isIn).length;
  const cap = capOf(subset, Math.max(size, workload.size));
  if (taken > cap) throw new Error(`${taken} pods are in ${name}, ${cap} may be`);
}

/** Throws where a pod that was placed, and is still to come, is in no ledger any more: its place would be given away. */
export function checkRecords({ spread }: Cluster, coming: readonly Pod[]): void {
  for (const pod of coming) {
    const subset = spread.spec.subsets.find(({ name }) => name === subsetOf(pod));
    if (subset === undefined || capOf(subset, 0) === Number.POSITIVE_INFINITY) continue;
    const row = rowsOf(spread, versionOf(pod)).find(({ name }) => name === subset.name);
    if (row?.creatingPods?.[keyOf(pod)] === undefined) throw new Error(`the record of ${pod.name} is lost`);
  }
}

/** Throws where a new pod is not exactly of the subset that its annotation names, or does not cost what it has to (rules 10 and 21). */
export function checkPlaced({ spec }: WorkloadSpread, pod: Pod, zones: readonly string[]): void {
  const { subsets, targetRef } = spec;
  const name = subsetOf(pod);
  if (zones.join() !== (name ?? "")) throw new Error(`${pod.name} of ${name} is in the zones ${zones}`);
  const index = subsets.findIndex((subset) => subset.name === name);
  if (index < 0 || targetRef.kind === "Job") return;
  if (costOf(pod) !== 100 * (subsets.length - index)) throw new Error(`${pod.name} costs ${costOf(pod)}`);
}

/** Throws nothing: tells what is not as it has to be when nothing is left to be done. */
export function unsettledSpread(cluster: Cluster): string | undefined {
  const { spread, pods, workload } = cluster;
  const active = activeIn({ pods });
  if (active.length !== workload.size) return `${active.length} pods, not ${workload.size}`;
  const { generation, name } = spread.metadata;
  if (spread.status?.observedGeneration !== generation) return `a status of an older ${name}`;
  const versions = new Set(active.map(versionOf));
  for (const version of versions)
    if (rowsOf(spread, version).length === 0) return `no ledger of the version ${version}`;
  for (const [version, rows] of listsOf(spread)) {
    const own = version === "" ? active : active.filter((pod) => versionOf(pod) === version);
    const says = rows.map(statusText).join("; ");
    const is = spread.spec.subsets.map((subset) => countText(subset, own, cluster)).join("; ");
    if (says !== is) return `the status ${version}: ${says}, not ${is}`;
  }
  return costsOf(cluster, active);
}

function statusText({ name, conditions = [], ...counts }: WorkloadSpreadSubsetStatus): string {
  return `${name} ${conditions.map(({ status }) => status)} ${textOfStatus({ name, ...counts })}`;
}

/** Rules 25 and 33: no entry is waited for, and each subset was opened again. */
function countText(
  subset: WorkloadSpreadSubset,
  pods: readonly Pod[],
  { spread, workload }: Cluster,
): string {
  const { name } = subset;
  const cap = capOf(subset, workload.size);
  const replicas = pods.filter((pod) => subsetOf(pod) === name).length;
  const isAdaptive = (spread.spec.scheduleStrategy?.adaptive?.rescheduleCriticalSeconds ?? 0) > 0;
  const room = cap === Number.POSITIVE_INFINITY ? -1 : Math.max(0, cap - replicas);
  return `${name} ${isAdaptive ? "True" : ""} ${text(replicas, room, [], [])}`;
}

/** Rules 20 to 23. */
function costsOf({ spread, workload }: Cluster, active: readonly Pod[]): string | undefined {
  const { subsets, targetRef } = spread.spec;
  if (targetRef.kind === "Job") return undefined;
  const count = subsets.length;
  for (const version of new Set(active.map(versionOf))) {
    const isLatest = version === "versionIgnored" || version === workload.template;
    for (const index of [...subsets.keys(), count]) {
      const subset = subsets[index];
      const members = active.filter((pod) => versionOf(pod) === version && indexOf(subsets, pod) === index);
      const place = isLatest ? index : count - 1 - index;
      const cap = subset === undefined ? 0 : capOf(subset, workload.size);
      const [most, least] =
        subset === undefined ? [0, -100 * (count + 1)] : [100 * (count - place), -100 * (place + 1)];
      const right = members.map((_, at) => (at < cap ? most : least));
      const costs = members.map(costOf).sort((a, b) => b - a);
      if (costs.join() !== right.join()) return `the costs ${costs} in ${subset?.name}, not ${right}`;
    }
  }
  return undefined;
}

/** That of none is after all others. */
function indexOf(subsets: readonly WorkloadSpreadSubset[], pod: Pod): number {
  const index = subsets.findIndex(({ name }) => name === subsetOf(pod));
  return index < 0 ? subsets.length : index;
}
