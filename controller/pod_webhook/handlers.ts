/** What answers about pods: the chain of steps and the guards, as controllers contribute them. */
import {
  type PodAdmission,
  type PodAdmissionDeps,
  type PodHandlers,
  podGuardPlaces,
  type StartedPodAdmission,
} from "../runtime/admission/pod_admission.ts";
import { type AdmissionHandler, allowed } from "../runtime/admission/request.ts";
import { type ChainOptions, type ChainStep, mutatePod } from "./chain.ts";
import { ownSteps } from "./own_steps.ts";

type Started = Pick<PodAdmission, "step" | "guard"> & { readonly at: StartedPodAdmission };

/** To be called before the watches begin. */
export function podHandlers(
  admissions: readonly PodAdmission[],
  deps: PodAdmissionDeps & Pick<ChainOptions, "stepTook">,
): PodHandlers {
  const started: readonly Started[] = admissions.map((admission) => ({
    step: admission.step,
    guard: admission.guard,
    at: admission.start(deps),
  }));
  const { options } = deps;
  return {
    mutate: options.gates.PodWebhook
      ? mutatePod([...ownSteps(options), ...started.flatMap(stepsOf)], deps)
      : undefined,
    guard: askedInTurn(started),
  };
}

function stepsOf({ step, at }: Started): ChainStep[] {
  return step === undefined ? [] : [{ ...step, mutation: at.mutation?.() }];
}

/** The handler of `/validate-pod`. */
function askedInTurn(started: readonly Started[]): AdmissionHandler | undefined {
  const guards = podGuardPlaces.flatMap((place) =>
    started.filter(({ guard }) => guard?.place === place).flatMap(({ at }) => at.guard ?? []),
  );
  if (guards.length === 0) return undefined;
  return async (request) => {
    for (const guard of guards) {
      const answer = await guard(request);
      if (!answer.allowed) return answer;
    }
    return allowed;
  };
}
