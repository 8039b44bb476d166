/** Words and times that several parts of the page write. */
import type { Need, PodState } from "../shared/items.ts";

export const needWords: Readonly<Record<Need, string>> = {
  stuck: "Stuck",
  unknown: "Cannot tell",
  waiting: "Waiting",
  progressing: "Progressing",
  done: "Done",
};

export const podStateWords: Readonly<Record<PodState, string>> = {
  ready: "Ready",
  starting: "Starting",
  updating: "Updating in place",
  pending: "Pending",
  failing: "Failing",
  terminating: "Ending",
  completed: "Completed",
};

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** `14:05:09`, in the browser's zone. Made by hand: a browser's formatter loads its locale, as long as a page's first frame takes. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** `3m`, `2h`, `5d`: for columns. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
