/** What PersistentPodStates have to do with the admission of pods: a new one goes back to where its namesake was. */
import { isStatefulSet } from "../../../crds/index.ts";
import { persistentPodStateResource } from "../../plan/resources.ts";
import type { PodAdmission } from "../../runtime/admission/pod_admission.ts";
import { addPersistentPlacement, type PlacementOptions } from "./pod_step.ts";
import { stateOf, targetIndex } from "./targets.ts";

export const persistentPodStatePodAdmission: PodAdmission = {
  step: { place: "recorded nodes", name: "persistent pod state" },
  start: ({ informers }) => ({
    mutation: () => {
      const states = informers.cacheOf(persistentPodStateResource, targetIndex);
      const options: PlacementOptions = {
        isRecorded: isStatefulSet,
        stateOf: (...target) => informers.caughtUp().then(() => stateOf(states, ...target)),
      };
      return (draft) => addPersistentPlacement(draft, options);
    },
  }),
};
