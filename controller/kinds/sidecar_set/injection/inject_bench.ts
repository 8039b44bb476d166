/**
 * What SidecarSets cost the admission of one pod, by the number of sets that select it: time, and bytes that are allocated.
 *
 *     npx node --max-semi-space-size=128 controller/kinds/sidecar_set/injection/inject_bench.ts
 */
import { createJsonPatch, type JsonObject } from "../../../../kube/core/index.ts";
import { admissionRequest } from "../../../../testkit/controller/admission_builder.ts";
import { sidecarSetOfMany, wantsSidecars } from "../../../../testkit/controller/sidecar_set_builder.ts";
import { PodDraft } from "../../../runtime/admission/pod_draft.ts";
import { injectSidecars } from "./inject.ts";
import { compileSidecarSet, SidecarSetOrder } from "./matching.ts";
import { PreparedSidecars } from "./sidecars.ts";

const SETS = 20;
const ROUNDS = 2000;

const order = new SidecarSetOrder(
  Array.from({ length: SETS }, (_, index) =>
    compileSidecarSet(sidecarSetOfMany(`set-${index}`, index, {})),
  ).filter((set) => set !== undefined),
);

function podOf(wanted: string): JsonObject {
  const env = Array.from({ length: 10 }, (_, index) => ({
    name: `VARIABLE_${index}`,
    value: `value ${index}`,
  }));
  const volumeMounts = [{ name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }];
  return {
    metadata: { name: "web", labels: { app: "bench", [wantsSidecars]: wanted } },
    spec: { containers: [{ name: "main", image: "app:1", env, volumeMounts }], volumes: [{ name: "token" }] },
  };
}

const prepared = new PreparedSidecars();

function admit(pod: JsonObject): number {
  const draft = new PodDraft(admissionRequest({ object: pod }), pod);
  const sets = order.selecting("shop", draft.labels).map(({ set }) => prepared.ofSet(set));
  if (sets.length === 0) return 0;
  injectSidecars(draft.edit(), sets, { sortByName: false, now: 0 });
  return createJsonPatch(draft.original, draft.pod).length;
}

function measure(wanted: string): object {
  const pod = podOf(wanted);
  for (let round = 0; round < ROUNDS; round++) admit(pod);
  const times: number[] = [];
  const allocated: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.memoryUsage().heapUsed;
    const started = performance.now();
    admit(pod);
    times.push(performance.now() - started);
    allocated.push(process.memoryUsage().heapUsed - before);
  }
  const middle = (values: number[], share: number) =>
    values.sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
  return {
    "selected by": wanted,
    "p50 µs": Math.round(middle(times, 0.5) * 1000),
    "p99 µs": Math.round(middle(times, 0.99) * 1000),
    "allocated kB": Math.round(middle(allocated, 0.5) / 1000),
  };
}

console.table(["none", "one", "all"].map(measure));
