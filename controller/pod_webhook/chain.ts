/** What happens to a pod at its creation, in order. Spec: pod-webhook 2, 3. */
import { createJsonPatch } from "../../kube/core/index.ts";
import type { Clock, Random } from "../../kube/index.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../runtime/admission/request.ts";
import { PodDraft } from "./draft.ts";
import { moveLivenessProbes } from "./enhanced_liveness.ts";
import { endFieldTracking } from "./field_managers.ts";
import { addLaunchBarrier } from "./launch_priority.ts";
import { addPersistentPlacement, type PlacementOptions } from "./persistent_placement.ts";
import { addReadinessGate } from "./readiness_gate.ts";
import { addRelatedBudget, type RelatedBudgetOptions } from "./related_budget.ts";
import { addServerlessProbes, type ServerlessOptions } from "./serverless_probes.ts";
import { addSidecars, type SidecarSetOptions } from "./sidecar_sets.ts";
import { addSpread, type SpreadOptions } from "./workload_spread.ts";

export interface PodAdmissionOptions {
  /** Gate KruisePodReadinessGate: the gate on all pods, not only on those of this API's workloads. */
  readinessGateOnEveryPod: boolean;
  random: Random;
  clock: Clock;
  sidecarSets: SidecarSetOptions;
  placement: PlacementOptions;
  /** Leaves `metadata.managedFields` of the workloads' pods alone. */
  keepManagedFields: boolean;
  /** Gate EnhancedLivenessProbe. */
  enhancedLiveness: boolean;
  /** With gate EnablePodProbeMarkerOnServerless. */
  serverless?: ServerlessOptions;
  /** Absent when no gate of PodUnavailableBudget is on. */
  budgets?: RelatedBudgetOptions;
  /** What a step took, waiting included. */
  stepTook(step: string, tookMs: number): void;
  /** With gate WorkloadSpread. */
  spreads?: SpreadOptions | undefined;
}

/** A step sees what earlier ones wrote. It throws to refuse the pod. */
type PodStep = (draft: PodDraft, options: PodAdmissionOptions) => void | Promise<void>;

const steps: readonly (readonly [name: string, step: PodStep])[] = [
  [
    "readiness gate",
    (draft, options) => addReadinessGate(draft, { everyPod: options.readinessGateOnEveryPod }),
  ],
  // Before whatever selects pods by labels: a subset may add some.
  ["workload spread", (draft, { spreads }) => addSpread(draft, spreads)],
  ["field managers", (draft, options) => endFieldTracking(draft, { keep: options.keepManagedFields })],
  [
    "sidecar sets",
    (draft, { sidecarSets, random, clock }) => addSidecars(draft, sidecarSets, { random, now: clock.now() }),
  ],
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
    return admit(new PodDraft(request, request.object), options);
  };
}

/** Waits only where a step does. */
function admit(
  draft: PodDraft,
  options: PodAdmissionOptions,
  from = 0,
): AdmissionResponse | Promise<AdmissionResponse> {
  const { clock, stepTook } = options;
  for (const [index, [name, step]] of steps.entries()) {
    if (index < from) continue;
    const started = clock.monotonic();
    try {
      const pending = step(draft, options);
      if (pending !== undefined) {
        return pending.then(
          () => {
            stepTook(name, clock.monotonic() - started);
            return admit(draft, options, index + 1);
          },
          (error: unknown) => refusal(name, error),
        );
      }
    } catch (error) {
      return refusal(name, error);
    }
    stepTook(name, clock.monotonic() - started);
  }
  return outcome(draft);
}

function outcome(draft: PodDraft): AdmissionResponse {
  return draft.changed ? patched(createJsonPatch(draft.original, draft.pod)) : allowed;
}

/** The API's own words begin the message, as clients look for them there. */
function refusal(step: string, error: unknown): AdmissionResponse {
  return denied(500, `${error instanceof Error ? error.message : String(error)} (${step})`);
}
