/** How long things take on a simulated node. */

/** Between the two, in milliseconds. */
export interface Delay {
  readonly from: number;
  readonly to: number;
  /** Default `uniform`. `tail`: most are near `from` (the median at 6 % of the way), few come near `to`. */
  readonly shape?: "uniform" | "tail";
}

export interface Timing {
  /** Getting an image that the node does not have. */
  readonly pull: Delay;
  /** From all being there until the container runs. */
  readonly start: Delay;
  /** From running until ready, on top of a probe's initial delay. */
  readonly ready: Delay;
  /** From the stop signal until the container is gone, without its preStop hook. */
  readonly stop: Delay;
  /** From the last container's end until the pod object is removed. */
  readonly remove: Delay;
  readonly resize: Delay;
  /** The node agent's answer to a change. */
  readonly agent: Delay;
  /** A status change is held back while another one is due within this time. */
  readonly settleMs: number;
  /** Whether stopped containers are reported before their successors run; without, a restart is one write. */
  readonly showStops: boolean;
  /** First and longest wait before a container or pull that failed is tried again; it doubles in between. */
  readonly backOff: { readonly firstMs: number; readonly longestMs: number };
  /** Which events a node writes. */
  readonly events: "all" | "warnings" | "none";
  readonly heartbeat: HeartbeatTiming;
}

export interface HeartbeatTiming {
  /** Interval of a node's Lease renewal; 0 writes none, and a silent node is then noticed by its silence alone. */
  readonly leaseMs: number;
  /** Silence after which a node counts as gone. */
  readonly graceMs: number;
  /** After this, pods of a Node object that is gone are removed. */
  readonly orphanMs: number;
}

export type ProfileName = "fast" | "real" | "bench";

export const profiles: Readonly<Record<ProfileName, Timing>> = {
  /** For tests: all visible steps of a kubelet, each over in 10 to 50 ms. */
  fast: {
    pull: { from: 20, to: 50 },
    start: { from: 10, to: 30 },
    ready: { from: 5, to: 20 },
    stop: { from: 10, to: 30 },
    remove: { from: 2, to: 5 },
    resize: { from: 10, to: 30 },
    agent: { from: 10, to: 30 },
    settleMs: 40,
    showStops: true,
    backOff: { firstMs: 200, longestMs: 5_000 },
    events: "all",
    heartbeat: { leaseMs: 0, graceMs: 300, orphanMs: 500 },
  },
  /** Like a kubelet with a local registry. */
  real: {
    pull: { from: 400, to: 600 },
    start: { from: 300, to: 800 },
    ready: { from: 150, to: 250 },
    stop: { from: 50, to: 150 },
    remove: { from: 50, to: 150 },
    resize: { from: 500, to: 1_500 },
    agent: { from: 900, to: 1_100 },
    settleMs: 300,
    showStops: true,
    backOff: { firstMs: 10_000, longestMs: 300_000 },
    events: "all",
    heartbeat: { leaseMs: 10_000, graceMs: 40_000, orphanMs: 45_000 },
  },
  /** For measurements: 200 ms for whatever a kubelet does, one report each, nothing random. */
  bench: {
    pull: { from: 0, to: 0 },
    start: { from: 200, to: 200 },
    ready: { from: 0, to: 0 },
    stop: { from: 0, to: 0 },
    remove: { from: 0, to: 0 },
    resize: { from: 200, to: 200 },
    agent: { from: 200, to: 200 },
    settleMs: 250,
    showStops: false,
    backOff: { firstMs: 10_000, longestMs: 300_000 },
    events: "none",
    heartbeat: { leaseMs: 0, graceMs: 40_000, orphanMs: 45_000 },
  },
};
