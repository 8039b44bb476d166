/** A kind of this API that has no words of its own: what its conditions say. */
import type { AnyObject } from "../../fields.ts";
import type { ResourceType } from "../../resource_types.ts";
import { conditionsOf } from "../causes/pod_facts.ts";
import { shownText } from "../causes/shown_text.ts";
import { type Findings, type StatusSource, statusSource } from "./status_source.ts";

export function conditionsStatus({ group, kind }: Pick<ResourceType, "group" | "kind">): StatusSource {
  return statusSource({
    group,
    kind,
    isLasting: true,
    read: async () => undefined,
    explain: explainConditions,
  });
}

/** Whether False is good or bad of a condition is not known: they are told, and none is a cause. */
export function explainConditions({ status }: AnyObject): Findings {
  const told = [...conditionsOf(status)].map(([type, condition]) => {
    const why = [condition.reason, condition.message].filter((text) => text !== "").join(": ");
    return shownText(`${type} is ${condition.status || "not set"}${why === "" ? "" : ` (${why})`}`);
  });
  return { summary: told.length === 0 ? "it has no conditions" : told.join(", "), causes: [] };
}
