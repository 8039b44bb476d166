/** AdvancedCronJobs: children from the caches, deletions before the creation, in the background. */
import type { AdvancedCronJob } from "../../../crds/index.ts";
import type { ConfirmEffect, KindEffect, WriteEffect, WritesEffect } from "../../plan/effects.ts";
import type { Writables } from "../../runtime/executor/executor.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import { scheduledSinceAnnotation } from "./memory.ts";
import { CronJobChildren, childResources, observeAdvancedCronJob } from "./observe.ts";
import { type CronJobPlan, planAdvancedCronJob } from "./plan.ts";

function annotationOf({ scheduledSince }: CronJobPlan): KindEffect[] {
  if (scheduledSince === undefined) return [];
  const annotations = { [scheduledSinceAnnotation]: scheduledSince };
  return [{ type: "patch object", body: { metadata: { annotations } } }];
}

/** What a pass comes to, but for its events. */
export function cronJobResult(job: AdvancedCronJob, plan: CronJobPlan): Result {
  const { status, requeueAfterMs } = plan;
  const effects = [...annotationOf(plan), ...writesOf(job, plan)];
  // The status remembers the last run: one that comes late would have later ones run again.
  return { status, exactStatus: true, effects, settled: true, requeueAfterMs };
}

export class AdvancedCronJobReconciler implements Reconciler<AdvancedCronJob> {
  readonly writes: Writables;
  readonly #deps: KindDeps<AdvancedCronJob>;
  readonly #children: CronJobChildren;
  /** By UID, the generation of which it was told that nothing is run. */
  readonly #givenUp = new Map<string, number>();

  constructor(deps: KindDeps<AdvancedCronJob>) {
    this.#deps = deps;
    this.#children = new CronJobChildren(deps);
    this.writes = this.#children.writes;
  }

  forget(_key: string, uid: string): void {
    this.#givenUp.delete(uid);
  }

  reconcile(job: AdvancedCronJob): Result {
    const { uid = "", generation = 0 } = job.metadata;
    const plan = planAdvancedCronJob(observeAdvancedCronJob(job, this.#children, this.#deps.clock.now()));
    const { effects = [], ...result } = cronJobResult(job, plan);
    return { ...result, effects: [...this.#eventsOf(uid, generation, plan), ...effects] };
  }

  /** Once a generation. */
  #eventsOf(uid: string, generation: number, { waiting }: CronJobPlan): KindEffect[] {
    const reason = "TooManyMissedTimes";
    const given = waiting.find((entry) => entry.reason === reason);
    if (given === undefined) this.#givenUp.delete(uid);
    if (given === undefined || this.#givenUp.get(uid) === generation) return [];
    this.#givenUp.set(uid, generation);
    const message = `${given.message}. Set or decrease .spec.startingDeadlineSeconds or check clock skew`;
    return [{ type: "event", event: { type: "Warning", reason, message } }];
  }
}

/** In the background: cron jobs that come due together wait for the server, not for each other. Deletions come first. */
function writesOf({ metadata }: AdvancedCronJob, { creation, deletions }: CronJobPlan): KindEffect[] {
  if (creation === undefined && deletions.length === 0) return [];
  const { namespace, generation = 0 } = metadata;
  const priority = "high";
  const removals = deletions.map(({ kind, name, uid }): WriteEffect => {
    return { type: "delete", resource: childResources[kind], namespace, name, uid, cascade: true, priority };
  });
  const effects: (WriteEffect | WritesEffect | ConfirmEffect)[] = [
    { type: "writes", pace: "at once", writes: removals },
  ];
  if (creation !== undefined) {
    const { kind, name, body } = creation;
    effects.push(
      { type: "confirm object" },
      {
        type: "create",
        resource: childResources[kind],
        namespace,
        name,
        body,
        existing: "own",
        priority,
      },
    );
  }
  // Another run, or a changed object, is tried at once.
  return [{ type: "background", attempt: `${generation} ${creation?.name ?? ""}`, effects }];
}
