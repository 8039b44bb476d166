/** What a case suite is, and what it may ask for. */
import type { ApiVersion } from "./step_result.ts";
import type { World } from "./world.ts";

/**
 * `own-controller`: the suite starts and ends controllers itself and must run alone.
 * `real-node`: containers must really run. `agent`: the node agent must run on the nodes. `own-agents`: the suite kills
 * agents and breaks what they depend on; it must also need `own-controller`.
 */
export type Need = "own-controller" | "real-node" | "agent" | "own-agents";

export interface Suite {
  /** Number of the acceptance case; suites for scenarios of the reference carry a letter and the scenario's number. */
  readonly number: string;
  readonly title: string;
  readonly needs: readonly Need[];
  /** Feature gates of the controller, as its `--feature-gates` takes them; absent: compiled defaults. */
  readonly gates?: string;
  /**
   * How fast simulated nodes are; default: each step takes 10 to 50 ms. Like real ones where the suite tells what was done
   * together from what waited: writes of one plan must then be over before the first pod that they concern is ready again.
   */
  readonly pace?: "real";
  /** The suite runs once per version; its world's `version` says which. Default: both. */
  readonly versions?: readonly ApiVersion[];
  run(world: World): Promise<void>;
}
