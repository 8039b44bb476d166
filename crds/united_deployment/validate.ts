/** What admission refuses in a UnitedDeployment, in the API's words. Spec: uniteddeployment 6. */

import { type FieldError, forbidden, invalid, required, validateSelector } from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { ratcheted } from "../ratchet.ts";
import { nonNegative, termCount } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import type { UnitedDeployment, UnitedDeploymentSpec } from "./schema.ts";
import { validateTemplate, validateTemplateChange } from "./validate_template.ts";
import { validateTopology } from "./validate_topology.ts";

/** All errors of a defaulted object of either version, and, on an update, of the change from `old`. */
export const validateUnitedDeployment = ratcheted(errorsOf);

function errorsOf({ spec }: Draft<UnitedDeployment>, old: Draft<UnitedDeployment> | undefined): FieldError[] {
  if (spec === undefined) return [required("spec")];
  const before = old?.spec;
  return [
    ...nonNegative("spec.replicas", spec.replicas),
    ...validateSelection(spec),
    ...validateTemplate(spec),
    ...validateTopology(spec),
    ...validatePartitions(spec),
    ...(before === undefined ? [] : validateChange(spec, before)),
  ];
}

function validateSelection({ selector }: UnitedDeploymentSpec): FieldError[] {
  const path = "spec.selector";
  if (selector === undefined || selector === null) return [required(path)];
  const errors = validateSelector(selector, path);
  if (termCount(selector) > 0) return errors;
  return [...errors, invalid(path, selector, "empty selector is invalid for statefulset")];
}

function validatePartitions({ topology, updateStrategy }: UnitedDeploymentSpec): FieldError[] {
  const path = "spec.updateStrategy.manualUpdate.partitions";
  const names = new Set((topology?.subsets ?? []).map(({ name }) => name));
  const partitions = updateStrategy?.manualUpdate?.partitions ?? {};
  const unknown = Object.keys(partitions).filter((name) => !names.has(name));
  return unknown.map((name) => invalid(path, partitions, `subset ${name} does not exist`));
}

function validateChange(spec: UnitedDeploymentSpec, before: UnitedDeploymentSpec): FieldError[] {
  const old = new Map((before.topology?.subsets ?? []).map((subset) => [subset.name, subset]));
  const errors = (spec.topology?.subsets ?? []).flatMap((subset, index) => {
    const present = old.get(subset.name);
    if (present === undefined) return [];
    const { nodeSelectorTerm, tolerations } = subset;
    const changed: string[] = [];
    if (!sameAsTyped(nodeSelectorTerm, present.nodeSelectorTerm, "NodeSelectorTerm"))
      changed.push("nodeSelectorTerm");
    if (!sameAsTyped({ tolerations }, { tolerations: present.tolerations }, "PodSpec"))
      changed.push("tolerations");
    return changed.map((field) =>
      forbidden(`spec.topology.subsets[${index}].${field}`, "may not be changed in an update"),
    );
  });
  return [...errors, ...validateTemplateChange(spec, before)];
}
