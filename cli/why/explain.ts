/** Why an object does not get on: what the controller's plan waits for, and what its pods and its surroundings say. */
import { type FeatureGates, parseFeatureGates } from "../../controller/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { ClusterAccess, Host } from "../command.ts";
import { type AnyObject, at } from "../fields.ts";
import { objectName, type ResourceType } from "../resource_types.ts";
import { progressOf, workloadNamed } from "../rollout/workloads.ts";
import { readTarget, type Target } from "../target.ts";
import { type Cause, isStuck, ranked } from "./causes/cause.ts";
import { causesOf } from "./causes/causes_of.ts";
import { gatherFacts } from "./causes/gather.ts";
import { podSourceOf } from "./causes/pod_sources.ts";
import { describeCause } from "./describe.ts";
import type { Forecast } from "./forecast.ts";
import { planCauses } from "./plan_causes.ts";
import { plannerOf } from "./planners.ts";

export interface Explanation {
  /** Undefined for a kind whose plans are not made here. */
  readonly forecast: Forecast | undefined;
  /** What needs somebody first. */
  readonly causes: readonly Cause[];
  /** Nothing goes on without somebody's help. */
  readonly isStuck: boolean;
  /** How far it is. */
  readonly message: string;
  /** What could not be read, in words. */
  readonly unread: readonly string[];
}

export interface ExplainRequest {
  readonly access: ClusterAccess;
  readonly target: Target;
  readonly stored: AnyObject;
  /** Those that the controller runs with. */
  readonly gates: FeatureGates;
  readonly host: Pick<Host, "clock" | "random">;
}

export function isExplained(type: ResourceType): boolean {
  return plannerOf(type) !== undefined || podSourceOf(type) !== undefined;
}

/** Throws CliError for an object that cannot be planned. */
export async function explain(request: ExplainRequest): Promise<Explanation> {
  const { access, target, stored, gates, host } = request;
  const workload = workloadNamed(target.type);
  const [forecast, facts, progress] = await Promise.all([
    plannerOf(target.type)?.forecast({ access, subject: { stored }, gates, host }),
    gatherFacts(access, target, stored, host.clock.now()),
    workload && progressOf(workload, access, stored),
  ]);
  const isDone = progress?.state === "done";
  const planned = planCauses(forecast?.waiting ?? [], target);
  const found = facts === undefined ? { first: [], pods: [], last: [] } : causesOf(facts);
  const causes = ranked([
    ...found.first,
    ...planned.filter(({ reason }) => !found.pods.some((cause) => cause.reason === reason)),
    ...pausedCause(request, planned, isDone),
    ...found.pods.filter((cause) => !isOfPlan(cause, planned)),
    ...(isDone ? [] : found.last),
  ]);
  const { podCount = 0, pods = [], unread = [] } = facts ?? {};
  const isIdle = forecast === undefined || (forecast.actions.length === 0 && !forecast.steps?.length);
  return {
    forecast,
    causes,
    isStuck: isStuck(causes, isIdle),
    message:
      progress?.message ?? forecast?.summary ?? `${counted(podCount, "pod")}, ${pods.length} not available`,
    unread,
  };
}

export interface FirstCause {
  /** Undefined when nothing holds the rollout back. */
  readonly first: string | undefined;
  /** Stays the same while the reason does, whatever its numbers are. */
  readonly key: string;
  readonly isStuck: boolean;
}

/** What holds a rollout back first, in one line. The controller's gates are taken as they are by default. */
export async function explainRollout(
  access: ClusterAccess,
  target: Target,
  host: ExplainRequest["host"],
): Promise<FirstCause> {
  const stored = await readTarget(access, target);
  const explanation = await explain({ access, target, stored, gates: parseFeatureGates(), host });
  const [cause] = explanation.causes;
  if (cause === undefined) return { first: undefined, key: "", isStuck: false };
  const first = `${cause.reason}: ${describeCause(cause, host.clock.now())}`;
  const key = `${cause.reason} ${cause.outlook} ${cause.pods?.length ?? 0}`;
  return { first, key, isStuck: explanation.isStuck };
}

/** A plan says more about the pods that it is updating in place than their closed gate. */
function isOfPlan({ reason, outlook }: Cause, planned: readonly Cause[]): boolean {
  const updating = planned.some((cause) => cause.reason === "InPlace" || cause.reason === "Grace");
  return reason === "ReadinessGate" && outlook === "moving" && updating;
}

/** Plans speak of a pause only while it holds something back. */
function pausedCause(
  { target, stored }: ExplainRequest,
  planned: readonly Cause[],
  isRolledOut: boolean,
): Cause[] {
  const path = workloadNamed(target.type)?.pausedPath?.(stored.apiVersion);
  if (path === undefined || at(stored, ...path) !== true) return [];
  if (planned.some(({ reason }) => reason === "Paused")) return [];
  const isDone = isRolledOut || plannerOf(target.type) !== undefined;
  const { name, namespace } = target.ref;
  const inNamespace = namespace === undefined ? "" : ` -n ${namespace}`;
  return [
    {
      reason: "Paused",
      message: isDone ? "paused: a change of the template would not be rolled out" : "the rollout is paused",
      until: "it is resumed",
      next: `refit rollout resume ${objectName(target.type, name)}${inNamespace}`,
      outlook: isDone ? "held" : "stuck",
    },
  ];
}
