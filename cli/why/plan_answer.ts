/** What `plan` answers, for scripts. */
import { answeredObject } from "../object_output.ts";
import type { Target } from "../target.ts";
import { reasonOf } from "./answer.ts";
import { describeAction, type PodName, podNameFor } from "./describe.ts";
import type { Forecast } from "./forecast.ts";
import { planCauses } from "./plan_causes.ts";

/** The documented form: docs/troubleshooting.md, "For scripts". Fields that do not apply are absent. */
export function planAnswer(target: Target, forecast: Forecast): object {
  const { summary, actions, steps = [], waiting, notices = [], requeueAfterMs } = forecast;
  const nameOf = podNameFor(target.type);
  return {
    object: answeredObject(target),
    message: summary,
    actions: [...steps.map((message) => ({ message })), ...actions.flatMap((each) => actionOf(each, nameOf))],
    reasons: planCauses(waiting, target).map(reasonOf),
    notices,
    ...(requeueAfterMs === undefined ? {} : { requeueAfterSeconds: requeueAfterMs / 1000 }),
  };
}

function actionOf(action: Forecast["actions"][number], nameOf: PodName): object[] {
  const message = describeAction(action, nameOf);
  if (message === undefined || action.type === "event") return [];
  if (!("after" in action)) return [{ type: action.type, name: action.name, message }];
  const { name, namespace } = action.after;
  return [{ type: action.type, name, namespace, message }];
}
