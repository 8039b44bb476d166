/** What admission refuses in a PersistentPodState, in the API's words. Spec: persistentpodstate 6. */

import { type FieldError, forbidden, invalid, jsonEqual } from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { ratcheted } from "../ratchet.ts";
import type { PersistentPodState, PersistentPodStateSpec } from "./schema.ts";

export type TargetReference = Readonly<PersistentPodStateSpec["targetRef"]>;

/** All errors of an object, and, on an update, of the change from `old`. `others` are the objects of the namespace. */
export const validatePersistentPodState = ratcheted(errorsOf);

function errorsOf(
  next: Draft<PersistentPodState>,
  old: Draft<PersistentPodState> | undefined,
  others: readonly PersistentPodState[],
): FieldError[] {
  const errors: FieldError[] = [];
  const { spec } = next;
  const target = targetReferenceOf(spec?.targetRef);
  const path = "spec.targetRef";
  if (target.apiVersion === "" || target.kind === "" || target.name === "") {
    errors.push(invalid(path, target, "empty targetRef is not valid for PersistentPodState."));
  }
  if (!isStatefulSet(groupOf(target.apiVersion), target.kind)) {
    const words = "targetRef.Kind must be StatefulSet or in PPS_Watch_Custom_Workload_WhiteList";
    errors.push(invalid(path, target, words));
  }
  if (!spec?.requiredPersistentTopology && (spec?.preferredPersistentTopology ?? []).length === 0) {
    const words = "TopologyConstraint and TopologyPreference cannot be empty at the same time";
    errors.push(invalid("spec", spec ?? {}, words));
  }
  if (old !== undefined && !jsonEqual(targetReferenceOf(old.spec?.targetRef), target)) {
    errors.push(forbidden(path, "targetRef is immutable"));
  }
  return [...errors, ...conflicts(next, target, others)];
}

function conflicts(
  next: Draft<PersistentPodState>,
  target: TargetReference,
  others: readonly PersistentPodState[],
): FieldError[] {
  const rival = others.find(
    ({ metadata, spec }) =>
      metadata.name !== next.metadata.name && sameTarget(targetReferenceOf(spec.targetRef), target),
  );
  if (rival === undefined) return [];
  const words = `targetRef is in conflict with other PersistentPodState ${rival.metadata.name ?? ""}`;
  return [invalid("spec.targetRef", target, words)];
}

/** Versions do not count. */
export function sameTarget(a: TargetReference, b: TargetReference): boolean {
  return groupOf(a.apiVersion) === groupOf(b.apiVersion) && a.kind === b.kind && a.name === b.name;
}

export function isStatefulSet(group: string, kind: string): boolean {
  return kind === "StatefulSet" && (group === "apps" || group === "apps.kruise.io");
}

/** `apps/v1` -> `apps`; the core group is empty. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

export function targetReferenceOf(reference: Partial<TargetReference> | undefined | null): TargetReference {
  const { apiVersion = "", kind = "", name = "" } = reference ?? {};
  return { apiVersion, kind, name };
}
