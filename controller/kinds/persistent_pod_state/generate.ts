/** The PersistentPodState that a workload's annotations ask for. Spec: persistentpodstate 4, rules 19 to 26. */
import {
  autoGeneratePersistentPodStateAnnotation,
  type PersistentPodState,
  type PersistentPodStateSpec,
  persistentPodAnnotationsAnnotation,
  preferredPersistentTopologyAnnotation,
  requiredPersistentTopologyAnnotation,
  sameTarget,
} from "../../../crds/index.ts";
import { jsonEqual, type Labels, type ObjectMeta } from "../../../kube/core/index.ts";
import type { KindEffect } from "../../plan/effects.ts";

/** A workload that may carry the annotations. */
export interface Workload {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

type Generation =
  | { type: "nothing"; why: "up to date" | "nothing asked" | "not ours" }
  | Extract<KindEffect, { type: "create object" | "patch object" | "delete object" }>
  /** An object of an earlier workload of this name is still on its way out. */
  | { type: "wait" };

const names = [
  autoGeneratePersistentPodStateAnnotation,
  requiredPersistentTopologyAnnotation,
  preferredPersistentTopologyAnnotation,
  persistentPodAnnotationsAnnotation,
];

/** Whether a change of annotations may change what is generated. */
export function generationChanged(before: Labels | undefined, after: Labels | undefined): boolean {
  return names.some((name) => before?.[name] !== after?.[name]);
}

/** Whether the workload asks for an object at all: what counts when it is first seen (rule 20). */
export function asksForState(annotations: Labels | undefined): boolean {
  return (
    wantedSpec({ apiVersion: "", kind: "", metadata: { annotations: { ...annotations } } }) !== undefined
  );
}

export function planGeneration(workload: Workload, present: PersistentPodState | undefined): Generation {
  const { metadata } = workload;
  const owner = present?.metadata.ownerReferences?.find((reference) => reference.controller);
  const isOurs = owner !== undefined && owner.uid === metadata.uid;
  if (metadata.annotations?.[autoGeneratePersistentPodStateAnnotation] !== "true") {
    // An object that somebody wrote is not ours to remove, whatever it is called.
    return isOurs ? { type: "delete object" } : { type: "nothing", why: "not ours" };
  }
  const spec = wantedSpec(workload);
  if (spec === undefined) return { type: "nothing", why: "nothing asked" };
  if (present === undefined) return { type: "create object", body: bodyOf(workload, spec) };
  if (!isOurs) {
    const isLeftOver = owner?.kind === workload.kind && owner.name === metadata.name;
    return isLeftOver || present.metadata.deletionTimestamp
      ? { type: "wait" }
      : { type: "nothing", why: "not ours" };
  }
  if (!sameTarget(present.spec.targetRef, spec.targetRef)) return { type: "nothing", why: "not ours" };
  const { persistentPodStateRetentionPolicy: _, ...compared } = present.spec;
  // The reference is immutable, its version included.
  const kept = { ...spec, targetRef: present.spec.targetRef };
  return jsonEqual(compared, kept)
    ? { type: "nothing", why: "up to date" }
    : { type: "patch object", body: { spec: replaced(kept) } };
}

/** The retention policy is left to the user: it is never part of what is generated. */
function wantedSpec({ apiVersion, kind, metadata }: Workload): PersistentPodStateSpec | undefined {
  const list = (name: string): string[] =>
    (metadata.annotations?.[name] ?? "")
      .split(",")
      .map((key) => key.trim())
      .filter((key) => key !== "");
  if (metadata.annotations?.[autoGeneratePersistentPodStateAnnotation] !== "true") return undefined;
  const required = list(requiredPersistentTopologyAnnotation);
  const preferred = list(preferredPersistentTopologyAnnotation);
  const annotations = list(persistentPodAnnotationsAnnotation);
  if (required.length === 0 && preferred.length === 0) return undefined;
  return {
    targetRef: { apiVersion, kind, name: metadata.name ?? "" },
    ...(required.length === 0 ? {} : { requiredPersistentTopology: { keys: required } }),
    ...(preferred.length === 0
      ? {}
      : { preferredPersistentTopology: [{ weight: 100, preference: { keys: preferred } }] }),
    ...(annotations.length === 0 ? {} : { persistentPodAnnotations: annotations.map((key) => ({ key })) }),
  };
}

function bodyOf({ apiVersion, kind, metadata }: Workload, spec: PersistentPodStateSpec) {
  const { name = "", uid = "" } = metadata;
  const owner = { apiVersion, kind, name, uid, controller: true };
  return { metadata: { ownerReferences: [owner] }, spec };
}

/** A member that goes is null. */
function replaced(spec: PersistentPodStateSpec): object {
  return {
    requiredPersistentTopology: null,
    preferredPersistentTopology: null,
    persistentPodAnnotations: null,
    ...spec,
  };
}
