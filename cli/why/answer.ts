/** What `why` answers, for scripts: a state with its exit code, and all of it as an object. */
import { formatTime } from "../../kube/core/index.ts";
import { answeredObject } from "../object_output.ts";
import type { ResourceType } from "../resource_types.ts";
import type { Target } from "../target.ts";
import type { Cause } from "./causes/cause.ts";
import type { AccessRule, Unread } from "./causes/reader.ts";
import { describeAction, podNameFor } from "./describe.ts";
import type { Explanation } from "./explain.ts";
import type { Forecast } from "./forecast.ts";

/**
 * `done`: nothing is left to do, or nothing is amiss. `progressing`: time, or what is under way, brings it on. `waiting`: its own
 * settings hold it back. `stuck`: it stays so until somebody acts. `unknown`: not all that tells it could be read.
 */
export type State = "done" | "progressing" | "waiting" | "stuck" | "unknown";

export const exitCodes: Readonly<Record<State, number>> = {
  done: 0,
  progressing: 0,
  unknown: 1,
  stuck: 3,
  waiting: 4,
};

export const exitCodesHelp = `Exit codes:
  ${exitCodes.done}  nothing is left to do, or it gets on
  ${exitCodes.unknown}  not all that tells could be read; the command line or the cluster was not as it should be
  ${exitCodes.stuck}  it stays as it is until somebody acts
  ${exitCodes.waiting}  it waits, as its own settings say: for a partition, a selector or a budget`;

export function stateOf({ missing, isStuck, isDone, isReport, isIdle, causes }: Explanation): State {
  if (missing.length > 0) return "unknown";
  if (isStuck) return "stuck";
  if (isReport || isDone) return "done";
  if (!isIdle || causes.some(({ outlook }) => outlook === "moving")) return "progressing";
  return causes.length === 0 ? "done" : "waiting";
}

/** Of the state that needs somebody most. */
export function exitCodeOf(states: Iterable<State>): number {
  const found = new Set(states);
  const worst = (["stuck", "unknown", "waiting"] as const).find((state) => found.has(state));
  return exitCodes[worst ?? "done"];
}

/** The documented form: docs/troubleshooting.md, "For scripts". Fields that do not apply are absent. */
export function answerOf(target: Target, explanation: Explanation, next: readonly string[]): object {
  const { message, causes, missing, unread, forecast } = explanation;
  return {
    object: answeredObject(target),
    state: stateOf(explanation),
    message,
    reasons: causes.map(reasonOf),
    next,
    notices: forecast?.notices ?? [],
    unread: [...missing, ...unread].map(({ what, why, rule }) => ({ what, why, ...(rule ? { rule } : {}) })),
  };
}

export function reasonOf({ reason, outlook, message, until, since, pods, next }: Cause): object {
  return {
    reason,
    outlook,
    message,
    until,
    ...(since === undefined ? {} : { since: formatTime(since) }),
    ...(pods === undefined ? {} : { pods }),
    ...(next === undefined ? {} : { next }),
  };
}

/** `you may not list pods and events in namespace shop`; the failure where it is another one. */
export function cannotTell(missing: readonly Unread[]): string {
  const rules = missing.flatMap(({ rule }) => rule ?? []);
  const refused = [...Map.groupBy(rules, placeOf)].map(
    ([place, all]) => `${verbsOf(all).join(" and ")} ${resourcesOf(all).join(", ")} ${place}`,
  );
  const others = missing
    .filter(({ rule }) => rule === undefined)
    .map(({ what, why }) => `${what} could not be read (${why})`);
  return [...(refused.length === 0 ? [] : [`you may not ${refused.join("; ")}`]), ...others].join("; ");
}

/** Commands that make the roles to ask for. */
export function rolesFor(missing: readonly Unread[]): string[] {
  const rules = missing.flatMap(({ rule }) => rule ?? []);
  return [...Map.groupBy(rules, ({ namespace }) => namespace)].map(([namespace, all]) => {
    const role = namespace === undefined ? "clusterrole refit-viewer" : `role refit-viewer -n ${namespace}`;
    return `kubectl create ${role} --verb=${verbsOf(all).join(",")} --resource=${resourcesOf(all).join(",")}`;
  });
}

const placeOf = ({ namespace }: AccessRule): string =>
  namespace === undefined ? "in the whole cluster" : `in namespace ${namespace}`;
const verbsOf = (rules: readonly AccessRule[]): string[] =>
  [...new Set(rules.map(({ verb }) => verb))].sort();
const resourcesOf = (rules: readonly AccessRule[]): string[] =>
  [...new Set(rules.map(({ resource }) => resource))].sort();

/** What the controller does next, in words. */
export function nextLines(forecast: Forecast | undefined, type: ResourceType): string[] {
  if (forecast === undefined) return [];
  const { actions, steps = [] } = forecast;
  const nameOf = podNameFor(type);
  const lines = actions.map((action) => describeAction(action, nameOf));
  return [...steps, ...lines.filter((line) => line !== undefined)];
}
