/** Subsets that are CloneSets. Spec: uniteddeployment rules 26, 46. */

import { objectAt } from "../../native/json_fields.ts";
import { cloneSetResource } from "../../plan/resources.ts";
import { rollingPartition, type WorkloadKind } from "./workload.ts";

export const cloneSetWorkload: WorkloadKind = {
  template: "cloneSetTemplate",
  type: "CloneSet",
  resource: cloneSetResource,
  immutable: ["selector"],
  // Whatever the type of the strategy is.
  partition: rollingPartition,
  setMaxUnavailable: (spec, maxUnavailable) => {
    const strategy = objectAt(spec, "updateStrategy");
    const rollingUpdate = { ...objectAt(strategy, "rollingUpdate"), maxUnavailable };
    return { ...spec, updateStrategy: { ...strategy, rollingUpdate } };
  },
};
