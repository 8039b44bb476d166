/** What happens to a pod at its creation, in order. Spec: pod-webhook 2, 3. */
import { diffPositional } from "../../kube/core/index.ts";
import type { Random } from "../../kube/index.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../admission/request.ts";
import { PodDraft } from "./draft.ts";
import { moveLivenessProbes } from "./enhanced_liveness.ts";
import { endFieldTracking } from "./field_managers.ts";
import { addLaunchBarrier } from "./launch_priority.ts";
import { addPersistentPlacement, type PlacementOptions } from "./persistent_placement.ts";
import { addReadinessGate } from "./readiness_gate.ts";
import { addRelatedBudget, type RelatedBudgetOptions } from "./related_budget.ts";
import { addServerlessProbes, type ServerlessOptions } from "./serverless_probes.ts";

export interface PodAdmissionOptions {
  /** Gate KruisePodReadinessGate: the gate on all pods, not only on those of this API's workloads. */
  readinessGateOnEveryPod: boolean;
  random: Random;
  placement: PlacementOptions;
  /** Leaves `metadata.managedFields` of the workloads' pods alone. */
  keepManagedFields: boolean;
  /** Gate EnhancedLivenessProbe. */
  enhancedLiveness: boolean;
  /** With gate EnablePodProbeMarkerOnServerless. */
  serverless?: ServerlessOptions;
  /** Absent when no gate of PodUnavailableBudget is on. */
  budgets?: RelatedBudgetOptions;
}

/** A step sees what earlier ones wrote. It throws to refuse the pod. */
type PodStep = (draft: PodDraft, options: PodAdmissionOptions) => void | Promise<void>;

const steps: readonly (readonly [name: string, step: PodStep])[] = [
  [
    "readiness gate",
    (draft, options) => addReadinessGate(draft, { everyPod: options.readinessGateOnEveryPod }),
  ],
  ["field managers", (draft, options) => endFieldTracking(draft, { keep: options.keepManagedFields })],
  // After whatever adds containers, so that they are numbered, too.
  ["container launch priority", addLaunchBarrier],
  [
    "pod unavailable budget",
    (draft, { budgets }) => (budgets === undefined ? undefined : addRelatedBudget(draft, budgets)),
  ],
  ["persistent pod state", (draft, options) => addPersistentPlacement(draft, options.placement)],
  // After whatever adds containers, so that theirs are moved, too.
  [
    "enhanced liveness probe",
    (draft, options) => moveLivenessProbes(draft, { enabled: options.enhancedLiveness }),
  ],
  ["pod probe marker", (draft, options) => addServerlessProbes(draft, options.serverless)],
];

/** The handler of `/mutate-pod`. */
export function mutatePod(options: PodAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.resource !== "pods" || request.subresource !== "") return allowed;
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const draft = new PodDraft(request, request.object);
    for (const [index, [name, step]] of steps.entries()) {
      try {
        const pending = step(draft, options);
        if (pending !== undefined) return finish(draft, options, index, pending);
      } catch (error) {
        return refusal(name, error);
      }
    }
    return outcome(draft);
  };
}

/** The rest of the chain from a step on that has to wait for something. */
async function finish(
  draft: PodDraft,
  options: PodAdmissionOptions,
  from: number,
  pending: Promise<void>,
): Promise<AdmissionResponse> {
  for (const [index, [name, step]] of steps.entries()) {
    if (index < from) continue;
    try {
      await (index === from ? pending : step(draft, options));
    } catch (error) {
      return refusal(name, error);
    }
  }
  return outcome(draft);
}

function outcome(draft: PodDraft): AdmissionResponse {
  return draft.changed ? patched(diffPositional(draft.original, draft.pod)) : allowed;
}

/** The API's own words begin the message, as clients look for them there. */
function refusal(step: string, error: unknown): AdmissionResponse {
  return denied(500, `${error instanceof Error ? error.message : String(error)} (${step})`);
}
