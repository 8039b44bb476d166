/** What admission of pods has of budgets, by the gates: the tie of new pods, and the guard. */
import {
  type Clock,
  type EventRecorder,
  ignoreNotFound,
  type Random,
  type ReadingClient,
  type Writer,
} from "../../../kube/index.ts";
import { replicaSetResource } from "../../native/workload.ts";
import type { OwnerScope } from "../../plan/owners.ts";
import { podUnavailableBudgetResource } from "../../plan/resources.ts";
import type { PodAdmissionOptions } from "../../pod_webhook/chain.ts";
import type { Refusal } from "../../runtime/admission/refusals.ts";
import type { AdmissionHandler } from "../../runtime/admission/request.ts";
import { type Informers, namespaceIndex } from "../../runtime/informers.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import { budgetsAreOn } from "./gates.ts";
import { BudgetGuard, type BudgetGuardOptions, guardPods } from "./guard.ts";

export interface PodBudgets {
  chain: Pick<PodAdmissionOptions, "budgets">;
  /** Absent when no gate is on. */
  guard?: AdmissionHandler;
}

interface PodBudgetDeps {
  client: ReadingClient;
  writesFor(owner: OwnerScope): Writer;
  clock: Clock;
  random: Random;
  recorder: EventRecorder;
  options: ControllerOptions;
  /** Counts and audits a refusal. Must not throw. */
  refused(refusal: Refusal): void;
}

export function podBudgets(
  deps: PodBudgetDeps,
  informers: Informers & { caughtUp(): Promise<void> },
): PodBudgets {
  const { client, writesFor, clock, random, recorder, options, refused } = deps;
  const { gates } = options;
  if (!budgetsAreOn(gates)) return { chain: {} };
  const byNamespace = informers.cacheOf(podUnavailableBudgetResource, namespaceIndex);
  const guardOptions: BudgetGuardOptions = {
    client,
    writesFor,
    clock,
    random,
    recorder,
    refused,
    deletions: gates.PodUnavailableBudgetDeleteGate,
    updates: gates.PodUnavailableBudgetUpdateGate,
    resizeApart: gates.InPlacePodVerticalScaling,
  };
  const guard = guardPods(new BudgetGuard(guardOptions), guardOptions);
  return {
    chain: {
      budgets: {
        async budgetsOf(namespace) {
          await informers.caughtUp();
          const found = [...byNamespace.byIndex("namespace", namespace)];
          return found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        },
        async controllerOfReplicaSet(namespace, name) {
          const found = await client.get(replicaSetResource, { namespace, name }).catch(ignoreNotFound);
          return found?.controller;
        },
      },
    },
    guard,
  };
}
