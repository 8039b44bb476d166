/** What happens to a pod at its creation, in order. Spec: pod-webhook 2, 3. */
import { createJsonPatch } from "../../kube/core/index.ts";
import { type Clock, messageOf } from "../../kube/index.ts";
import { type PodMutation, type PodStep, podStepPlaces } from "../runtime/admission/pod_admission.ts";
import { PodDraft } from "../runtime/admission/pod_draft.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../runtime/admission/request.ts";

export interface ChainStep extends PodStep {
  /** Undefined: the gates leave it nothing to do. */
  readonly mutation: PodMutation | undefined;
}

export interface ChainOptions {
  clock: Clock;
  /** What a step took, waiting included. */
  stepTook(step: string, tookMs: number): void;
}

/** The handler of `/mutate-pod`: each step in its place. */
export function mutatePod(steps: readonly ChainStep[], options: ChainOptions): AdmissionHandler {
  const ordered = inOrder(steps);
  return (request) => {
    if (request.resource !== "pods" || request.subresource !== "") return allowed;
    if (request.object === undefined) return denied(400, "there is no content to decode");
    return admit(new PodDraft(request, request.object), ordered, options);
  };
}

export function inOrder<Step extends PodStep>(steps: readonly Step[]): Step[] {
  return podStepPlaces.flatMap((place) => steps.filter((step) => step.place === place));
}

/** Waits only where a step does. */
function admit(
  draft: PodDraft,
  steps: readonly ChainStep[],
  options: ChainOptions,
  from = 0,
): AdmissionResponse | Promise<AdmissionResponse> {
  const { clock, stepTook } = options;
  for (const [index, { name, mutation }] of steps.entries()) {
    if (index < from) continue;
    const started = clock.monotonic();
    try {
      const pending = mutation?.(draft);
      if (pending !== undefined) {
        return pending.then(
          () => {
            stepTook(name, clock.monotonic() - started);
            return admit(draft, steps, options, index + 1);
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
  return denied(500, `${messageOf(error)} (${step})`);
}
