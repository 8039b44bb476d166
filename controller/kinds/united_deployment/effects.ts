/** What one pass over a UnitedDeployment writes, as effects. Spec: uniteddeployment 4. */
import type { UnitedDeployment } from "../../../crds/index.ts";
import {
  createMergePatch,
  type JsonObject,
  type Labels,
  type ObjectRef,
  objectRef,
} from "../../../kube/core/index.ts";
import type { ControllerRevision, Random } from "../../../kube/index.ts";
import type { EventEffect, KindEffect, WriteEffect, WritesEffect } from "../../plan/effects.ts";
import { unitedDeploymentResource } from "../../plan/resources.ts";
import { ownerReference, randomId } from "../../rollout/pods/pod_manifest.ts";
import type { RevisionSearch } from "../../rollout/revisions/revisions.ts";
import type { Result } from "../../runtime/reconciler.ts";
import { type ChildManifest, namePrefix } from "./child_manifest.ts";
import { RESERVED_LABEL } from "./names.ts";
import type { SubsetChange, UnitedPlan } from "./plan.ts";
import { unitedRevisionBody } from "./revision.ts";
import type { SubsetWorkload, WorkloadKind } from "./workload.ts";
import { workloadKinds } from "./workloads.ts";

/**
 * A plan knows nothing of workloads that nobody controls, and would make their subsets once more: they are adopted first. What is
 * written counts in the next pass, which the write enqueues.
 */
export function unitedResult(
  object: UnitedDeployment,
  plan: UnitedPlan,
  orphans: readonly SubsetWorkload[],
  random: Random,
): Result {
  const { status, isRemembered, requeueAfterMs } = plan;
  if (status === undefined) return { requeueAfterMs };
  const effects: readonly KindEffect[] =
    orphans.length > 0 ? adoptionEffects(object, orphans) : unitedEffects(object, plan, random);
  if (!isRemembered) return { status, size: object.spec.replicas ?? 0, effects, requeueAfterMs };
  const patch = createMergePatch(object.status ?? {}, status);
  return { effects: [{ type: "patch status", status: patch, exact: true }, ...effects], requeueAfterMs };
}

/** Each needs those before it: a revision what is made of it, a deletion the workload that takes the place. */
export function unitedEffects(object: UnitedDeployment, plan: UnitedPlan, random: Random): KindEffect[] {
  const { kind, revision } = plan;
  if (kind === undefined || revision === undefined) return [];
  const makes = revision.write === "create" || plan.creations.length > 0;
  return [
    ...(makes ? [{ type: "confirm object" } as const] : []),
    ...revisionEffects(object, revision, plan.surplus),
    ...problemEvents(object, kind, plan),
    ...plan.deletions.map(deletionOf),
    ...(plan.deletions.length === 0 ? [] : [done("Delete", String(plan.deletions.length), kind)]),
    ...writes(
      "slow start",
      plan.creations.map((change) => creationOf(object, kind, change, random)),
      {
        counted: done("Create", "{count}", kind),
      },
    ),
    ...writes(
      "slow start",
      plan.updates.map(({ child, manifest }) => updateOf(kind, child, manifest)),
    ),
    ...writes(
      "at once",
      plan.brokenPods.map((pod) => ({ ...target("pods", pod), type: "delete", uid: pod.uid })),
    ),
    ...writes("at once", plan.labels.map(labelOf)),
  ];
}

/** Workloads that nobody controls and that the object selects become its own. Rule 11. */
export function adoptionEffects(
  { metadata: { name = "", uid = "" } }: UnitedDeployment,
  orphans: readonly SubsetWorkload[],
): KindEffect[] {
  const reference = ownerReference(unitedDeploymentResource.kind, name, uid);
  return [
    // The cache may not know yet that the object is gone.
    { type: "confirm object" },
    ...orphans.map((orphan): WriteEffect => {
      const ownerReferences = [...orphan.owners, reference];
      return mergePatch(workloadTarget(orphan), orphan, { metadata: { ownerReferences } });
    }),
  ];
}

function revisionEffects(
  object: UnitedDeployment,
  { update, write }: RevisionSearch,
  surplus: readonly ControllerRevision[],
): WriteEffect[] {
  const failed = warning("FailedRevisionProvision", "{error}");
  const effects = surplus.map((revision): WriteEffect => {
    const { uid, resourceVersion } = revision;
    return { ...target("revisions", revision), type: "delete", uid, resourceVersion, failed };
  });
  if (write === "create") {
    const { namespace } = objectRef(object);
    effects.push({
      ...target("revisions", { namespace, name: update.name }),
      type: "create",
      body: unitedRevisionBody(object, update),
      texts: { data: update.data },
      existing: "any",
      failed,
    });
  } else if (write === "renumber" && update.stored !== undefined) {
    const renumbering = { revision: update.number };
    effects.push({ ...mergePatch(target("revisions", update.stored), update.stored, renumbering), failed });
  }
  return effects;
}

/** Once for each cause: passes are many while an object stays as it is. */
function problemEvents(
  { status }: UnitedDeployment,
  { type }: WorkloadKind,
  { problem, unpatched }: UnitedPlan,
): EventEffect[] {
  const isReported = (condition: string, message: string | undefined): boolean => {
    const reported = status?.conditions?.find((each) => each.type === condition);
    return message === undefined || (reported?.status === "False" && reported.message === message);
  };
  const events: EventEffect[] = [];
  if (!isReported("SubsetProvisioned", problem)) {
    const message = `Specified subset replicas is ineffective: ${problem}`;
    events.push(warning("Failed SpecifySubsetReplicas", message));
  }
  if (!isReported("SubsetUpdated", unpatched[0]?.message)) {
    for (const { child, target, message } of unpatched)
      events.push(failedUpdate(type, child?.name ?? target.subset.name, message));
  }
  return events;
}

/** Rule 28. */
function creationOf(
  object: UnitedDeployment,
  { type }: WorkloadKind,
  { target: { subset }, manifest }: SubsetChange,
  random: Random,
): WriteEffect {
  const { namespace, name } = objectRef(object);
  const { labels, annotations, spec } = manifest;
  const generateName = namePrefix(name, subset.name);
  const ownerReferences = [ownerReference(unitedDeploymentResource.kind, name, object.metadata.uid ?? "")];
  return {
    ...target(type, { namespace, name: generateName + randomId(random) }),
    type: "create",
    body: { metadata: { generateName, labels, annotations, ownerReferences }, spec },
    existing: "own",
    failed: failedUpdate(type, subset.name, "{error}"),
  };
}

/** Of the very version that is in the cache: what others changed since then shows there first. */
function updateOf(kind: WorkloadKind, child: SubsetWorkload, manifest: ChildManifest): WriteEffect {
  return {
    ...mergePatch(workloadTarget(child), child, changes(child, manifest, kind)),
    failed: failedUpdate(kind.type, child.name, "{error}"),
  };
}

/** A merge patch; labels and annotations are added, never removed (rule 22). */
function changes(
  child: SubsetWorkload,
  { labels, annotations, spec }: ChildManifest,
  { immutable }: WorkloadKind,
): { metadata: JsonObject; spec: object } {
  const added = (key: "labels" | "annotations", texts: Labels) => {
    const patch = createMergePatch(child[key], { ...child[key], ...texts });
    return Object.keys(patch).length === 0 ? {} : { [key]: patch };
  };
  const mutable = (whole: JsonObject) =>
    Object.fromEntries(Object.entries(whole).filter(([name]) => !immutable.includes(name)));
  return {
    metadata: { ...added("labels", labels), ...added("annotations", annotations) },
    spec: createMergePatch(mutable(child.spec), mutable(spec)),
  };
}

function deletionOf(child: SubsetWorkload): WriteEffect {
  return { ...workloadTarget(child), type: "delete", uid: child.uid, cascade: true };
}

function labelOf({ pod, reserved }: UnitedPlan["labels"][number]): WriteEffect {
  const metadata = { uid: pod.uid, labels: { [RESERVED_LABEL]: String(reserved) } };
  return { ...target("pods", pod), type: "patch", patch: { type: "strategic", body: { metadata } } };
}

type Target = Pick<WriteEffect, "resource" | "namespace" | "name" | "id" | "priority">;

/** `resource`: a name in the `writes` of the reconciler. Every write has an `id`, because the status tells what was refused. */
function target(resource: string, { namespace, name }: ObjectRef): Target {
  return { resource, namespace, name, id: `${resource} ${name}`, priority: "high" };
}

function workloadTarget(workload: SubsetWorkload): Target {
  return target(workloadKinds[workload.template].type, workload);
}

/** Of the version that was planned with. */
function mergePatch(
  target: Target,
  { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
  { metadata, ...rest }: { readonly metadata?: object; readonly [member: string]: unknown },
): WriteEffect {
  const body = { metadata: { uid, resourceVersion, ...metadata }, ...rest };
  return { ...target, type: "patch", patch: { type: "merge", body } };
}

function writes(
  pace: WritesEffect["pace"],
  effects: readonly WriteEffect[],
  more: Pick<WritesEffect, "counted"> = {},
): WritesEffect[] {
  return effects.length === 0 ? [] : [{ type: "writes", pace, writes: effects, ...more }];
}

function done(what: "Create" | "Delete", count: string, { type }: WorkloadKind): EventEffect {
  const message = `${what} ${count} Subset (${type})`;
  return { type: "event", event: { type: "Normal", reason: "SuccessfulUpdateSubset", message } };
}

function failedUpdate(type: string, name: string, error: string): EventEffect {
  return warning("FailedUpdateSubset", `Error updating PodSet (${type}) ${name} when updating: ${error}`);
}

function warning(reason: string, message: string): EventEffect {
  return { type: "event", event: { type: "Warning", reason, message } };
}
