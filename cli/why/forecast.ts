/** What the controller would do of one workload now, and why it does not do more. */
import type { Action, FeatureGates, Waiting } from "../../controller/index.ts";
import type { ClusterAccess, Host } from "../command.ts";
import type { AnyObject } from "../fields.ts";
import type { WorkloadLists } from "./workload_lists.ts";

export interface Forecast {
  /** `3 of 5 pods, 1 at revision web-abc, 2 available`. */
  readonly summary: string;
  readonly actions: readonly Action[];
  /** Name of the revision that its pods are to have; absent where the kind has none. */
  readonly updateRevision?: string | undefined;
  /** What is done beside actions on pods, in words. */
  readonly steps?: readonly string[];
  /** `next`: the command that shows more, where it is another one than the reason alone says. */
  readonly waiting: readonly (Waiting & { readonly next?: string })[];
  /** Nothing is under way or late: what it waits for is its next time. */
  readonly isAtRest?: boolean;
  readonly requeueAfterMs: number | undefined;
  /** What is amiss although the rollout does not wait for it, in sentences. */
  readonly notices?: readonly string[];
}

/** At least one of the two: the manifest's spec counts, on the identity and status of the stored object. */
export interface Subject {
  readonly stored?: AnyObject;
  readonly manifest?: AnyObject;
}

export interface ForecastRequest {
  readonly access: ClusterAccess;
  readonly subject: Subject;
  /** Those that the controller runs with. */
  readonly gates: FeatureGates;
  readonly host: Pick<Host, "clock" | "random">;
  /** Of several objects: what their plans read alike is read once. */
  readonly lists?: WorkloadLists;
}

/** A kind whose plans can be made here. */
export interface Planner {
  /** Kind of `apps.kruise.io`. */
  readonly kind: string;
  /** Throws CliError for an object that cannot be planned. */
  forecast(request: ForecastRequest): Promise<Forecast>;
}
