/** What admission refuses in a DaemonSet, in the API's words. Spec: daemonset 6. */

import {
  compileSelector,
  defaultPodTemplate,
  dnsSubdomainErrors,
  type FieldError,
  forbidden,
  invalid,
  isJsonObject,
  notSupported,
  required,
  validatePodTemplate,
  validateSelector,
} from "../../kube/core/index.ts";
import { lastingPodErrors } from "../pod_templates.ts";
import { ratcheted } from "../ratchet.ts";
import { nonNegative, termCount } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import type { DaemonSetSpec, DecodedDaemonSet } from "./schema.ts";
import { validateRollingUpdate } from "./validate_rollout.ts";

export interface DaemonSetValidation {
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
}

/** A spec of either version: fields that only v1beta1 has are absent in the other. */
type Spec = DaemonSetSpec;

const immutableWords: Readonly<Record<DecodedDaemonSet["version"], string>> = {
  // Two blanks after 'lifecycle': part of the API's text.
  v1alpha1:
    "updates to daemonset spec for fields other than 'BurstReplicas', 'template', 'lifecycle',  'updateStrategy', 'minReadySeconds', and 'revisionHistoryLimit' are forbidden",
  v1beta1:
    "updates to daemonset spec for fields other than 'BurstReplicas', 'template', 'lifecycle', 'scaleStrategy', 'updateStrategy', 'minReadySeconds', and 'revisionHistoryLimit' are forbidden",
};

/** All errors of a defaulted object, and, on an update, of the change from `old`, which must be of the same version. */
export const validateDaemonSet = ratcheted(errorsOf);

function errorsOf(
  next: DecodedDaemonSet,
  old: DecodedDaemonSet | undefined,
  options: DaemonSetValidation,
): FieldError[] {
  const { object, version } = next;
  const name = object.metadata.name ?? "";
  const errors = dnsSubdomainErrors(name).map((message) => invalid("metadata.name", name, message));
  const spec: Spec | undefined = object.spec ?? undefined;
  if (spec === undefined) return [...errors, required("spec")];
  const before: Spec | undefined = old?.object.spec ?? undefined;
  if (before !== undefined && !sameAsTyped(spec.selector, before.selector, "LabelSelector")) {
    errors.push(forbidden("spec", immutableWords[version]));
  }
  return [...errors, ...validateSpec(spec, options)];
}

function validateSpec(spec: Spec, options: DaemonSetValidation): FieldError[] {
  return [
    ...validateSelection(spec),
    ...validateTemplate(spec, options),
    ...nonNegative("spec.minReadySeconds", spec.minReadySeconds),
    ...validateStrategy(spec),
    ...nonNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit),
    ...validateLifecycle(spec),
  ];
}

function validateSelection(spec: Spec): FieldError[] {
  const selector = spec.selector ?? undefined;
  if (selector === undefined) return [required("spec.selector")];
  const errors = validateSelector(selector, "spec.selector");
  if (errors.length > 0) return errors;
  const labels = spec.template?.metadata?.labels ?? {};
  if (!compileSelector(selector).matches(labels)) {
    errors.push(
      invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"),
    );
  }
  if (termCount(selector) === 0) {
    errors.push(invalid("spec.selector", selector, "empty selector is invalid for daemonset"));
  }
  return errors;
}

/** The template as the API server would check it for a pod; only the copy that is checked gets its defaults. */
function validateTemplate({ template }: Spec, options: DaemonSetValidation): FieldError[] {
  const path = "spec.template";
  if (!isJsonObject(template)) return [required(path)];
  const defaulted = defaultPodTemplate(template, {
    imagePullPolicy: "ByTag",
    hostNetworkPorts: options.hostNetworkPorts,
  });
  const errors = validatePodTemplate(defaulted, path, { claimTemplates: [] });
  return [...errors, ...lastingPodErrors(template.spec ?? {}, `${path}.spec`, "DaemonSet", errors)];
}

function validateStrategy({ updateStrategy }: Spec): FieldError[] {
  const path = "spec.updateStrategy";
  switch (updateStrategy?.type) {
    case "OnDelete":
      return [];
    case "RollingUpdate": {
      const rolling = updateStrategy.rollingUpdate ?? undefined;
      return rolling === undefined
        ? [required(`${path}.rollingUpdate`)]
        : validateRollingUpdate(rolling, `${path}.rollingUpdate`);
    }
    default:
      return [notSupported(path, updateStrategy ?? {}, ["RollingUpdate", "OnDelete"])];
  }
}

function validateLifecycle({ lifecycle }: Spec): FieldError[] {
  const hook = lifecycle?.inPlaceUpdate;
  if (hook === undefined || hook === null) return [];
  return [forbidden("spec.lifecycle.inPlaceUpdate", "inPlaceUpdate hook has not supported yet")];
}
