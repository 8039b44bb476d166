/** Steps of the admission of a new pod that belong to no kind. Spec: pod-webhook 4.1, 4.7. */
import type { ControllerOptions } from "../runtime/options.ts";
import type { ChainStep } from "./chain.ts";
import { moveLivenessProbes } from "./enhanced_liveness.ts";
import { endFieldTracking } from "./field_managers.ts";
import { addReadinessGate } from "./readiness_gate.ts";

export function ownSteps({
  gates,
  keepManagedFields,
}: Pick<ControllerOptions, "gates" | "keepManagedFields">): ChainStep[] {
  const everyPod = gates.KruisePodReadinessGate;
  return [
    {
      place: "readiness gate",
      name: "readiness gate",
      mutation: (draft) => addReadinessGate(draft, { everyPod }),
    },
    {
      place: "field managers",
      name: "field managers",
      mutation: (draft) => endFieldTracking(draft, { keep: keepManagedFields }),
    },
    {
      place: "liveness probes",
      name: "enhanced liveness probe",
      mutation: gates.EnhancedLivenessProbe ? moveLivenessProbes : undefined,
    },
  ];
}
