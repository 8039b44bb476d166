/** Carries out the effects of a kind: those about the object of the plan, and all others. No policy lives here. */

import { KubeError } from "../../../kube/index.ts";
import type { KindEffect, SpendBudgetEffect, WriteOutcome } from "../../plan/effects.ts";
import { eventTarget } from "../../plan/event_target.ts";
import type { KindDeps } from "../kind.ts";
import type { Reconciler, StatusObject } from "../reconciler.ts";
import { Executor, type PlanSubject } from "./executor.ts";
import { isAboutObject, OwnObject, type Written } from "./own_object.ts";

type Settings<T> = Pick<Reconciler<T>, "writes" | "editEnded" | "flow" | "renewed">;

export interface WriteTerms {
  /** What the writes have a share of the client's window for that is not that of the object's other writes. */
  readonly share?: "creations" | undefined;
  /** As in PlanSubject. */
  readonly isWanted?: (() => boolean) | undefined;
}

export class KindExecutor<T extends StatusObject> extends Executor {
  readonly #deps: KindDeps<T>;
  readonly #flow: string | undefined;
  readonly #own: OwnObject<T>;

  constructor(deps: KindDeps<T>, reconciler: Settings<T>) {
    super(deps, reconciler);
    this.#deps = deps;
    this.#flow = reconciler.flow;
    this.#own = new OwnObject(deps, reconciler);
  }

  /** Rejects with the failure that ends the pass. `outcomes` gets every write that has an `id`. */
  async executeFor(
    key: string,
    object: T | undefined,
    effect: KindEffect | SpendBudgetEffect,
    outcomes: Map<string, WriteOutcome>,
    { share, isWanted }: WriteTerms = {},
  ): Promise<Written<T>> {
    const uid = object?.metadata.uid ?? "";
    const about = object && eventTarget(this.#deps.resource, object.metadata);
    const flow = this.#flow ?? uid;
    const subject = { key, uid, about, flow: share === undefined ? flow : `${flow} ${share}`, isWanted };
    if (isAboutObject(effect))
      return this.reported(subject, effect, () => this.#own.write(key, object, effect));
    await this.execute(subject, effect, outcomes);
    return { object };
  }

  protected override async confirm({ key, uid }: PlanSubject): Promise<void> {
    if (!(await this.#own.exists(key, uid, { priority: "high" })))
      throw new KubeError("NotFound", `${key} is being deleted, or is another one by now`);
  }
}
