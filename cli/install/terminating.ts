/** What a former installation left on its way out: a new one has to wait until it is gone. */
import { type Client, ignoreNotFound } from "../../kube/index.ts";
import type { Host } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, listAt, textAt } from "../fields.ts";
import { objectName, objectResource } from "../resource_types.ts";
import { builtinType, refOfObject } from "./apply.ts";

/** Pods have half a minute to end, and a namespace ends after them. */
const goneWithinMs = 120_000;
const intervalMs = 250;

export interface Waiting {
  readonly client: Client;
  readonly host: Pick<Host, "clock">;
  readonly signal: AbortSignal;
  /** Called with what is waited for, whenever that changes. */
  report(line: string): void;
}

/**
 * Waits for those of the objects that are being deleted: nothing can be made in a namespace that ends, and what is
 * applied to an ending definition goes with it. Throws CliError after 120 s.
 */
export async function waitUntilGone(objects: readonly AnyObject[], waiting: Waiting): Promise<void> {
  const deadline = waiting.host.clock.monotonic() + goneWithinMs;
  for (const object of objects) await waitForOne(object, deadline, waiting);
}

async function waitForOne(object: AnyObject, deadline: number, waiting: Waiting): Promise<void> {
  const { client, host, signal, report } = waiting;
  const type = builtinType(object);
  let reported = "";
  for (;;) {
    const found = await client.get(objectResource(type), refOfObject(object)).catch(ignoreNotFound);
    if (found?.metadata.deletionTimestamp === undefined) return;
    const what = `${objectName(type, refOfObject(object).name)} is being deleted${reasonOf(found)}`;
    if (host.clock.monotonic() >= deadline) {
      throw new CliError(`${what}; gave up waiting after ${goneWithinMs / 1000} s`);
    }
    if (what !== reported) report(`waiting: ${what}`);
    reported = what;
    await host.clock.sleep(intervalMs, signal);
  }
}

/** What keeps it: in a namespace's own words, else its finalizers. */
function reasonOf(object: AnyObject): string {
  const conditions = listAt(object, "status", "conditions")
    .filter((condition) => textAt(condition, "status") === "True")
    .map((condition) => textAt(condition, "message") ?? "");
  const reasons = object.kind === "Namespace" ? conditions.filter((message) => message !== "") : [];
  const finalizers = object.metadata.finalizers ?? [];
  if (reasons.length > 0) return `: ${reasons.join("; ")}`;
  return finalizers.length > 0 ? `: it has finalizers ${finalizers.join(", ")}` : "";
}
