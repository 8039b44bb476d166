/** An API server over memory, in one process: for tests, benches and trying things out. */
export type { Cluster, ClusterChange, StoredObject } from "./cluster.ts";
export type {
  FaultEffect,
  FaultMatch,
  FaultRule,
  Faults,
  FaultTarget,
  OpenWatch,
  StoredWrite,
} from "./faults.ts";
export { seededRandom } from "./random.ts";
export { type Sandbox, type SandboxOptions, startSandbox } from "./start.ts";
