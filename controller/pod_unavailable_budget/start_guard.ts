/** What admission of pods has of budgets, by the gates: the tie of new pods, and the guard. */
import {
  type Client,
  type Clock,
  createEvents,
  ignoreNotFound,
  type Log,
  nullMetrics,
  type Random,
} from "../../kube/index.ts";
import type { Refusal } from "../admission/refusals.ts";
import type { AdmissionHandler } from "../admission/request.ts";
import type { Informers } from "../informers.ts";
import type { ControllerOptions } from "../options.ts";
import type { PodAdmissionOptions } from "../pod_admission/chain.ts";
import { budgetsAreOn } from "./gates.ts";
import { BudgetGuard, type BudgetGuardOptions, guardPods } from "./guard.ts";
import { replicaSetResource } from "./native_workload.ts";
import { podUnavailableBudgetResource } from "./resource.ts";

export interface PodBudgets {
  chain: Pick<PodAdmissionOptions, "budgets">;
  /** Absent when no gate is on. */
  guard?: AdmissionHandler;
  stop(): Promise<void>;
}

interface PodBudgetDeps {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  options: ControllerOptions;
  /** Counts and audits a refusal. Must not throw. */
  refused(refusal: Refusal): void;
}

export function podBudgets(
  deps: PodBudgetDeps,
  informers: Informers & { synced(): Promise<void> },
): PodBudgets {
  const { client, clock, random, log, options, refused } = deps;
  const { gates } = options;
  if (!budgetsAreOn(gates)) return { chain: {}, stop: async () => undefined };
  const byNamespace = informers.cacheOf(podUnavailableBudgetResource, {
    namespace: ({ metadata }) => [metadata.namespace ?? ""],
  });
  const events = createEvents({ client, clock, random, log, metrics: nullMetrics });
  const guardOptions: BudgetGuardOptions = {
    client,
    clock,
    random,
    recorder: events.from("pub-controller"),
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
          await informers.synced();
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
    stop: () => events.stop(),
  };
}
