/** Which CloneSet waits for a pod that was taken from it: name and claims are in use until it is gone. Spec: cloneset 4.3. */
import type { Claimants } from "../../runtime/kind.ts";
import { INSTANCE_ID } from "./strategy.ts";

export const cloneSetClaimants: Claimants = {
  ofPod: ({ namespace, name, labels }) => {
    const ending = `-${labels[INSTANCE_ID]}`;
    return name.endsWith(ending) ? [`${namespace}/${name.slice(0, -ending.length)}`] : [];
  },
  ofClaim: () => [],
  ofRemovedClaim: () => [],
};
