/** What a suite of an installation's life is, and what it is given. */
import type { HollowNodesFixture } from "../../testkit/bench/hollow_nodes_fixture.ts";
import type { Suite } from "../cases/suite.ts";
import type { World } from "../cases/world.ts";
import type { TestCluster } from "../cluster/cluster.ts";

export interface Life {
  /** Where pods of the suites run. */
  readonly nodes: HollowNodesFixture;
  /** Entry of a later build. */
  readonly newerProgram: string;
  readonly cluster: TestCluster;
  /** Release of the API server that l04 upgrades from, `1.33.13`; undefined: the present one, emulating the version before. */
  readonly formerServer: string | undefined;
  /** Release of cert-manager that l03 runs, `1.21.2`; undefined: a stand-in. */
  readonly certManager: string | undefined;
  /**
   * Runs acceptance cases, in one version each, against the controller that runs in the cluster: these, unless the command
   * line names others. Cases that start controllers or switch gates on are skipped.
   */
  readonly runCases: (numbers: readonly string[]) => Promise<void>;
  /** Prints a figure of the run. */
  readonly print: (line: string) => void;
}

export interface LifeSuite extends Omit<Suite, "run"> {
  run(world: World, life: Life): Promise<void>;
}
