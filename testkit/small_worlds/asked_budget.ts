/**
 * The guard of budgets, call by call: how far it comes with what it has heard so far. It is asked again from the start each
 * time, because a function that waits cannot be copied; the same answers lead it to the same call.
 */
import { BudgetGuard } from "../../controller/kinds/pod_unavailable_budget/guard.ts";
import { writersOf } from "../../controller/plan/owners.ts";
import type { PodOperation } from "../../controller/pod_webhook/pod_operation.ts";
import { controllerOptions } from "../../controller/runtime/options.ts";
import type { PodUnavailableBudget } from "../../crds/index.ts";
import { KubeError, type Patch, type Pod, type Resource } from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";

export interface Question {
  readonly pod: Pod;
  readonly operation: PodOperation;
  readonly isDryRun: boolean;
  /** By the clock of the replica that is asked. */
  readonly now: number;
}

/** What the guard waits for, or what it has decided. */
export type Step =
  | { readonly is: "reading" | "sleeping" }
  | { readonly is: "writing"; readonly patch: object }
  | { readonly is: "decided"; readonly isAllowed: boolean };

/** The budget that it has read or written; the write was refused; it has slept. */
export type Reply = PodUnavailableBudget | "conflict" | "slept";

export function stepOf(question: Question, replies: readonly Reply[]): Promise<Step> {
  const { pod, operation, isDryRun, now } = question;
  return new Promise((resolve, reject) => {
    const left = [...replies];
    const replyTo = (step: Step): Promise<Reply> => {
      const reply = left.shift();
      if (reply !== undefined) return Promise.resolve(reply);
      resolve(step);
      return new Promise(() => undefined);
    };
    const budgetOf = async <T>({ codec }: Resource<T>, step: Step): Promise<T> => {
      const reply = await replyTo(step);
      if (reply === "conflict") throw new KubeError("Conflict", "the budget is another one", { status: 409 });
      return codec.decode(Buffer.from(JSON.stringify(reply)), "application/json");
    };
    const client = {
      ...fakeServer().client,
      get: <T>(resource: Resource<T>) => budgetOf(resource, { is: "reading" }),
      patch: <T>(resource: Resource<T>, _: unknown, { body }: Patch) =>
        budgetOf(resource, { is: "writing", patch: body }),
    };
    const sleep = async () => void (await replyTo({ is: "sleeping" }));
    const guard = new BudgetGuard({
      client,
      writesFor: writersOf(client),
      clock: { ...testClock(now), sleep },
      random: () => 0,
      options: controllerOptions(),
      recorderOf: () => ({ event: () => undefined }),
      refused: () => undefined,
    });
    guard
      .ask(pod, operation, "somebody", isDryRun)
      .then(({ allowed }) => resolve({ is: "decided", isAllowed: allowed }), reject);
  });
}
