/** What PodProbeMarkers have to do with the admission of pods: probes of a new one whose node may have no agent. */
import { podProbeMarkerResource } from "../../plan/resources.ts";
import type { PodAdmission } from "../../runtime/admission/pod_admission.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import { addServerlessProbes, type ServerlessOptions } from "./pod_step.ts";

export const podProbeMarkerPodAdmission: PodAdmission = {
  step: { place: "further probes", name: "pod probe marker" },
  start: ({ informers, options: { gates } }) => ({
    mutation: () => {
      if (!gates.EnablePodProbeMarkerOnServerless) return undefined;
      const markers = informers.cacheOf(podProbeMarkerResource, namespaceIndex);
      const options: ServerlessOptions = {
        markersIn: (namespace) => informers.caughtUp().then(() => markers.byIndex("namespace", namespace)),
      };
      return (draft) => addServerlessProbes(draft, options);
    },
  }),
};
