/** What launch priority has to do with the admission of pods: the barriers of a new one. */
import type { PodAdmission } from "../../runtime/admission/pod_admission.ts";
import { addLaunchBarrier } from "./pod_step.ts";

export const launchPriorityPodAdmission: PodAdmission = {
  step: { place: "launch order", name: "container launch priority" },
  start: ({ random }) => ({ mutation: () => (draft) => addLaunchBarrier(draft, { random }) }),
};
