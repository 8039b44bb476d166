/** For tests: a pod as the cache holds it, of which only what a test is about has to be said. */
import type { Pod } from "../../kube/index.ts";

/** In namespace `default`, with the UID `uid-<name>`, nothing in it and nothing known of it. */
export function barePod(name: string, changes: Partial<Pod> = {}): Pod {
  return {
    namespace: "default",
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    createdAt: 0,
    deletionAt: undefined,
    labels: {},
    annotations: {},
    finalizers: [],
    fieldManagers: "none",
    controller: undefined,
    nodeName: "",
    readinessGates: [],
    containers: [],
    phase: "Pending",
    conditions: [],
    containerStatuses: [],
    podIP: "",
    ...changes,
  };
}
