/** What WorkloadSpreads have to do with the admission of pods: the place of a new one, and the record of one that goes. */
import { matchedWorkloadSpreadAnnotation } from "../../../crds/index.ts";
import type { PodAdmission } from "../../runtime/admission/pod_admission.ts";
import { guardSpreadPods } from "./guard.ts";
import { PodPlacement } from "./pod_placement.ts";
import { addSpread } from "./pod_step.ts";

export const workloadSpreadPodAdmission: PodAdmission = {
  step: { place: "subset", name: "workload spread" },
  guard: {
    place: "record",
    // A pod that a WorkloadSpread counts gets it at its creation or from the controller. Spec: workloadspread 4.2.
    ties: [
      `(request.operation == "DELETE" && "${matchedWorkloadSpreadAnnotation}" in oldObject.metadata.annotations)`,
    ],
  },
  start: (deps) => {
    if (!deps.options.gates.WorkloadSpread) return {};
    const placement = new PodPlacement(deps);
    return {
      mutation: () => (draft) => addSpread(draft, placement),
      guard: guardSpreadPods(placement, deps.client),
    };
  },
};
