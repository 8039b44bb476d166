/** For tests: pods as the watch shows them. */
import { WORKLOAD_LABEL } from "../../bench/measure/pod_board.ts";
import type { PodObject } from "../../sandbox/index.ts";

export interface PodWords {
  readonly name: string;
  readonly workload?: string;
  readonly ready?: boolean;
  /** Default `app:1`. */
  readonly image?: string;
  /** Default: the image. */
  readonly running?: string;
  readonly gateClosed?: boolean;
  readonly terminating?: boolean;
  readonly node?: string;
}

export function pod(words: PodWords): PodObject {
  const { name, workload = "w", ready = true, image = "app:1", running = image, node = "n1" } = words;
  const conditions = [
    { type: "Ready", status: ready ? "True" : "False" } as const,
    ...(words.gateClosed === true ? [{ type: "InPlaceUpdateReady", status: "False" } as const] : []),
  ];
  const state = { running: { startedAt: "2026-01-01T00:00:00Z" } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "bench",
      uid: `uid-${name}`,
      labels: { [WORKLOAD_LABEL]: workload },
      ...(words.terminating === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { nodeName: node, containers: [{ name: "main", image }] },
    status: {
      phase: "Running",
      conditions,
      containerStatuses: [
        { name: "main", image: running, imageID: "", ready, restartCount: 0, state, lastState: {} },
      ],
    },
  };
}
