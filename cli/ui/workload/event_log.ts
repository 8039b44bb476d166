/** The newest events about one workload and its pods. */
import { type AnyObject, textAt } from "../../fields.ts";
import { eventFactsOf } from "../../why/causes/gather.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import type { EventItem } from "../shared/detail_items.ts";

export const mostEvents = 50;
/** Those of pods that are not known yet, or belong to a workload with a longer name, count among them. */
const mostKept = 1_000;

interface LoggedEvent {
  /** UID of what it is about. */
  readonly about: string;
  readonly item: EventItem;
}

/** Keeps the newest events whose object may belong to the workload, by names; the UID decides when they are asked for. */
export class EventLog {
  readonly #name: string;
  readonly #events = new Map<string, LoggedEvent>();

  /** `name`: of the workload. What it makes begins with it. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Whether it was kept. One that happens again takes the place of what it was. */
  add(event: AnyObject): boolean {
    const about = textAt(event, "involvedObject", "name") ?? "";
    if (about !== this.#name && !about.startsWith(`${this.#name}-`)) return false;
    this.#events.set(event.metadata.uid ?? "", {
      about: textAt(event, "involvedObject", "uid") ?? "",
      item: eventItem(event),
    });
    // Half of them, so that it is not sorted with each event.
    if (this.#events.size > mostKept) this.#forget();
    return true;
  }

  /** Items by their keys, the newest of those that are about one of these objects. */
  newest(isAbout: (uid: string) => boolean): ReadonlyMap<string, EventItem> {
    const ours = [...this.#events].filter(([, { about }]) => isAbout(about));
    return new Map(
      newestFirst(ours)
        .slice(0, mostEvents)
        .map(([uid, { item }]) => [`event/${uid}`, item]),
    );
  }

  #forget(): void {
    for (const [uid] of newestFirst([...this.#events]).slice(mostKept / 2)) this.#events.delete(uid);
  }
}

function newestFirst(events: readonly (readonly [uid: string, event: LoggedEvent])[]) {
  return events.toSorted(([, a], [, b]) => b.item.at - a.item.at);
}

function eventItem(event: AnyObject): EventItem {
  const { isWarning, reason, message, at, count } = eventFactsOf(event);
  return {
    is: "event",
    isWarning,
    reason: shownText(reason),
    message: shownText(message),
    kind: shownName(textAt(event, "involvedObject", "kind") ?? ""),
    name: shownName(textAt(event, "involvedObject", "name") ?? ""),
    count,
    at,
  };
}
