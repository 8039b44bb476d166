/** Whether a budget lets an operation on a pod pass, and what of it is spent. Spec: protection A4, rules 12 to 17. */
import {
  type PodUnavailableBudget,
  type PodUnavailableBudgetStatus,
  protectOperationsAnnotation,
} from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { PodOperation } from "../../pod_webhook/pod_operation.ts";
import { isMarked, selects } from "./pod_facts.ts";

/** More operations that wait to be seen are a sign that nobody looks. */
const MOST_RECORDED = 2000;
const DEFAULT_OPERATIONS: readonly string[] = ["DELETE", "UPDATE", "EVICT"];

interface SpendOptions {
  /** Gate InPlacePodVerticalScaling: resizing is an operation of its own. */
  resizeApart: boolean;
}

type Spending =
  | { allowed: true; status?: undefined }
  /** One unit is spent: the members of the status that change. */
  | { allowed: true; status: Partial<PodUnavailableBudgetStatus> }
  | { allowed: false; message: string };

/** `pod` is available; `now` in milliseconds since the epoch. */
export function spend(
  budget: PodUnavailableBudget,
  pod: Pod,
  operation: PodOperation,
  now: number,
  options: SpendOptions,
): Spending {
  const { spec, status } = budget;
  const pass = { allowed: true } as const;
  if (spec.ignoredPodSelector && selects(spec.ignoredPodSelector, pod)) return pass;
  if (status === undefined || status.desiredAvailable === 0) return pass;
  if (!isProtected(budget, operation, options)) return pass;
  const { disruptedPods = {}, unavailablePods = {} } = status;
  if (Object.hasOwn(disruptedPods, pod.name) || Object.hasOwn(unavailablePods, pod.name)) return pass;
  const room = status.currentAvailable - status.desiredAvailable;
  // Others get what marked pods leave; marked ones go as long as the floor holds without them.
  const { unavailableAllowed } = status;
  if ((isMarked(pod) ? room : unavailableAllowed) <= 0) {
    return { allowed: false, message: refusal(budget, "pub unavailable allowed is negative") };
  }
  if (Object.keys(disruptedPods).length + Object.keys(unavailablePods).length > MOST_RECORDED) {
    const why =
      "DisruptedPods and UnavailablePods map too big - too many unavailable not confirmed by PUB controller";
    return { allowed: false, message: refusal(budget, why) };
  }
  const at = new Date(Math.floor(now / 1000) * 1000).toISOString().replace(".000Z", "Z");
  const record = { [pod.name]: at };
  return {
    allowed: true,
    status: {
      unavailableAllowed: isMarked(pod)
        ? Math.max(0, Math.min(unavailableAllowed, room - 1))
        : unavailableAllowed - 1,
      currentAvailable: status.currentAvailable - 1,
      ...(operation === "UPDATE" ? { unavailablePods: record } : { disruptedPods: record }),
    },
  };
}

/** Rules 4 of the conversion and 21. */
function isProtected(
  { metadata, spec }: PodUnavailableBudget,
  operation: PodOperation,
  options: SpendOptions,
): boolean {
  const listed = spec.protectOperations ?? [];
  const annotated = (metadata.annotations?.[protectOperationsAnnotation] ?? "")
    .split(",")
    .map((item) => item.trim());
  const fromAnnotation = annotated.filter((item) => item !== "");
  const operations: readonly string[] =
    listed.length > 0 ? listed : fromAnnotation.length > 0 ? fromAnnotation : DEFAULT_OPERATIONS;
  if (operation !== "RESIZE") return operations.includes(operation);
  return operations.includes("RESIZE") || (!options.resizeApart && operations.includes("UPDATE"));
}

function refusal({ metadata }: PodUnavailableBudget, why: string): string {
  return `podunavailablebudget.policy.kruise.io "${metadata.name ?? ""}" is forbidden: ${why}`;
}
