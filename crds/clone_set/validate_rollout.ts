/** What admission refuses in the update strategy. Spec: cloneset 6. */
import { type FieldError, type IntOrString, invalid } from "../../kube/core/index.ts";
import { parallelismComplaint } from "../image_pull_settings.ts";
import { amount, amountErrors, nonNegative } from "../rules.ts";
import { podUpdatePolicies } from "./names.ts";
import type { CloneSetRollingUpdate, DecodedCloneSet } from "./schema.ts";
import { priorityErrors, scatterErrors } from "./update_order.ts";

type Rollout = Omit<CloneSetRollingUpdate, "podUpdatePolicy">;

const policies: readonly unknown[] = podUpdatePolicies;

/** The part that both versions share lies at different paths; the words of some errors differ, too. */
export function validateRollout(next: DecodedCloneSet, replicas: number): FieldError[] {
  const path = "spec.updateStrategy";
  if (next.version === "v1alpha1") {
    const strategy = next.object.spec?.updateStrategy ?? {};
    const errors = policies.includes(strategy.type)
      ? []
      : [
          invalid(
            `${path}.type`,
            strategy.type ?? "",
            "must be 'ReCreate', InPlaceIfPossible or 'InPlaceOnly'",
          ),
        ];
    return [
      ...errors,
      ...validateSettings(path, strategy, replicas),
      ...validateSurge(path, strategy, strategy.type, "strategy type"),
      ...validateGrace(path, strategy),
    ];
  }
  const { type, rollingUpdate } = next.object.spec?.updateStrategy ?? {};
  const errors: FieldError[] = [];
  if (type !== "RollingUpdate" && type !== "OnDelete") {
    errors.push(invalid(`${path}.type`, type ?? "", "must be 'RollingUpdate' or 'OnDelete'"));
  }
  if (rollingUpdate === undefined || rollingUpdate === null) return errors;
  const inner = `${path}.rollingUpdate`;
  const policy = rollingUpdate.podUpdatePolicy;
  if (!policies.includes(policy) && !(type === "OnDelete" && !policy)) {
    const words = "must be 'ReCreate', 'InPlaceIfPossible' or 'InPlaceOnly'";
    errors.push(invalid(`${inner}.podUpdatePolicy`, policy ?? "", words));
  }
  return [
    ...errors,
    ...validateSettings(inner, rollingUpdate, replicas),
    ...validateSurge(inner, rollingUpdate, policy, "podUpdatePolicy"),
    ...validatePreDownload(`${inner}.inPlaceUpdateStrategy`, rollingUpdate),
    ...validateGrace(inner, rollingUpdate),
  ];
}

function validateSettings(path: string, rollout: Rollout, replicas: number): FieldError[] {
  const { partition, maxUnavailable, maxSurge } = rollout;
  const errors = [
    ...amountErrors(`${path}.partition`, "partition", partition),
    ...amountErrors(`${path}.maxUnavailable`, "maxUnavailable", maxUnavailable),
    ...amountErrors(`${path}.maxSurge`, "maxSurge", maxSurge ?? 0),
    ...priorityErrors(`${path}.priorityStrategy`, rollout.priorityStrategy),
    ...scatterErrors(`${path}.scatterStrategy`, rollout.scatterStrategy),
  ];
  const unavailable = amount("maxUnavailable", maxUnavailable ?? 0, replicas);
  const surge = amount("maxSurge", maxSurge ?? 0, replicas);
  if (
    replicas > 0 &&
    "value" in unavailable &&
    "value" in surge &&
    unavailable.value < 1 &&
    surge.value < 1
  ) {
    const words = "maxUnavailable and maxSurge should not both be less than 1";
    errors.push(invalid(`${path}.maxUnavailable`, maxUnavailable ?? null, words));
  }
  return errors;
}

function validateSurge(path: string, { maxSurge }: Rollout, policy: unknown, word: string): FieldError[] {
  if (policy !== "InPlaceOnly") return [];
  const surge = amount("maxSurge", maxSurge ?? 0, 100);
  if ("complaint" in surge || surge.value <= 0) return [];
  return [invalid(`${path}.maxSurge`, maxSurge, `can not use maxSurge with ${word} InPlaceOnly`)];
}

/** Only v1beta1 has these fields; v1alpha1 knows annotations instead. */
function validatePreDownload(path: string, { inPlaceUpdateStrategy }: Rollout): FieldError[] {
  const { imagePreDownloadParallelism, imagePreDownloadTimeoutSeconds, imagePreDownloadMinUpdatedReadyPods } =
    inPlaceUpdateStrategy ?? {};
  return [
    ...parallelismErrors(`${path}.imagePreDownloadParallelism`, imagePreDownloadParallelism),
    ...nonNegative(`${path}.imagePreDownloadTimeoutSeconds`, imagePreDownloadTimeoutSeconds),
    ...nonNegative(`${path}.imagePreDownloadMinUpdatedReadyPods`, imagePreDownloadMinUpdatedReadyPods),
  ];
}

function parallelismErrors(path: string, value: IntOrString | undefined | null): FieldError[] {
  const complaint = parallelismComplaint("imagePreDownloadParallelism", value);
  return complaint === undefined ? [] : [invalid(path, value, complaint)];
}

function validateGrace(path: string, { inPlaceUpdateStrategy }: Rollout): FieldError[] {
  const grace = inPlaceUpdateStrategy?.gracePeriodSeconds;
  return nonNegative(`${path}.inPlaceUpdateStrategy.gracePeriodSeconds`, grace);
}
