/** What must not happen to the workloads of a UnitedDeployment, read from the rules of its spec once more. Spec: uniteddeployment 4. */
import { type SubsetWorkload, workloadOf } from "../../controller/kinds/united_deployment/workload.ts";
import { workloadKinds } from "../../controller/kinds/united_deployment/workloads.ts";
import type { WriteEffect } from "../../controller/plan/effects.ts";
import { subsetTemplatesOf, type UnitedDeployment, type UnitedDeploymentStatus } from "../../crds/index.ts";
import { applyMergePatch } from "../../kube/core/index.ts";
import type { Pass, PassWrite } from "./effect_passes.ts";
import { isReady } from "./plan_world.ts";
import { podsOf, revisionOf, type Server, subsetOf, targetOf } from "./united_server.ts";

/** What is asked for from some moment on, and what has come of it where nothing is left to be done. */
export interface UnitedStage {
  readonly name: string;
  readonly spec: Partial<UnitedDeployment["spec"]>;
  readonly besides?: (server: Server) => Server;
  /** Subsets whose nodes take no pods. */
  readonly full?: readonly string[];
  /** Pods by subset: any of these. */
  readonly sizes: readonly Readonly<Record<string, number>>[];
  /** Pods of an older revision. */
  readonly old?: number;
  /** The numbers cannot be met: all stays as it is. */
  readonly isImpossible?: true;
}

/** What a pass is about to write. */
export function checkPass(
  server: Server,
  pass: Pass | undefined,
  told: UnitedDeploymentStatus | undefined,
  { isImpossible }: UnitedStage,
): void {
  const writes = pass?.batches.flat() ?? [];
  const { object, workloads } = server;
  const status = statusAfter(object, writes);
  const sizes = new Map(
    workloads.filter(({ seen }) => isOf(object, seen)).map(({ seen }) => [subsetOf(seen), seen.replicas]),
  );
  const gone = new Set(writes.flatMap((write) => (write.type === "delete" ? [write.uid] : [])));
  let isSized = false;
  for (const write of writes) {
    if (write.type === "patch status") continue;
    const { resource, name } = write;
    if (resource === "revisions") checkRevision(server, write, told);
    else if (resource === "pods") checkPod(server, write);
    else if (write.type === "delete") checkDeletion(server, write, gone, isImpossible);
    else {
      const after = afterWrite(server, write);
      if (after === undefined) throw new Error(`${name} is written, and is not there`);
      // Rule 11: what it takes over stays as it is until it is seen as the object's.
      if (write.type === "patch" && before(server, write)?.owners.length === 0) continue;
      if (isImpossible) throw new Error(`${name} is written, and the numbers cannot be met`);
      if (write.type === "create") checkCreation(server, after);
      checkWorkload(object, after);
      sizes.set(subsetOf(after), after.replicas);
      isSized = true;
    }
  }
  if (isSized) checkSizes(server, sizes, status);
}

/** Exact, or what comes after it would not be begun. */
function statusAfter(
  { status }: UnitedDeployment,
  [first]: readonly PassWrite[],
): Partial<UnitedDeploymentStatus> {
  return first?.type === "patch status" ? applyMergePatch(status ?? {}, first.status) : (status ?? {});
}

/** Rule 29: of the kind that the template asks for, for a subset that there is. */
function isOf({ spec }: UnitedDeployment, workload: SubsetWorkload): boolean {
  const [template] = subsetTemplatesOf(spec);
  const isSubset = spec.topology?.subsets?.some(({ name }) => name === subsetOf(workload));
  return workload.template === template?.name && isSubset === true;
}

/** Rule 9: not one that the stored status names as the newest, nor one to which the current revision does not move on from it. */
function checkRevision(
  { object }: Server,
  write: WriteEffect,
  told: UnitedDeploymentStatus | undefined,
): void {
  if (write.type !== "delete") return;
  if (object.status?.updatedRevision === write.name || told?.currentRevision === write.name)
    throw new Error(`the revision ${write.name} is deleted, and is in use`);
}

/** Rules 33 and 42. */
function checkPod(server: Server, write: WriteEffect): void {
  const { object, workloads } = server;
  if (write.type !== "delete") {
    if (object.spec.topology?.scheduleStrategy?.adaptive?.reserveUnschedulablePods !== true)
      throw new Error(`${write.name} is labelled`);
    return;
  }
  const pod = server.pods.find(({ name }) => name === write.name);
  const owner = workloads.find(({ seen }) => seen.uid === pod?.controller?.uid)?.seen;
  if (pod === undefined || owner === undefined || owner.isDeleting)
    throw new Error(`${write.name} is deleted`);
  const ordinal = Number(pod.name.slice(pod.name.lastIndexOf("-") + 1));
  const isOld = revisionOf(pod) !== revisionOf(owner);
  if (owner.template !== "statefulSetTemplate" || !isOld || isReady(pod) || ordinal < (owner.partition ?? 0))
    throw new Error(`${write.name} is deleted`);
}

/** Rules 12, 17, 28 and 29. */
function checkDeletion(
  { object, workloads }: Server,
  { name }: WriteEffect,
  gone: ReadonlySet<string>,
  isImpossible: true | undefined,
): void {
  const target = workloads.find(({ seen }) => seen.name === name)?.seen;
  if (target === undefined || target.owners.length === 0)
    throw new Error(`${name} is deleted, and is not its own`);
  if (!isOf(object, target)) {
    if (isImpossible) throw new Error(`${name} is deleted, and nothing can take its place`);
    return;
  }
  const stays = workloads.some(
    ({ seen }) =>
      isOf(object, seen) && subsetOf(seen) === subsetOf(target) && !seen.isDeleting && !gone.has(seen.uid),
  );
  if (!stays) throw new Error(`the only workload of the subset ${subsetOf(target)} is deleted`);
}

/** Rules 11 and 28. */
function checkCreation({ object, workloads }: Server, after: SubsetWorkload): void {
  const subset = subsetOf(after);
  const isInTheWay = ({ owners, isDeleting }: SubsetWorkload): boolean => owners.length > 0 || !isDeleting;
  if (workloads.some(({ seen }) => isOf(object, seen) && subsetOf(seen) === subset && isInTheWay(seen)))
    throw new Error(`the subset ${subset} gets a second workload`);
}

/** Rules 23, 30 and 31. */
function checkWorkload({ spec }: UnitedDeployment, after: SubsetWorkload): void {
  const subset = spec.topology?.subsets?.find(({ name }) => name === subsetOf(after));
  if (subset === undefined) throw new Error(`${after.name} is of the subset ${subsetOf(after)}`);
  const image = imageOf(subset.patch) ?? imageOf(subsetTemplatesOf(spec)[0]?.template);
  if (imageOf(after.spec) !== image)
    throw new Error(`${after.name} gets ${imageOf(after.spec)}, not ${image}`);
  const requested = spec.updateStrategy?.manualUpdate?.partitions?.[subset.name] ?? 0;
  const held = Math.min(requested, after.replicas);
  if (after.partition !== held) throw new Error(`${after.name} holds ${after.partition} pods, not ${held}`);
}

function imageOf(object: unknown): string | undefined {
  return /"image":"([^"]*)"/.exec(JSON.stringify(object ?? {}))?.[1];
}

/** Rules 16 to 20. */
function checkSizes(
  server: Server,
  sizes: ReadonlyMap<string, number>,
  status: Partial<UnitedDeploymentStatus>,
): void {
  const { object, workloads } = server;
  const { topology: { subsets = [], scheduleStrategy } = {}, replicas: total = 1 } = object.spec;
  const sum = subsets.reduce((all, { name }) => all + (sizes.get(name) ?? 0), 0);
  const reserves = scheduleStrategy?.adaptive?.reserveUnschedulablePods === true;
  // One that is being deleted is left as it is.
  if (workloads.some(({ seen }) => seen.isDeleting)) return;
  if (reserves ? sum < (total ?? 1) : sum !== total)
    throw new Error(`${sum} pods are asked for, not ${total}`);
  if (scheduleStrategy?.type !== "Adaptive" || reserves) return;
  for (const subset of subsets) {
    const child = workloads.find(({ seen }) => isOf(object, seen) && subsetOf(seen) === subset.name)?.seen;
    const known = status.subsetStatuses?.find(({ name }) => name === subset.name)?.conditions;
    const isClosed = known?.some(({ type, status }) => type === "Schedulable" && status === "False");
    const size = sizes.get(subset.name) ?? 0;
    const ready = child?.readyReplicas ?? 0;
    const least = Number(subset.minReplicas ?? 0);
    if (isClosed && child !== undefined && size > Math.max(ready, least))
      throw new Error(`${subset.name} is closed, and has ${size} pods`);
    if (size > Number(subset.maxReplicas ?? Number.POSITIVE_INFINITY))
      throw new Error(`${subset.name} has ${size} pods, ${subset.maxReplicas} at most`);
  }
}

function before({ workloads }: Server, { name }: WriteEffect): SubsetWorkload | undefined {
  return workloads.find(({ seen }) => seen.name === name)?.seen;
}

/** The workload as it is once the write is carried out. */
function afterWrite(server: Server, write: WriteEffect): SubsetWorkload | undefined {
  const kind = Object.values(workloadKinds).find(({ type }) => type === write.resource);
  if (kind === undefined) return undefined;
  if (write.type === "create") {
    const metadata = { ...write.body.metadata, name: write.name };
    return workloadOf(kind, { ...write.body, metadata });
  }
  const stored = server.workloads.find(({ seen }) => seen.name === write.name);
  if (write.type === "delete" || stored === undefined) return undefined;
  return workloadOf(kind, applyMergePatch(stored.json, write.patch.body));
}

/** Rule 3: nothing is made of a revision that is still to be stored. */
export function checkWritten(server: Server, write: PassWrite): void {
  if (write.type === "patch status" || write.type === "delete" || write.resource === "pods") return;
  const found = targetOf(server, write);
  if (found === undefined || !("template" in found) || found.owners.length === 0) return;
  const revision = revisionOf(found);
  if (revision !== "" && !server.revisions.some(({ name }) => name === revision))
    throw new Error(`${write.name} is of the revision ${revision}, which is not stored`);
}

/** What is wrong where nothing is left to be done. */
export function unsettled(
  server: Server,
  { sizes, old = 0, isImpossible }: UnitedStage,
  mishaps: number,
): string | undefined {
  const { object, workloads, pods, revisions } = server;
  const { metadata, spec, status } = object;
  if (status === undefined) return "no status";
  if (status.observedGeneration !== metadata.generation)
    return `a status of generation ${status.observedGeneration}`;
  const found = JSON.stringify(workloads.map(({ seen }) => [subsetOf(seen), seen.replicas]).sort());
  if (!sizes.some((each) => JSON.stringify(Object.entries(each)) === found)) return `${found}`;
  const { conditions = [] } = status;
  const failed = conditions.filter(
    ({ type, status }) => type !== "UnitedDeploymentUpdated" && status !== "True",
  );
  if (failed.length > 0 !== (isImpossible === true)) return `${failed.length} failures in its status`;
  const [newest] = revisions.toSorted((x, y) => y.revision - x.revision);
  if (newest === undefined || status.updatedRevision !== newest.name)
    return `${status.updatedRevision} as the newest revision`;
  const limit = spec.revisionHistoryLimit ?? 10;
  if (revisions.length > limit) return `${revisions.length} revisions`;
  const olds = pods.filter((pod) => revisionOf(pod) !== newest.name).length;
  // A workload that is made again has none.
  if (olds > old || (olds < old && mishaps === 0)) return `${olds} pods of an older revision`;
  const {
    replicas = 0,
    readyReplicas = 0,
    updatedReplicas,
    updatedReadyReplicas = 0,
    reservedPods = 0,
  } = status;
  const ready = pods.filter(isReady);
  const told = [replicas + reservedPods, readyReplicas, updatedReplicas, updatedReadyReplicas].join();
  const real = [
    pods.length,
    ready.length,
    pods.length - olds,
    ready.filter((pod) => revisionOf(pod) === newest.name).length,
  ].join();
  if (told !== real) return `the counts ${told} in its status, not ${real}`;
  for (const { seen } of workloads)
    if (podsOf(server, seen).length !== seen.replicas)
      return `${podsOf(server, seen).length} pods of ${seen.name}`;
  const isCurrent = status.currentRevision === newest.name;
  const isUpdated = updatedReadyReplicas >= replicas;
  // Rule 35: of pods that are still to come nothing is known.
  const isWrong = isUpdated ? !isCurrent : isCurrent && olds > 0 && mishaps === 0;
  if (isWrong && isImpossible !== true) return `${status.currentRevision} as the current revision`;
  return undefined;
}
