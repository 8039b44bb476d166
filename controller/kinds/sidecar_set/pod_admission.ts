/** What SidecarSets have to do with the admission of pods: containers of a new one. */
import type { EventRecorder } from "../../../kube/index.ts";
import { eventTarget } from "../../plan/event_target.ts";
import { sidecarSetResource } from "../../plan/resources.ts";
import type { PodAdmission } from "../../runtime/admission/pod_admission.ts";
import { injectionSource } from "./injection/source.ts";
import { addSidecars, type SidecarSetOptions } from "./pod_step.ts";

export const sidecarSetPodAdmission: PodAdmission = {
  step: { place: "sidecars", name: "sidecar sets" },
  start: ({ client, informers, options, recorderOf, random, clock }) => ({
    mutation: () => {
      const { gates, systemNamespace } = options;
      const sets: SidecarSetOptions = {
        ...injectionSource({ client, informers, systemNamespace }),
        sortByName: gates.EnableSortSidecarContainerByName,
        refused: reportingRefusals(recorderOf("sidecarset-controller")),
      };
      return (draft) => addSidecars(draft, sets, { random, now: clock.now() });
    },
  }),
};

/** Who owns the set need not be who creates pods: its events say what its pods are refused for. */
function reportingRefusals(recorder: EventRecorder): SidecarSetOptions["refused"] {
  return ({ metadata }, { namespace, reason }) => {
    const message = `a new pod in namespace ${namespace} was refused: ${reason}`;
    recorder.event(eventTarget(sidecarSetResource, metadata), "Warning", "FailedInjection", message);
  };
}
