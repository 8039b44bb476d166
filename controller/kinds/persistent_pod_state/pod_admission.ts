/** What PersistentPodStates have to do with the admission of pods: a new one goes back to where its namesake was. */
import { persistentPodStateResource } from "../../plan/resources.ts";
import type { PodAdmission } from "../../runtime/admission/pod_admission.ts";
import { addPersistentPlacement } from "./pod_step.ts";
import { stateOf, targetIndex } from "./targets.ts";

export const persistentPodStatePodAdmission: PodAdmission = {
  step: { place: "recorded nodes", name: "persistent pod state" },
  start: ({ informers }) => ({
    mutation: () => {
      const states = informers.cacheOf(persistentPodStateResource, targetIndex);
      return (draft) =>
        addPersistentPlacement(draft, (...target) =>
          informers.caughtUp().then(() => stateOf(states, ...target)),
        );
    },
  }),
};
