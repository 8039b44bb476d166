/** What the server tells of a node: what its agent is asked for, and what needs somebody there. */
import type { Need } from "./needs.ts";

export interface NodeItem {
  readonly is: "node";
  readonly name: string;
  /** Empty without one. */
  readonly zone: string;
  /** Absent where its condition is not known, as for somebody who may not read nodes. */
  readonly isReady?: boolean;
  readonly isUnschedulable: boolean;
  /** Those that the page may see, ended ones left out. */
  readonly pods: number;
  readonly agent: NodeAgent;
  /** `done`: its agent has nothing to do. */
  readonly state: Need;
  /** Code of what needs somebody first; empty when nothing does. */
  readonly reason: string;
  readonly message: string;
  /** Shows more about that; empty without one. */
  readonly command: string;
  readonly since?: number;
  /** What is failing first, then what goes on. */
  readonly work: readonly NodeWork[];
  readonly moreWork: number;
}

export interface NodeAgent {
  /** `untold`: agents do not run as pods of their DaemonSet here, or those may not be read. */
  readonly state: "ready" | "notReady" | "absent" | "untold";
  /** Tag of its image; empty where it is not known. */
  readonly version: string;
  /** When it last reported about an image; milliseconds since the epoch. */
  readonly heardAt?: number;
}

export interface NodeWork {
  readonly kind: "pull" | "recreate" | "inPlace";
  /** An image with its tag, or a pod: `default/web-1`. */
  readonly what: string;
  /** What is asked for beside that: the request's name and containers. */
  readonly detail: string;
  /** As the API names it; empty until the agent takes it up. */
  readonly phase: string;
  readonly message: string;
  /** Percentage, of a pull that goes on. */
  readonly progress?: number;
  /** Milliseconds since the epoch. */
  readonly since?: number;
}

/** Of the feed of all nodes. Keys of workloads have a slash. */
export const nodesKey = "nodes";
