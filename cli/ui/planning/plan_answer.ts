/** What `refit plan` says, as the page shows it. */
import type { Action, PodAction, RolloutEffect } from "../../../controller/index.ts";
import { keyOf } from "../../../kube/core/index.ts";
import type { Target } from "../../target.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import { describeAction, type PodName, podNameFor } from "../../why/describe.ts";
import type { Forecast } from "../../why/forecast.ts";
import { planCauses } from "../../why/plan_causes.ts";
import type { PlanAnswer, PlannedPod, PodWay } from "../shared/plans.ts";
import { reasonItems } from "../watching/answer_item.ts";
import { revisionEnd } from "../watching/workload_item.ts";

const mostSteps = 200;

export function planAnswerItem(target: Target, forecast: Forecast, now: number): PlanAnswer {
  const {
    summary,
    actions,
    steps = [],
    waiting,
    notices = [],
    requeueAfterMs,
    updateRevision = "",
  } = forecast;
  const nameOf = podNameFor(target.type);
  const others = actions.flatMap((action) => (isOfPod(action) ? [] : (describeAction(action, nameOf) ?? [])));
  const pods = actions.filter(isOfPod).map((action) => plannedPod(action, nameOf));
  const all = [...steps, ...others].map((step) => shownText(step));
  const more = all.length - mostSteps;
  return {
    summary: shownText(summary),
    revision: revisionEnd(updateRevision),
    pods,
    steps: more > 0 ? [...all.slice(0, mostSteps), `${more} more`] : all,
    ...(steps.length > 0 ? {} : { requests: sum(actions.map(requestsOf)) }),
    reasons: reasonItems(planCauses(waiting, target), now),
    about: podsOfReasons(target, waiting, pods),
    notices,
    ...(requeueAfterMs === undefined ? {} : { againSeconds: Math.ceil(requeueAfterMs / 1000) }),
  };
}

/** Plans of objects without a namespace name pods with theirs. */
function podsOfReasons(
  { ref: { namespace } }: Target,
  waiting: Forecast["waiting"],
  planned: readonly PlannedPod[],
): PlanAnswer["about"] {
  const known = new Set(planned.map(keyOf));
  return waiting.flatMap(({ reason, pods = [] }) => {
    const keys = pods.map((pod) => (namespace === undefined ? pod : `${namespace}/${pod}`));
    const others = keys.filter((key) => !known.has(key));
    for (const key of others) known.add(key);
    return others.length === 0 ? [] : [[reason, others] as const];
  });
}

function plannedPod(action: PodAction, nameOf: PodName): PlannedPod {
  const { namespace, name } = action.after;
  return {
    way: wayOf(action),
    namespace,
    name,
    text: shownText(describeAction(action, nameOf) ?? ""),
    requests: requestsOf(action),
  };
}

function wayOf({ type, concern }: PodAction): PodWay {
  if (type === "create pod") return "new";
  if (type === "delete pod") return "deleted";
  return concern === "update" ? "in place" : "marked";
}

const isOfPod = (action: Action): action is PodAction => "after" in action;

/** Budgets and events are told of by the controller, whatever becomes of the plan. */
const withoutWrite: ReadonlySet<RolloutEffect["type"]> = new Set(["event", "spend budget", "confirm object"]);

const requestsOf = (action: Action): number =>
  "effects" in action ? action.effects.filter(({ type }) => !withoutWrite.has(type)).length : 0;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
