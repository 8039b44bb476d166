/** For tests of the admission of new pods: the chain with every step, of which a test says what each has to work with. */
import { launchPriorityController } from "../../controller/kinds/container_launch_priority/index.ts";
import { addLaunchBarrier } from "../../controller/kinds/container_launch_priority/pod_step.ts";
import { persistentPodStateKind } from "../../controller/kinds/persistent_pod_state/index.ts";
import {
  addPersistentPlacement,
  type StateSource,
} from "../../controller/kinds/persistent_pod_state/pod_step.ts";
import { podProbeMarkerKind } from "../../controller/kinds/pod_probe_marker/index.ts";
import {
  addServerlessProbes,
  type ServerlessOptions,
} from "../../controller/kinds/pod_probe_marker/pod_step.ts";
import { podUnavailableBudgetKind } from "../../controller/kinds/pod_unavailable_budget/index.ts";
import {
  addRelatedBudget,
  type RelatedBudgetOptions,
} from "../../controller/kinds/pod_unavailable_budget/pod_step.ts";
import { sidecarSetKind } from "../../controller/kinds/sidecar_set/index.ts";
import { addSidecars, type SidecarSetOptions } from "../../controller/kinds/sidecar_set/pod_step.ts";
import { workloadSpreadKind } from "../../controller/kinds/workload_spread/index.ts";
import type { PodPlacement } from "../../controller/kinds/workload_spread/pod_placement.ts";
import { addSpread } from "../../controller/kinds/workload_spread/pod_step.ts";
import { type ChainStep, mutatePod } from "../../controller/pod_webhook/chain.ts";
import { ownSteps } from "../../controller/pod_webhook/own_steps.ts";
import type { PodMutation } from "../../controller/runtime/admission/pod_admission.ts";
import type { AdmissionHandler } from "../../controller/runtime/admission/request.ts";
import { parseFeatureGates } from "../../controller/runtime/feature_gates.ts";
import type { Controller } from "../../controller/runtime/kind.ts";
import { type Clock, type Random, seededRandom } from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";

export interface PodChainOptions {
  gates?: string;
  keepManagedFields?: boolean;
  random?: Random;
  clock?: Clock;
  sidecarSets?: SidecarSetOptions;
  placement?: StateSource;
  serverless?: ServerlessOptions;
  budgets?: RelatedBudgetOptions;
  spreads?: Pick<PodPlacement, "place">;
  stepTook?(step: string, tookMs: number): void;
}

export function podChain(options: PodChainOptions = {}): AdmissionHandler {
  const { keepManagedFields = false, random = seededRandom(1), clock = testClock() } = options;
  const { sidecarSets, placement, serverless, budgets, spreads, stepTook = () => undefined } = options;
  const steps: readonly ChainStep[] = [
    ...ownSteps({ gates: parseFeatureGates(options.gates ?? ""), keepManagedFields }),
    ...stepOf(podProbeMarkerKind, serverless && ((draft) => addServerlessProbes(draft, serverless))),
    ...stepOf(persistentPodStateKind, placement && ((draft) => addPersistentPlacement(draft, placement))),
    ...stepOf(podUnavailableBudgetKind, budgets && ((draft) => addRelatedBudget(draft, budgets))),
    ...stepOf(launchPriorityController, (draft) => addLaunchBarrier(draft, { random })),
    ...stepOf(
      sidecarSetKind,
      sidecarSets && ((draft) => addSidecars(draft, sidecarSets, { random, now: clock.now() })),
    ),
    ...stepOf(workloadSpreadKind, spreads && ((draft) => addSpread(draft, spreads))),
  ];
  return mutatePod(steps, { clock, stepTook });
}

function stepOf(
  { podAdmission }: Pick<Controller, "podAdmission">,
  mutation: PodMutation | undefined,
): ChainStep[] {
  return podAdmission?.step === undefined ? [] : [{ ...podAdmission.step, mutation }];
}
