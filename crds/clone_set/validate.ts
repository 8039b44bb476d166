/** What admission refuses in a CloneSet, in the API's words. Spec: cloneset 6. */

import {
  dnsSubdomainErrors,
  type FieldError,
  forbidden,
  goQuote,
  invalid,
  isJsonObject,
  required,
} from "../../kube/core/index.ts";
import { without } from "../members.ts";
import { ratcheted } from "../ratchet.ts";
import { amountErrors, changeBesideImages, nonNegative, templateSelectorErrors } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import type { CloneSetSpec, CloneSetSpecV1alpha1, DecodedCloneSet } from "./schema.ts";
import { validateTemplate } from "./template.ts";
import { validateRollout } from "./validate_rollout.ts";

export interface FoundPod {
  /** UID of the controller owner. */
  readonly ownerUid: string | undefined;
  readonly terminating: boolean;
}

export interface CloneSetValidation {
  /** Whether templates may ask for privileged containers. */
  allowPrivileged: boolean;
  /** The pod of this name in the object's namespace; asked for every name of newPodsToDelete. */
  findPod(name: string): FoundPod | undefined;
}

const mutableFields: readonly string[] = [
  "replicas",
  "template",
  "lifecycle",
  "scaleStrategy",
  "updateStrategy",
  "minReadySeconds",
  "progressDeadlineSeconds",
  "volumeClaimTemplates",
  "revisionHistoryLimit",
];
const immutableWords = `updates to cloneset spec for fields other than ${mutableFields
  .slice(0, -1)
  .map((name) => `'${name}'`)
  .join(", ")} and 'revisionHistoryLimit' are forbidden`;
const unlimitedDeadline = 2147483647;

/** All errors of a defaulted object, and, on an update, of the change from `old`, which must be of the same version. */
export const validateCloneSet = ratcheted(errorsOf);

function errorsOf(
  next: DecodedCloneSet,
  old: DecodedCloneSet | undefined,
  context: CloneSetValidation,
): FieldError[] {
  const { object } = next;
  const errors = dnsSubdomainErrors(object.metadata.name ?? "").map((message) => {
    return invalid("metadata.name", object.metadata.name, message);
  });
  errors.push(...validateSpec(next, context));
  if (next.version === "v1alpha1") errors.push(...validatePodsToDelete(next, old, context));
  if (old !== undefined) errors.push(...validateChange(next, old));
  return errors;
}

function validateSpec(next: DecodedCloneSet, context: CloneSetValidation): FieldError[] {
  const spec: CloneSetSpec | CloneSetSpecV1alpha1 | undefined = next.object.spec ?? undefined;
  if (spec === undefined) return [required("spec")];
  const replicas = spec.replicas ?? 1;
  return [
    ...nonNegative("spec.replicas", spec.replicas),
    ...templateSelectorErrors(spec, "cloneset"),
    ...validateTemplate(spec, context),
    ...validateScaling(spec),
    ...nonNegative("spec.minReadySeconds", spec.minReadySeconds),
    ...nonNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit),
    ...validateDeadline(next.version, spec),
    ...validateRollout(next, replicas),
  ];
}

function validateScaling(spec: CloneSetSpec | CloneSetSpecV1alpha1): FieldError[] {
  const { podsToDelete, maxUnavailable } = spec.scaleStrategy ?? {};
  const errors: FieldError[] = [];
  const names = podsToDelete ?? [];
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  if (repeated.length > 0) {
    errors.push(
      invalid("spec.scaleStrategy.podsToDelete", names, `duplicated items [${repeated.join(" ")}]`),
    );
  }
  const path = "spec.scaleStrategy.maxUnavailable";
  if (maxUnavailable !== undefined && maxUnavailable !== null) {
    errors.push(...amountErrors(path, "maxUnavailable", maxUnavailable));
  }
  return errors;
}

/** v1beta1 takes any: a rollout whose deadline is over at once is marked, and goes on. Spec: cloneset 6. */
function validateDeadline(
  version: DecodedCloneSet["version"],
  { minReadySeconds, progressDeadlineSeconds: deadline }: CloneSetSpec | CloneSetSpecV1alpha1,
): FieldError[] {
  const path = "spec.progressDeadlineSeconds";
  if (version === "v1beta1" || deadline === undefined || deadline === null) return [];
  const errors = nonNegative(path, deadline);
  if (deadline !== unlimitedDeadline && deadline <= (minReadySeconds ?? 0)) {
    errors.push(invalid(path, deadline, "must be greater than minReadySeconds"));
  }
  return errors;
}

/** Names that validation looks up: those that `old` did not list yet. Only v1alpha1 looks any up. */
export function newPodsToDelete(next: DecodedCloneSet, old: DecodedCloneSet | undefined): string[] {
  if (next.version !== "v1alpha1") return [];
  const known = new Set(old?.object.spec?.scaleStrategy?.podsToDelete ?? []);
  return [...new Set(next.object.spec?.scaleStrategy?.podsToDelete ?? [])].filter((name) => !known.has(name));
}

function validatePodsToDelete(
  next: DecodedCloneSet,
  old: DecodedCloneSet | undefined,
  context: CloneSetValidation,
): FieldError[] {
  const path = "spec.scaleStrategy.podsToDelete";
  const errors: FieldError[] = [];
  for (const name of newPodsToDelete(next, old)) {
    const pod = context.findPod(name);
    if (pod === undefined)
      errors.push(invalid(path, name, `find pod ${name} failed: Pod ${goQuote(name)} not found`));
    else if (pod.terminating) errors.push(invalid(path, name, `find pod ${name} already terminating`));
    else if (pod.ownerUid === undefined || pod.ownerUid !== next.object.metadata.uid) {
      errors.push(invalid(path, name, `find pod ${name} owner is not this CloneSet`));
    }
  }
  return errors;
}

function validateChange(next: DecodedCloneSet, old: DecodedCloneSet): FieldError[] {
  const errors: FieldError[] = [];
  if (!sameAsTyped(immutablePart(next.object.spec), immutablePart(old.object.spec), "CloneSetSpec")) {
    errors.push(forbidden("spec", immutableWords));
  }
  if (next.version === "v1alpha1" && next.object.spec?.updateStrategy?.type === "InPlaceOnly") {
    const found = changeBesideImages(old.object.spec?.template?.spec, next.object.spec.template?.spec);
    if (found !== undefined) {
      errors.push(
        forbidden("spec", `only allowed to update images in spec for InPlaceOnly, but found ${found}`),
      );
    }
  }
  return errors;
}

function immutablePart(spec: unknown): Record<string, unknown> {
  return isJsonObject(spec) ? without(spec, mutableFields) : {};
}
