/** From single probe runs to the state that is published. Pure. Spec: containers 4.4, rules 6 to 8. */
export type ProbeState = "Succeeded" | "Failed" | "Unknown";

export interface ProbeOutcome {
  readonly state: "Succeeded" | "Failed";
  readonly message: string;
}

/** What is known of one probe of one container. Times are milliseconds since the Unix epoch. */
export interface ProbeRecord {
  readonly containerId: string;
  readonly state: ProbeState;
  readonly message: string;
  readonly lastProbeAt: number;
  readonly lastTransitionAt: number;
  /** The last outcome and how often it came in a row. */
  readonly run: { readonly state: ProbeState; readonly count: number };
  /** When it was last worth publishing. */
  readonly publishedAt: number;
}

export interface Thresholds {
  readonly failureThreshold: number;
  readonly successThreshold: number;
}

/** Unchanged results are published again after so long. */
export const republishMs = 600_000;
const longestMessage = 1024;

/** The record after one more run, and whether it is to be published. */
export function afterProbe(
  before: ProbeRecord | undefined,
  containerId: string,
  outcome: ProbeOutcome,
  thresholds: Thresholds,
  now: number,
): { readonly record: ProbeRecord; readonly publish: boolean; readonly changed: boolean } {
  const same = before?.containerId === containerId ? before : undefined;
  const count = same?.run.state === outcome.state ? same.run.count + 1 : 1;
  const needed = outcome.state === "Succeeded" ? thresholds.successThreshold : thresholds.failureThreshold;
  const state = count >= Math.max(1, needed) ? outcome.state : (same?.state ?? "Unknown");
  // Below the threshold the outcome is not yet the state, and its text would not fit the state.
  const message = state === outcome.state ? shortened(outcome.message) : (same?.message ?? "");
  const changed = state !== (same?.state ?? "Unknown");
  const isNews = changed || message !== (same?.message ?? "");
  const publish =
    isNews ||
    (same !== undefined && now - same.publishedAt >= republishMs) ||
    (same === undefined && before !== undefined);
  const stateBefore = before?.state ?? "Unknown";
  return {
    record: {
      containerId,
      state,
      message,
      lastProbeAt: now,
      lastTransitionAt: state === stateBefore ? (before?.lastTransitionAt ?? now) : now,
      run: { state: outcome.state, count },
      publishedAt: publish ? now : (same?.publishedAt ?? now),
    },
    publish,
    changed,
  };
}

/** What is known once the handler has changed: as of a container that is gone, so that the next run begins at Unknown and is told. */
export function ofFormerHandler(record: ProbeRecord): ProbeRecord {
  return { ...record, containerId: "" };
}

/** Of the event about a changed state. */
export function probeReason(state: "Succeeded" | "Failed"): string {
  return state === "Succeeded" ? "KruiseProbeSucceeded" : "KruiseProbeFailed";
}

/** Cut to whole characters. */
export function shortened(text: string): string {
  if (text.length <= longestMessage) return text;
  const cut = text.slice(0, longestMessage);
  const last = cut.charCodeAt(cut.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? cut.slice(0, -1) : cut;
}
