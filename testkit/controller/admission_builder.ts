/** For tests of admission. */

import { PreparedSidecars } from "../../controller/kinds/sidecar_set/injection/sidecars.ts";
import type { PodAdmissionOptions } from "../../controller/pod_webhook/chain.ts";
import type { AdmissionRequest } from "../../controller/runtime/admission/request.ts";
import { seededRandom } from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";
import { frozen } from "./frozen_builder.ts";

/** What the API server asks: about a creation, an update if there is an old object, a deletion if there is only that. */
export function admissionRequest(given: Partial<AdmissionRequest>): AdmissionRequest {
  const { object, oldObject } = given;
  const { apiVersion = "v1", kind = "Pod", metadata } = Object(object ?? oldObject);
  const [version, group = ""] = String(apiVersion).split("/").reverse();
  return {
    uid: "u",
    operation: object === undefined ? "DELETE" : oldObject === undefined ? "CREATE" : "UPDATE",
    group,
    version: version ?? "",
    resource: `${String(kind).toLowerCase()}s`,
    subresource: "",
    namespace: "default",
    name: metadata?.name ?? "",
    userName: "someone",
    dryRun: false,
    ...given,
    // No handler may change what it is asked about.
    object: frozen(object),
    oldObject: frozen(oldObject),
  };
}

/** For the admission of pods where nothing is to be done to any. */
export function podAdmissionOptions(given: Partial<PodAdmissionOptions> = {}): PodAdmissionOptions {
  return {
    readinessGateOnEveryPod: false,
    keepManagedFields: false,
    enhancedLiveness: false,
    random: seededRandom(1),
    clock: testClock(),
    sidecarSets: {
      setsFor: async () => [],
      revisions: { named: () => undefined, ofSet: () => [] },
      prepared: new PreparedSidecars(),
      sortByName: false,
      refused: () => undefined,
    },
    placement: { stateOf: async () => undefined, isRecorded: () => false },
    stepTook: () => undefined,
    ...given,
  };
}
