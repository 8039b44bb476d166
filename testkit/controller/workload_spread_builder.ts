/** For tests: a WorkloadSpread of which only what a test is about has to be said. */
import type { WorkloadSpread, WorkloadSpreadSpec } from "../../crds/index.ts";

/** `web-spread` in `default`, of CloneSet `web`; subsets `a`, `b`, ... with these caps. */
export function spreadOf(
  caps: readonly (number | string | undefined)[],
  changes: Partial<WorkloadSpreadSpec> & Pick<Partial<WorkloadSpread>, "status"> = {},
): WorkloadSpread {
  const { status, ...spec } = changes;
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "WorkloadSpread",
    metadata: {
      namespace: "default",
      name: "web-spread",
      uid: "spread-uid",
      generation: 1,
      resourceVersion: "1",
    },
    spec: {
      targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "web" },
      subsets: caps.map((maxReplicas, index) => ({
        name: subsetName(index),
        ...(maxReplicas === undefined ? {} : { maxReplicas }),
      })),
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** `a`, `b`, ... */
export function subsetName(index: number): string {
  return String.fromCharCode(97 + index);
}
