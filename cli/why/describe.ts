/** Plans in words. */
import type { Action, PodPatchAction, RolloutEffect, Waiting } from "../../controller/index.ts";
import { counted, keyOf } from "../../kube/core/index.ts";
import type { ResourceType } from "../resource_types.ts";
import { age } from "../text_table.ts";
import type { Cause } from "./causes/cause.ts";

/** How lines name a pod: alone where all are of one namespace. */
export type PodName = (pod: Pod) => string;

export function podNameFor({ namespaced }: Pick<ResourceType, "namespaced">): PodName {
  return namespaced ? ({ name }) => name : keyOf;
}

/** One line for what the controller would do next; undefined for what nobody needs to read. */
export function describeAction(action: Action, nameOf: PodName): string | undefined {
  switch (action.type) {
    case "create pod":
      return `create pod ${action.after.name}${claimsText("with", action.effects)}`;
    case "patch pod":
      return describePodWrite(action, nameOf(action.pod));
    case "delete pod":
      return `delete pod ${nameOf(action.pod)}${claimsText("and", action.effects)}`;
    case "create claim":
    case "delete claim":
    case "create revision":
    case "delete revision":
      return `${action.type} ${action.name}`;
    case "patch claim":
      return `change claim ${action.name}`;
    case "patch revision":
      return `renumber or adopt revision ${action.name}`;
    case "patch workload":
      return "drop finished names from podsToDelete";
    case "delete workload":
      return "delete the object itself: it has outlived its time";
    case "create object":
      return `create imagepulljobs ${action.name}`;
    case "delete object":
      return `delete imagepulljobs ${action.name}`;
    case "event":
      return undefined;
  }
}

function claimsText(word: string, effects: readonly RolloutEffect[]): string {
  const claims = effects.flatMap((effect) =>
    "resource" in effect && effect.resource === "claims" ? [effect.name] : [],
  );
  return claims.length === 0 ? "" : ` ${word} claims ${claims.join(", ")}`;
}

function describePodWrite({ pod, concern, after, effects }: PodPatchAction, name: string): string {
  const requests = counted(effects.filter(({ type }) => type === "patch").length, "request");
  const images = changedImages(pod, after);
  if (images.length > 0) return `update pod ${name} in place: ${images.join(", ")} (${requests})`;
  if (concern === "update") return `update pod ${name} (${requests})`;
  if (concern === "scale") return `mark pod ${name} (${requests})`;
  return `refresh pod ${name} (${requests})`;
}

type Pod = PodPatchAction["pod"];

function changedImages(before: Pod, after: Pod): string[] {
  return after.containers.flatMap(({ name, image }) => {
    const old = before.containers.find((container) => container.name === name)?.image;
    return old === undefined || old === image ? [] : [`${name} ${old} -> ${image}`];
  });
}

/** `2 pods wait for … (a, b)`: what it is and whom it is about. */
export function describeWaiting({ message, pods = [] }: Waiting): string {
  const unsaid = pods.filter((pod) => !message.includes(pod));
  return unsaid.length === 0 ? message : `${message} (${listed(unsaid)})`;
}

/** `for 3m12s; ends when …`. */
export function describeEnd({ until, since }: Pick<Cause, "until" | "since">, now: number): string {
  return `${since === undefined ? "" : `for ${age(now - since)}; `}ends when ${until}`;
}

/** All of it in one line. */
export function describeCause(cause: Cause, now: number): string {
  const next = cause.next === undefined ? "" : `; next: ${cause.next}`;
  return `${describeWaiting(cause)}; ${describeEnd(cause, now)}${next}`;
}

const mostNames = 5;

/** The first of them, and how many there are more. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, mostNames).join(", ");
  return names.length > mostNames ? `${shown} and ${names.length - mostNames} more` : shown;
}
