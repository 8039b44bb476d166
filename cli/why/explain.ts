/** Why an object does not get on: what the controller's plan waits for, and what its pods and its surroundings say. */
import { parseFeatureGates } from "../../controller/index.ts";
import { counted } from "../../kube/core/index.ts";
import { isKubeError } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import { pluralName, type ResourceType } from "../resource_types.ts";
import { resumeCommand } from "../rollout/pause.ts";
import { progressOf, workloadNamed } from "../rollout/workloads.ts";
import { readTarget, type Target } from "../target.ts";
import { type Cause, isStuck, ranked } from "./causes/cause.ts";
import { causesOf } from "./causes/causes_of.ts";
import { gatherFacts } from "./causes/gather.ts";
import { podSourceOf } from "./causes/pod_sources.ts";
import { missingRight, Reader, type Unread } from "./causes/reader.ts";
import { shownText } from "./causes/shown_text.ts";
import { failureOf } from "./causes/subject_reasons.ts";
import { describeCause } from "./describe.ts";
import type { Forecast, ForecastRequest } from "./forecast.ts";
import { planCauses } from "./plan_causes.ts";
import { plannerOf } from "./planners.ts";
import { statusSourceOf } from "./status/status_sources.ts";
import { WorkloadLists } from "./workload_lists.ts";

export interface Explanation {
  /** Undefined for a kind whose plans are not made here. */
  readonly forecast: Forecast | undefined;
  /** What needs somebody first. */
  readonly causes: readonly Cause[];
  /** Nothing goes on without somebody's help. */
  readonly isStuck: boolean;
  /** The controller's plan has nothing to do now. */
  readonly isIdle: boolean;
  /** How far it is. */
  readonly message: string;
  /** It has ended, or never does: its causes are problems that it reports, not what it waits for. */
  readonly isReport: boolean;
  /** Its status says that the rollout is done, or that the job has ended; or nothing is due. */
  readonly isDone: boolean;
  /** What could not be read, and without which nothing can be told. */
  readonly missing: readonly Unread[];
  /** What else could not be read. */
  readonly unread: readonly Unread[];
}

export interface ExplainRequest extends Omit<ForecastRequest, "subject"> {
  readonly target: Target;
  readonly stored: AnyObject;
}

export function isExplained(type: ResourceType): boolean {
  return plannerOf(type) !== undefined || podSourceOf(type) !== undefined;
}

/** The type. Throws CliError for one that is not explained. */
export function explainedType(type: ResourceType): ResourceType {
  if (isExplained(type)) return type;
  const known = "it knows workloads, pods, jobs and the kinds of this API";
  throw new CliError(`why is not supported on ${pluralName(type)}: ${known}`);
}

/** Throws CliError for an object that cannot be planned. */
export async function explain(request: ExplainRequest): Promise<Explanation> {
  const { access, target, stored, host } = request;
  const workload = workloadNamed(target.type);
  const reader = new Reader(access);
  const [{ forecast, refusals = [] }, facts, progress] = await Promise.all([
    forecastOf(request),
    gatherFacts(reader, target, stored, host.clock.now()),
    workload && progressOf(workload, access, stored),
  ]);
  const source = statusSourceOf(target.type);
  const findings = facts && (await source?.find(reader, stored, facts));
  const isDone = findings?.isDone ?? (progress?.state === "done" || forecast?.isAtRest === true);
  const found = facts === undefined ? { first: [], pods: [], last: [] } : causesOf(facts);
  const planned = planCauses(forecast?.waiting ?? [], target).filter((cause) => !isOfPods(cause, found.pods));
  const first = found.first.filter((cause) => !isConsequence(cause, planned));
  const said = new Set([...(source?.events ?? []), ...first.map(({ reason }) => reason)]);
  const causes = ranked([
    ...first,
    ...(findings?.causes ?? []),
    ...planned,
    ...pausedCause(request, planned, isDone),
    ...found.pods.filter((cause) => !isOfPlan(cause, planned)),
    ...(isDone ? [] : found.last.filter(({ reason }) => !said.has(reason))),
  ]);
  const { podCount = 0, pods = [] } = facts ?? {};
  const hasFailed = facts !== undefined && failureOf(facts.subject) !== undefined;
  const unread = [...reader.unread, ...refusals];
  const missing = unread.filter((each) => isNeeded(each, stored.metadata.namespace));
  const isIdle = forecast === undefined || (forecast.actions.length === 0 && !forecast.steps?.length);
  return {
    forecast,
    causes,
    isStuck: isStuck(causes, isIdle),
    message:
      (findings?.isDone === false ? undefined : progress?.message) ??
      findings?.summary ??
      forecast?.summary ??
      `${counted(podCount, "pod")}, ${pods.length} not available`,
    isReport: source?.isLasting === true || findings?.isDone === true || hasFailed,
    isDone,
    isIdle,
    missing,
    unread: unread.filter((each) => !missing.includes(each)),
  };
}

/** Pods, what events say of them, and what the plan needs. */
function isNeeded({ what, rule, why }: Unread, namespace: string | undefined): boolean {
  if (what === planNeeds) return true;
  if (why === "too many" || (rule !== undefined && rule.namespace !== namespace)) return false;
  return what === "pods" || what === "events";
}

function refusedPlan(words: string): Unread {
  const rule = missingRight(words);
  return { what: planNeeds, why: shownText(words), ...(rule ? { rule } : {}) };
}

const planNeeds = "what the controller's plan needs";

/** Who may not read all that a plan needs is told what pods and events say. */
async function forecastOf({
  access,
  target,
  stored,
  gates,
  host,
  lists = new WorkloadLists(access),
}: ExplainRequest): Promise<{ forecast?: Forecast; refusals?: Unread[] }> {
  const planner = plannerOf(target.type);
  if (planner === undefined) return {};
  try {
    return { forecast: await planner.forecast({ access, subject: { stored }, gates, host, lists }) };
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    const words = new Set([error.message, ...(await lists.refusals())]);
    return { refusals: [...words].map(refusedPlan) };
  }
}

export interface FirstCause {
  /** Code of what holds the rollout back first; undefined when nothing does. */
  readonly reason: string | undefined;
  /** All of it in one line. */
  readonly text: string;
  /** Stays the same while the reason and its pods do, whatever its times and numbers are. */
  readonly key: string;
  /** Nothing goes on without somebody's help. */
  readonly isStuck: boolean;
}

/** What holds a rollout back first. The controller's gates are taken as they are by default. */
export async function explainRollout(
  access: ClusterAccess,
  target: Target,
  host: ExplainRequest["host"],
): Promise<FirstCause> {
  const stored = await readTarget(access, target);
  const { causes, isStuck } = await explain({ access, target, stored, gates: parseFeatureGates(), host });
  const [cause] = causes;
  if (cause === undefined) return { reason: undefined, text: "", key: "", isStuck: false };
  const { reason, pods = [] } = cause;
  const text = `${reason}: ${describeCause(cause, host.clock.now())}`;
  return { reason, text, key: [reason, ...pods].join(" "), isStuck };
}

/** What a plan waits for, where the pods themselves say why. */
function isOfPods({ reason, pods = [] }: Cause, found: readonly Cause[]): boolean {
  if (found.some((cause) => cause.reason === reason)) return true;
  if (reason !== "InPlace") return false;
  const failing = new Set(
    found.filter((cause) => !underWay.has(cause.reason)).flatMap((cause) => cause.pods ?? []),
  );
  return pods.length > 0 && pods.every((pod) => failing.has(pod));
}

/** What pods say of an update in place that goes on. */
const underWay: ReadonlySet<string> = new Set(["Starting", "Initializing", "ImagePulling", "ReadinessGate"]);

/** A write that fails because the plan may do only what is not possible. */
function isConsequence({ reason }: Cause, planned: readonly Cause[]): boolean {
  return reason === "WriteFailed" && planned.some((cause) => cause.reason === "InPlaceOnly");
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
  return [
    {
      reason: "Paused",
      message: isDone ? "paused: a change of the template would not be rolled out" : "the rollout is paused",
      until: "it is resumed",
      next: resumeCommand(target),
      outlook: isDone ? "held" : "stuck",
    },
  ];
}
