/** Asks the budget of a pod before an operation, and spends from it. Spec: protection A4, rules 11 to 19. */
import type { PodUnavailableBudget } from "../../../crds/index.ts";
import { type EventRecorder, isKubeError, messageOf, type Pod } from "../../../kube/index.ts";
import { podUnavailableBudgetResource } from "../../plan/resources.ts";
import { isDryRun, operationOf, type PodOperation, podOf } from "../../pod_webhook/pod_operation.ts";
import type { PodGuardDeps } from "../../runtime/admission/pod_admission.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
} from "../../runtime/admission/request.ts";
import { isAvailableToBudget, isUnprotected, relatedBudget } from "./pod_facts.ts";
import { spend } from "./spend.ts";

const ATTEMPTS = 4;
const RETRY_MS = 500;

export type Decision = { allowed: true } | { allowed: false; message: string };

export class BudgetGuard {
  readonly #deps: PodGuardDeps;
  readonly #recorder: EventRecorder;
  /** The last attempt for each budget, by UID: attempts of one process do not race each other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(deps: PodGuardDeps) {
    this.#deps = deps;
    this.#recorder = deps.recorderOf("pub-controller");
  }

  /** Whether the operation may go on; spends one unit unless `dryRun`. Throws KubeError. */
  async ask(pod: Pod, operation: PodOperation, userName: string, dryRun: boolean): Promise<Decision> {
    const name = relatedBudget(pod.annotations);
    if (name === undefined || isUnprotected(pod.annotations) || !isAvailableToBudget(pod))
      return { allowed: true };
    const key = `${pod.namespace}/${name}`;
    const turn = (this.#turns.get(key) ?? Promise.resolve()).then(
      () => this.#attempts(name, pod, operation, dryRun),
      () => this.#attempts(name, pod, operation, dryRun),
    );
    this.#turns.set(key, turn);
    try {
      const decision = await turn;
      if (!decision.allowed) this.#report(pod, userName);
      return decision;
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    }
  }

  async #attempts(name: string, pod: Pod, operation: PodOperation, dryRun: boolean): Promise<Decision> {
    const { clock, random, options } = this.#deps;
    const resizeApart = options.gates.InPlacePodVerticalScaling;
    for (let attempt = 1; ; attempt++) {
      const budget = await this.#current(pod.namespace, name);
      if (budget === undefined) return { allowed: true };
      const spending = spend(budget, pod, operation, clock.now(), { resizeApart });
      if (!spending.allowed) return spending;
      if (spending.status === undefined || dryRun) return { allowed: true };
      try {
        await this.#write(budget, spending.status);
        return { allowed: true };
      } catch (error) {
        if (isKubeError(error, "NotFound")) return { allowed: true };
        if (!isKubeError(error, "Conflict")) throw error;
        if (attempt === ATTEMPTS) return { allowed: false, message: error.message };
        await clock.sleep(RETRY_MS * (1 + 0.1 * random()));
      }
    }
  }

  /** Undefined when there is none, or it is on its way out: nobody counts for it any more. One that was never looked at, or not since it changed, is waited for a moment. */
  async #current(namespace: string, name: string): Promise<PodUnavailableBudget | undefined> {
    const { client, clock } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      try {
        const budget = await client.get(podUnavailableBudgetResource, { namespace, name });
        if (budget.metadata.deletionTimestamp !== undefined) return undefined;
        const seen = budget.status?.observedGeneration ?? 0;
        if (seen >= (budget.metadata.generation ?? 0) || attempt === ATTEMPTS) return budget;
      } catch (error) {
        if (isKubeError(error, "NotFound")) return undefined;
        throw error;
      }
      await clock.sleep(RETRY_MS);
    }
  }

  async #write({ metadata }: PodUnavailableBudget, status: object): Promise<void> {
    const { namespace = "", name = "", uid, resourceVersion } = metadata;
    const patch = { type: "merge", body: { metadata: { uid, resourceVersion }, status } } as const;
    const options = { subresource: "status" };
    const writer = this.#deps.writesFor({ namespace });
    await writer.patch(podUnavailableBudgetResource, { namespace, name }, patch, options);
  }

  #report(pod: Pod, userName: string): void {
    const { namespace, name, uid, resourceVersion, controller } = pod;
    const target = { apiVersion: "v1", kind: "Pod", namespace, name, uid, resourceVersion };
    this.#recorder.event(target, "Warning", "PubPreventPodDeletion", "openkruise pub prevents pod deletion");
    const counted = { kind: controller?.kind ?? "unknown", name: controller?.name ?? name };
    this.#deps.refused({ event: "PodUnavailableBudget", kind: "Pod", namespace, name, userName, counted });
  }
}

/** The handler of `/validate-pod`. */
export function guardPods(deps: PodGuardDeps): AdmissionHandler {
  const guard = new BudgetGuard(deps);
  const { gates } = deps.options;
  return async (request) => {
    const operation = operationOf(request);
    if (operation === undefined) return allowed;
    const isDeletion = operation === "DELETE" || operation === "EVICT";
    if (!gates[isDeletion ? "PodUnavailableBudgetDeleteGate" : "PodUnavailableBudgetUpdateGate"])
      return allowed;
    let decision: Decision;
    try {
      const pod = await podOf(request, operation, deps.client);
      decision = await guard.ask(pod, operation, request.userName, isDryRun(request));
    } catch (error) {
      return denied(400, messageOf(error));
    }
    return decision.allowed ? allowed : refusal(operation, decision.message);
  };
}

/** Whoever drains a node tries an eviction again only after 429. */
function refusal(operation: PodOperation, message: string): AdmissionResponse {
  return denied(operation === "EVICT" ? 429 : 403, message);
}
