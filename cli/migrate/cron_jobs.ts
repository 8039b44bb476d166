/** Cron jobs that have stopped for good under the former manager: they start nothing here either, until somebody wants it. */
import type { AnyObject } from "../fields.ts";
import { revivingCommand, tooManyMissedTimes } from "../why/advanced_cron_job.ts";
import type { Forecast } from "../why/forecast.ts";

/** What is to be known of an object, in a sentence; undefined: nothing. `object`: `AdvancedCronJob shop/report`. */
export function givenUpNotice(
  object: string,
  { kind, metadata }: AnyObject,
  { waiting }: Pick<Forecast, "waiting">,
): string | undefined {
  if (kind !== "AdvancedCronJob" || !waiting.some(({ reason }) => reason === tooManyMissedTimes))
    return undefined;
  return `${object} missed more than 100 times without a run: it stays stopped; to revive it: ${revivingCommand(metadata)}`;
}
