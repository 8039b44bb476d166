/** Plans of kinds that have no words of their own here: the effects of one pass of their reconciler. */
import { controllerOptions, dryRunFor } from "../../controller/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { ResourceType } from "../resource_types.ts";
import { describeEffect } from "./describe_effects.ts";
import type { Planner } from "./forecast.ts";

/** Undefined for a kind that no controller of this program carries out. */
export function dryRunPlanner(type: Pick<ResourceType, "group" | "kind">): Planner | undefined {
  const run = dryRunFor(type);
  if (run === undefined) return undefined;
  return {
    kind: type.kind,
    async forecast({ access, subject, gates, host }) {
      const { name = "", namespace } = (subject.stored ?? subject.manifest)?.metadata ?? {};
      const ref = namespace === undefined ? { name } : { namespace, name };
      const deps = { client: access.client, options: controllerOptions({ gates }), ...host };
      const { isEnabled, effects, requeueAfterMs, kindOf } = await run(ref, deps);
      const steps = effects.flatMap((effect) => describeEffect(effect, { kindOf, namespace }));
      return {
        summary: isEnabled ? summaryOf(steps) : "no controller has it, because its feature gate is off",
        actions: [],
        steps,
        waiting: [],
        requeueAfterMs,
      };
    },
  };
}

function summaryOf(steps: readonly string[]): string {
  return steps.length === 0 ? "as it should be" : counted(steps.length, "effect");
}
