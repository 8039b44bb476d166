/** What somebody has filled in of an action, and the request that it makes. Pure. */
import type { Action } from "../shared/actions.ts";
import { type ActionRequest, isActionRequest } from "../shared/actions.ts";

export interface ActionDraft {
  readonly action: Action;
  /** Key of the workload. */
  readonly workload: string;
  /** How far it is promoted. */
  by: "step" | "to" | "end";
  /** As typed: `20%` or `3`. */
  amount: string;
  replicas: string;
  /** Number of a revision; empty for the one before. */
  revision: string;
  /** `namespace/name`. */
  pod: string;
  /** Names with commas between; empty for all. */
  containers: string;
  readonly number: number;
}

/** Undefined while something is missing or malformed. */
export function requestOf(draft: ActionDraft): ActionRequest | undefined {
  const { action, workload } = draft;
  const request: unknown = { action, workload, ...membersOf(draft) };
  return isActionRequest(request) ? request : undefined;
}

function membersOf(draft: ActionDraft): object {
  switch (draft.action) {
    case "pause":
    case "resume":
      return {};
    case "promote":
      return draft.by === "end"
        ? { by: "to", amount: 0 }
        : { by: draft.by, amount: numberOrText(draft.amount) };
    case "partition":
      return { amount: numberOrText(draft.amount) };
    case "undo":
      return { revision: draft.revision.trim() === "" ? 0 : numberOrText(draft.revision) };
    case "scale":
      return { replicas: numberOrText(draft.replicas) };
    case "recreate":
      return { pod: draft.pod, containers: namesIn(draft.containers), number: draft.number };
  }
}

/** A number too long to be exact stays text, which is refused. */
function numberOrText(text: string): number | string {
  const trimmed = text.trim();
  return /^\d{1,10}$/.test(trimmed) ? Number(trimmed) : trimmed;
}

function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
