/** A stream of requests that only webhooks can answer: what of it is refused tells when they could not be called. */

import type { World } from "../cases/world.ts";
import { ApiError } from "../cluster/api.ts";

export interface AdmissionCount {
  readonly answered: number;
  /** Messages of the server. */
  readonly refused: readonly string[];
}

export interface Admissions {
  readonly answered: number;
  /** Resolves when no request is under way any more. */
  stop(): Promise<AdmissionCount>;
}

/**
 * Sends dry-run creations of CloneSets (mutating and validating webhook) and lists of another version than the stored one
 * (conversion) in turn, `lanes` at a time, until it is stopped.
 */
export function startAdmissions(world: World, lanes: number): Admissions {
  const refused: string[] = [];
  let answered = 0;
  let stopped = false;
  const requests = [
    () => world.api.create(manifest, world.namespace, "?dryRun=All"),
    () => world.api.list("clonesets.v1alpha1.apps.kruise.io", world.namespace),
    () => world.api.list("clonesets.v1beta1.apps.kruise.io", world.namespace),
  ] as const;
  const lane = async () => {
    while (!stopped) {
      for (const send of requests) {
        try {
          await send();
          answered++;
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          refused.push(`${error.status} ${error.message}`);
        }
      }
    }
  };
  const running = Promise.all(Array.from({ length: lanes }, lane));
  // Read when it is stopped.
  running.catch(() => undefined);
  return {
    get answered() {
      return answered;
    },
    async stop() {
      stopped = true;
      await running;
      return { answered, refused };
    },
  };
}

const labels = { case: "admissions" };
const manifest = {
  apiVersion: "apps.kruise.io/v1alpha1",
  kind: "CloneSet",
  metadata: { name: "admissions" },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "app:1" }] } },
  },
};
