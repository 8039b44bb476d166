/** What admission refuses in a SidecarSet, in the API's words. Spec: sidecarset 6. */

import {
  type FieldError,
  goJson,
  invalid,
  maxLengthMessage,
  patternMessage,
  required,
  validateAnnotations,
  validateObjectMeta,
} from "../../kube/core/index.ts";
import { priorityErrors, scatterErrors } from "../clone_set/update_order.ts";
import type { Draft } from "../kind_reader.ts";
import { ratcheted } from "../ratchet.ts";
import { intOrPercentErrors, selectorErrors } from "../rules.ts";
import { canaryBase } from "./canary.ts";
import { sidecarSetConflicts } from "./conflicts.ts";
import { isNativeSidecar } from "./hash.ts";
import { canaryBaseAnnotation } from "./names.ts";
import { type PatchWhitelist, whitelistRefusal } from "./patch_whitelist.ts";
import type { SidecarSet, SidecarSetSpec } from "./schema.ts";
import { validateContainerChange, validateSidecars } from "./validate_containers.ts";

export interface SidecarSetValidation {
  /** Whether sidecars may be privileged. */
  readonly allowPrivileged: boolean;
  readonly whitelist: PatchWhitelist;
  /** Every stored SidecarSet that can be read. */
  readonly stored: readonly SidecarSet[];
  /** Why the revision that `choice` names for new pods cannot be found; undefined if it was, or was not looked for. */
  revisionProblem(choice: RevisionChoice): string | undefined;
}

export type RevisionChoice = NonNullable<NonNullable<SidecarSetSpec["injectionStrategy"]>["revision"]>;

type Strategy = NonNullable<SidecarSetSpec["updateStrategy"]>;

/**
 * All errors of a defaulted object of the storage version, and, on an update, of the change from `old`. Conflicts are looked for
 * when nothing else is new that is wrong: what was wrong before excuses none of them.
 */
export function validateSidecarSet(
  { metadata, spec }: Draft<SidecarSet>,
  old: Draft<SidecarSet> | undefined,
  context: SidecarSetValidation,
): FieldError[] {
  const next = { metadata, spec: spec ?? {} };
  const before = old && { metadata: old.metadata, spec: old.spec ?? {} };
  const errors = [
    ...ownErrors(next, before, context),
    ...whitelistErrors(next, before?.spec, context.whitelist),
    ...patchErrors(next, before),
    ...(before ? validateContainerChange(next.spec.containers ?? [], before.spec.containers ?? []) : []),
  ];
  return errors.length > 0 ? errors : conflicts(next, before, context);
}

type Written = Pick<SidecarSet, "metadata" | "spec">;

const ownErrors = ratcheted((next: Written, old: Written | undefined, context: SidecarSetValidation) => [
  ...validateObjectMeta(next.metadata, "metadata", { namespaced: false, nameRule: nameErrors }),
  ...validateCanary(next, old, context.stored),
  ...validateSpec(next.spec, context),
]);
const patchErrors = ratcheted(({ spec }: Written) => validatePatches(spec));
const conflicts = ratcheted((next: Written, _old: Written | undefined, { stored }: SidecarSetValidation) =>
  sidecarSetConflicts(next, stored),
);

const namePattern = /^[a-zA-Z0-9-]+$/;
const longestName = 63;

/** The name becomes part of label values and annotations; a dot would not be read back from either. */
function nameErrors(name: string): string[] {
  const errors: string[] = [];
  if (!namePattern.test(name)) {
    const words = "sidecarset name must consist of alphanumeric characters or '-'";
    errors.push(patternMessage(words, "^[a-zA-Z0-9\\-]+$", "example-com"));
  }
  if (name.length > longestName) errors.push(maxLengthMessage(longestName));
  return errors;
}

/** Rule 22. The first thing that is wrong is all that is said: its own mistakes before those of its base, which may go later. */
function validateCanary(
  { metadata, spec }: Written,
  old: Written | undefined,
  stored: readonly SidecarSet[],
): FieldError[] {
  const baseName = canaryBase(metadata);
  if (baseName === undefined) return [];
  const refuse = (detail: string) => [invalid("metadata", metadata.annotations, detail)];
  if (baseName === metadata.name) return refuse("base sidecarSet cannot be itself");
  if (old !== undefined && old.metadata.annotations?.[canaryBaseAnnotation] !== baseName)
    return refuse(`annotations[${canaryBaseAnnotation}] is immutable`);
  if (spec.updateStrategy?.type !== "NotUpdate")
    return refuse("RollingUpdate is not supported for canary sidecarSet");
  const base = stored.find((one) => one.metadata.name === baseName);
  if (base === undefined) {
    const problem = `SidecarSet.apps.kruise.io "${baseName}" not found`;
    return refuse(`fetch base sidecarSet[${baseName}] failed: ${problem}`);
  }
  if (canaryBase(base.metadata) !== undefined) return refuse("base sidecarSet cannot be canary");
  return [];
}

function validateSpec(spec: SidecarSetSpec, context: SidecarSetValidation): FieldError[] {
  return [
    ...validateNativeSidecars(spec),
    ...validateSelectors(spec),
    ...validateRevision(spec, context),
    ...validateStrategy(spec.updateStrategy ?? {}),
    ...validateSidecars(spec, context),
  ];
}

/** A rolling update would have to restart them, which nothing here does. */
function validateNativeSidecars({ initContainers, updateStrategy }: SidecarSetSpec): FieldError[] {
  if (updateStrategy?.type !== "RollingUpdate") return [];
  const words = "The initContainer in-place upgrade is not currently supported.";
  return (initContainers ?? []).filter(isNativeSidecar).map(() => required("spec.updateStrategy", words));
}

const emptySelector = "empty selector is not valid for sidecarset.";

function validateSelectors({ selector, namespaceSelector }: SidecarSetSpec): FieldError[] {
  const errors = selector
    ? selectorErrors("spec.selector", selector, emptySelector)
    : [required("spec.selector", "no selector defined for SidecarSet")];
  if (namespaceSelector)
    errors.push(...selectorErrors("spec.namespaceSelector", namespaceSelector, emptySelector));
  return errors;
}

function validateRevision(
  { injectionStrategy }: SidecarSetSpec,
  { revisionProblem }: SidecarSetValidation,
): FieldError[] {
  const revision = injectionStrategy?.revision;
  if (!revision) return [];
  if (typeof revision.revisionName !== "string" && typeof revision.customVersion !== "string") {
    const words = "revisionName and customVersion cannot be empty simultaneously";
    return [invalid("revision", revision, words)];
  }
  const problem = revisionProblem(revision);
  return problem === undefined
    ? []
    : [invalid("revision", null, `Cannot find specific ControllerRevision, err: ${problem}`)];
}

function validateStrategy(strategy: Strategy): FieldError[] {
  if (strategy.type !== "RollingUpdate") return [];
  const path = "spec.updateStrategy";
  const { partition, maxUnavailable, selector } = strategy;
  const errors: FieldError[] = [];
  // The number 0 is what a partition is by default; a text was written by somebody.
  if (partition && selector) {
    const words = "Partition and Selector cannot be used together";
    errors.push(invalid("updateStrategy", goJson(strategy), words));
  }
  if (selector) errors.push(...selectorErrors(`${path}.selector`, selector, emptySelector));
  errors.push(...intOrPercentErrors(`${path}.partition`, partition ?? 0));
  errors.push(...intOrPercentErrors(`${path}.maxUnavailable`, maxUnavailable ?? 0));
  // One complaint each, at the strategy as a whole.
  const [priority] = priorityErrors("", strategy.priorityStrategy);
  if (priority !== undefined) errors.push(required(`${path}.priorityStrategy`, priority.detail));
  const [scatter] = scatterErrors("", strategy.scatterStrategy);
  if (scatter !== undefined) errors.push(required(`${path}.scatterStrategy`, scatter.detail));
  return errors;
}

const patchesPath = "spec.patchPodMetadata";

function whitelistErrors(
  next: Written,
  before: SidecarSetSpec | undefined,
  whitelist: PatchWhitelist,
): FieldError[] {
  const refusal = whitelistRefusal(next, whitelist, before);
  return refusal === undefined ? [] : [required(patchesPath, refusal)];
}

function validatePatches({ patchPodMetadata }: SidecarSetSpec): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const { annotations, patchPolicy } of patchPodMetadata ?? []) {
    const keys = Object.keys(annotations ?? {});
    if (keys.length === 0) errors.push(required(patchesPath, "no annotations defined for SidecarSet"));
    else errors.push(...validateAnnotations(annotations, "patchPodMetadata.annotations"));
    if (!patchPolicy) errors.push(required(patchesPath, "no patchPolicy defined for patchPodMetadata"));
    for (const key of keys) {
      if (seen.has(key)) errors.push(required(patchesPath, `patch annotation[${key}] already exist`));
      seen.add(key);
    }
  }
  return errors;
}
