/** Which StatefulSets a pod or a claim may belong to that names none as its owner. */
import { claimantKeys, orphanKeys } from "../../rollout/pods/numbered_names.ts";
import type { Claimants } from "../../runtime/kind.ts";
import { OWNED_BY_ANNOTATION } from "./strategy.ts";

export const statefulSetClaimants: Claimants = {
  ofPod: orphanKeys,
  ofClaim: ({ namespace, annotations }) => {
    const set = annotations[OWNED_BY_ANNOTATION];
    return set === undefined ? [] : [`${namespace}/${set}`];
  },
  ofRemovedClaim: claimantKeys,
};
