/** Since when each shard is led as it is: who led before could not finish, and what it had sent may still come. */
import { keyOf, textAt } from "./fields.ts";
import type { ObservedCluster } from "./observed.ts";

/** Who has not renewed its lease for so long leads no more. */
const renewDeadlineMs = 10_000;

export class Leads {
  /** Milliseconds after the beginning; of the lead that is the newest. */
  since = 0;
  readonly #holders = new Map<string, { readonly holder: string; readonly renewedAt: number }>();

  constructor({ server, clock }: ObservedCluster) {
    server.cluster.subscribe("leases.coordination.k8s.io", ({ object }) => {
      const holder = textAt(object, "spec", "holderIdentity");
      const before = this.#holders.get(keyOf(object));
      const now = clock.monotonic();
      this.#holders.set(keyOf(object), { holder, renewedAt: now });
      // Who renews it too late has given up meanwhile, and begins anew.
      if (before?.holder !== holder || now - before.renewedAt >= renewDeadlineMs) this.since = now;
    });
  }
}
