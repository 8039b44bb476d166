/** What the parts of one sandbox share. */
import type { Clock, Random } from "../kube/core/index.ts";
import type { Admission } from "./admission/admission.ts";
import type { Authorizer } from "./authorization/authorizer.ts";
import type { Faults } from "./faults.ts";
import type { Registry } from "./resources/registry.ts";
import type { WriteContext } from "./resources/resource.ts";
import type { Storage } from "./storage.ts";
import type { Tokens } from "./tokens.ts";
import type { WebhookCalls } from "./webhooks.ts";

export type Log = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: Storage;
  readonly registry: Registry;
  readonly admission: Admission;
  readonly authorizer: Authorizer;
  readonly faults: Faults;
  readonly tokens: Tokens;
  readonly webhooks: WebhookCalls;
  readonly log: Log;
  /** Runs work once the present turn has ended. */
  readonly soon: (run: () => void) => void;
}

/** What strategies see of it. */
export type WriteParts = Pick<World, "clock" | "random" | "registry">;

export function writeContext(world: WriteParts, warnings: string[]): WriteContext {
  return {
    now: world.clock.now(),
    random: world.random,
    warnings,
    lookup: (resource, namespace, name) =>
      world.registry.resource(resource)?.table.get(namespace, name)?.object,
    *list(resource, namespace) {
      for (const revision of world.registry.resource(resource)?.table.list(namespace) ?? [])
        yield revision.object;
    },
  };
}
