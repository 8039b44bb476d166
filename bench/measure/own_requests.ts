/** Requests of the bench's own clients, by verb and resource: they are taken off what the API server counts. */
import { type Metrics, nullMetrics } from "../../kube/index.ts";

export class OwnRequests {
  readonly #counts: Record<string, number> = {};

  /** To be handed to each client of the bench. */
  readonly metrics: Metrics = {
    ...nullMetrics,
    request: (_host, { verb, resource, code }) => {
      if (code === "<error>") return;
      const key = `${verb} ${resource}`;
      this.#counts[key] = (this.#counts[key] ?? 0) + 1;
    },
  };

  counts(): Record<string, number> {
    return { ...this.#counts };
  }
}
