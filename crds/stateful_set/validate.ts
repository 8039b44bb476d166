/** What admission refuses in a StatefulSet, in the API's words. Spec: statefulset 6. */

import {
  dnsLabelErrors,
  type FieldError,
  forbidden,
  invalid,
  isJsonObject,
  notSupported,
  required,
} from "../../kube/core/index.ts";
import { lastingPodErrors } from "../pod_templates.ts";
import { ratcheted } from "../ratchet.ts";
import { changeBesideImages, nonNegative, templateSelectorErrors } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import type { DecodedStatefulSet, StatefulSetSpec } from "./schema.ts";
import { type StorageClassLookup, validateClaimChange } from "./validate_claims.ts";
import { validateRollingUpdate, validateScaleLimit } from "./validate_rollout.ts";

export interface StatefulSetValidation {
  /** Gate StatefulSetAutoResizePVCGate. */
  resizesClaims: boolean;
  storageClasses: StorageClassLookup;
}

/** A spec of either version: fields that only v1beta1 has are absent in the other. */
type Spec = StatefulSetSpec;

const immutableWords =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'reserveOrdinals', 'lifecycle', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy', `volumeClaimTemplates`, `VolumeClaimUpdateStrategy` and 'updateStrategy' are forbidden";

/** All errors of a defaulted object, and, on an update, of the change from `old`, which must be of the same version. */
export const validateStatefulSet = ratcheted(errorsOf);

function errorsOf(
  next: DecodedStatefulSet,
  old: DecodedStatefulSet | undefined,
  context: StatefulSetValidation,
): FieldError[] {
  const { object } = next;
  const errors = dnsLabelErrors(object.metadata.name ?? "").map((message) => {
    return invalid("metadata.name", object.metadata.name, message);
  });
  const spec: Spec | undefined = object.spec ?? undefined;
  if (spec === undefined) return [...errors, required("spec")];
  const before: Spec | undefined = old?.object.spec;
  errors.push(...validateSpec(spec));
  if (before !== undefined) {
    errors.push(...validateChange(spec, before));
    if (context.resizesClaims) errors.push(...validateClaimChange(spec, before, context.storageClasses));
  }
  return errors;
}

function validateSpec(spec: Spec): FieldError[] {
  return [
    ...validatePolicy(spec),
    ...validateStrategy(spec),
    ...validateRetention(spec),
    ...nonNegative("spec.replicas", spec.replicas),
    ...nonNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit),
    ...nonNegative("spec.ordinals.start", spec.ordinals?.start),
    ...validateScaleLimit(spec),
    ...validateReserved(spec),
    ...templateSelectorErrors(spec, "statefulset"),
    ...validateTemplate(spec),
  ];
}

function validatePolicy({ podManagementPolicy: policy }: Spec): FieldError[] {
  if (policy === "OrderedReady" || policy === "Parallel") return [];
  return [invalid("spec.podManagementPolicy", policy ?? "", "must be 'OrderedReady' or 'Parallel'")];
}

function validateStrategy(spec: Spec): FieldError[] {
  const path = "spec.updateStrategy";
  const { type, rollingUpdate } = spec.updateStrategy ?? {};
  if (type === "OnDelete") {
    if (rollingUpdate === undefined || rollingUpdate === null) return [];
    const words = "only allowed for updateStrategy 'RollingUpdate'";
    return [invalid(`${path}.rollingUpdate`, rollingUpdate, words)];
  }
  if (type !== "RollingUpdate") {
    return [invalid(path, spec.updateStrategy ?? {}, "must be 'RollingUpdate' or 'OnDelete'")];
  }
  return validateRollingUpdate(spec, rollingUpdate ?? undefined);
}

function validateRetention({ persistentVolumeClaimRetentionPolicy: policy }: Spec): FieldError[] {
  if (policy === undefined || policy === null) return [];
  return (["whenDeleted", "whenScaled"] as const).flatMap((field) => {
    const value = policy[field] ?? "";
    if (value === "Retain" || value === "Delete") return [];
    return [notSupported(`spec.persistentVolumeClaimRetentionPolicy.${field}`, value, ["Retain", "Delete"])];
  });
}

/** Two complaints about text that is no range at all: that it is none, and why. */
function validateReserved({ reserveOrdinals }: Spec): FieldError[] {
  return (reserveOrdinals ?? []).flatMap((entry, index) => {
    if (typeof entry === "number") {
      return entry < 0 ? [reservedError(entry, `${index} th reserve ordinal is negative: ${entry}`)] : [];
    }
    const errors: FieldError[] = [];
    if (!/^\d+-\d+$/.test(entry)) {
      errors.push(reservedError(entry, `${index} th reserve ordinal is not a valid range: ${entry}`));
    }
    const problem = rangeProblem(entry);
    if (problem !== undefined) {
      errors.push(reservedError(entry, `${index} th reserve ordinal is invalid: ${entry}, err = ${problem}`));
    }
    return errors;
  });
}

function reservedError(entry: number | string, words: string): FieldError {
  return invalid("spec", entry, words);
}

function rangeProblem(text: string): string | undefined {
  const match = /^(\d+)-(\d+)$/.exec(text);
  return match === null || Number(match[1]) > Number(match[2]) ? `invalid range ${text}` : undefined;
}

/** The rest of the pod spec is the API server's to refuse, when a pod is made from it. */
function validateTemplate({ template }: Spec): FieldError[] {
  const path = "spec.template.spec";
  const pod: unknown = template?.spec;
  return isJsonObject(pod) ? lastingPodErrors(pod, path, "StatefulSet") : [required(path)];
}

function validateChange(spec: Spec, before: Spec): FieldError[] {
  const errors: FieldError[] = [];
  if (!sameAsTyped(immutablePart(spec), immutablePart(before), "AdvancedStatefulSetSpec")) {
    errors.push(forbidden("spec", immutableWords));
  }
  if (spec.updateStrategy?.rollingUpdate?.podUpdatePolicy === "InPlaceOnly") {
    const found = changeBesideImages(before.template?.spec, spec.template?.spec);
    if (found !== undefined) {
      const words = `invalid template modified with InPlaceOnly strategy: ${found}, currently only image update is allowed for InPlaceOnly`;
      errors.push(forbidden("spec", words));
    }
  }
  return errors;
}

/** What was stored while no webhook looked has no default either. */
function immutablePart({ selector, serviceName, podManagementPolicy }: Spec): object {
  return { selector, serviceName, podManagementPolicy: podManagementPolicy || "OrderedReady" };
}
