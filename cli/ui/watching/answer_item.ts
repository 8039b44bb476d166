/** What `refit why` says, as the page shows it: the same functions answer. */
import { parseFeatureGates } from "../../../controller/index.ts";
import type { ClusterAccess, Host } from "../../command.ts";
import { readTarget, type Target } from "../../target.ts";
import { cannotTell, nextLines, stateOf } from "../../why/answer.ts";
import type { Cause } from "../../why/causes/cause.ts";
import { describeEnd, describeWaiting } from "../../why/describe.ts";
import { explain } from "../../why/explain.ts";
import type { AnswerItem, ReasonItem } from "../shared/items.ts";

/** More are counted. */
const mostReasons = 12;
const mostLines = 12;
const mostNamed = 500;

/** An answer about 10,000 pods reads all of them: of that time four times is rest, so that asking again and again takes a fifth. */
export function restAfter(tookMs: number, usualMs: number): number {
  return Math.max(usualMs, 4 * tookMs);
}

export interface Answered {
  readonly item: AnswerItem;
  /** Since when the first reason holds. */
  readonly since: number | undefined;
}

/** Throws KubeError when the object cannot be read. */
export async function answerAbout(
  access: ClusterAccess,
  host: Pick<Host, "clock" | "random">,
  target: Target,
  word: string,
): Promise<Answered> {
  const stored = await readTarget(access, target);
  const explanation = await explain({ access, target, stored, gates: parseFeatureGates(), host });
  const { causes, message, forecast, missing, unread } = explanation;
  const reasons = reasonItems(causes, host.clock.now());
  const unreadAll = [...missing, ...unread];
  return {
    item: {
      is: "answer",
      command: `refit why ${word}`,
      state: stateOf(explanation),
      message,
      reasons,
      next: nextLines(forecast, target.type).slice(0, mostLines),
      notices: forecast?.notices ?? [],
      unread: unreadAll.length === 0 ? "" : cannotTell(unreadAll),
    },
    since: causes[0]?.since,
  };
}

/** The first of them. `now` in milliseconds since the epoch. */
export function reasonItems(causes: readonly Cause[], now: number): ReasonItem[] {
  const alike = [...Map.groupBy(causes, ({ reason, outlook }) => `${reason} ${outlook}`).values()];
  return alike.slice(0, mostReasons).flatMap((same) => reasonOf(same, now));
}

/** One of several that differ in their pods alone stands for all of them. */
function reasonOf([cause, ...others]: readonly Cause[], now: number): ReasonItem[] {
  if (cause === undefined) return [];
  const more = others.length === 0 ? "" : `; ${others.length} more of this kind`;
  const pods = new Set([cause, ...others].flatMap((each) => each.pods ?? []));
  return [
    {
      code: cause.reason,
      outlook: cause.outlook,
      text: `${describeWaiting(cause)}${more}`,
      end: describeEnd(cause, now),
      pods: [...pods].slice(0, mostNamed),
      command: cause.next ?? "",
    },
  ];
}
