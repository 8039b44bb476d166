/** What the parts of a workload's details are read with. */
import type { ClusterAccess, Host } from "../../command.ts";
import type { AnyObject } from "../../fields.ts";
import type { Target } from "../../target.ts";
import type { Reader } from "../../why/causes/reader.ts";
import type { Feed } from "../watching/feed.ts";
import type { InjectedPod } from "./sidecar_owners.ts";

export interface DetailsOptions {
  readonly access: ClusterAccess;
  readonly host: Pick<Host, "clock">;
  readonly target: Target;
  readonly feed: Feed;
  /** Of the pods that the page shows. */
  podUids(): ReadonlySet<string>;
  /** Pods of a SidecarSet; none for other kinds. */
  injectedPods(): Iterable<InjectedPod>;
  /** What else could not be read. */
  problems(): readonly string[];
}

export interface DetailRequest extends DetailsOptions {
  /** The workload as it is now. */
  readonly stored: AnyObject;
  /** Notes what a part could not read. */
  readonly reader: Reader;
}
