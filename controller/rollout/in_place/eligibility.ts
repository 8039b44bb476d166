/** Whether pods of one revision may be brought to another one in place, template to template. Spec: inplace-update, rule 26. */
import type { ControllerRevision, Pod } from "../../../kube/index.ts";
import { type Revision, templateOf } from "../revisions/revisions.ts";
import { type ChangeOptions, type Eligibility, inPlaceChange } from "./change.ts";

/** On pods of every kind: their revision. */
const REVISION_LABEL = "controller-revision-hash";

/** Template to template, once in a pass for each revision that pods come from. */
export class Eligibilities {
  readonly #eligibilityOf: (label: string) => Eligibility;
  readonly #known = new Map<string, Eligibility>();

  /** `eligibilityOf`: of pods with this revision label. */
  constructor(eligibilityOf: (label: string) => Eligibility) {
    this.#eligibilityOf = eligibilityOf;
  }

  of({ labels }: Pod): Eligibility {
    const label = labels[REVISION_LABEL] ?? "";
    let eligibility = this.#known.get(label);
    if (eligibility === undefined) {
      eligibility = this.#eligibilityOf(label);
      this.#known.set(label, eligibility);
    }
    return eligibility;
  }
}

/** `label`: what pods carry of the revision `old`, which may no longer exist. */
export function eligibilityOf(
  label: string,
  old: ControllerRevision | undefined,
  target: Revision,
  options: ChangeOptions,
): Eligibility {
  if (old === undefined)
    return { change: undefined, reason: `revision ${label || "(none)"} of the pod is not known` };
  const before = templateOf(old.data);
  const after = templateOf(target.data);
  if (before === undefined || after === undefined) {
    const broken = before === undefined ? old.name : target.name;
    return { change: undefined, reason: `revision ${broken} holds broken data` };
  }
  return inPlaceChange(before, after, options);
}
