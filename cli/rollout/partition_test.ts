import fc from "fast-check";
import t from "tap";
import type { IntOrString } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";
import {
  cloneSetPartition,
  daemonSetPartition,
  keeping,
  promoted,
  sidecarSetPartition,
  statefulSetPartition,
} from "./partition.ts";

const rolling = (partition: IntOrString) => ({ updateStrategy: { rollingUpdate: { partition } } });
const object = (spec: object, status: object = {}): AnyObject =>
  toAnyObject({ apiVersion: "apps.kruise.io/v1beta1", metadata: { name: "web" }, spec, status });

/** How each kind says what part of `pods` stays behind. */
const kinds = {
  CloneSet: [
    cloneSetPartition,
    (value: IntOrString, pods: number) => object({ replicas: pods, ...rolling(value) }),
  ],
  StatefulSet: [
    statefulSetPartition,
    (value: IntOrString, pods: number) => object({ replicas: pods, ...rolling(value) }),
  ],
  DaemonSet: [
    daemonSetPartition,
    (value: IntOrString, pods: number) => object(rolling(value), { desiredNumberScheduled: pods }),
  ],
  SidecarSet: [
    sidecarSetPartition,
    (value: IntOrString, pods: number) =>
      object({ updateStrategy: { partition: value } }, { matchedPods: pods }),
  ],
} as const;

const amount: fc.Arbitrary<IntOrString> = fc.oneof(
  fc.nat(30),
  fc.nat(100).map((percent) => `${percent}%`),
);

for (const [kind, [partitionOf, made]] of Object.entries(kinds))
  t.test(`${kind}: a promotion keeps no more pods back, and is refused only where it would`, (t) => {
    const kept = (value: IntOrString, pods: number) => partitionOf(made(value, pods)).kept;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), amount, amount, (pods, before, to) => {
        const [partition] = keeping(partitionOf(made(before, pods)));
        if (partition === undefined) return true;
        const next = promotedOrError(() => promoted(partition, { by: "to", amount: to }));
        if (next instanceof CliError) return kept(to, pods) >= partition.kept;
        return kept(next, pods) <= partition.kept;
      }),
      { numRuns: 2_000 },
    );
    t.end();
  });

function promotedOrError<T>(work: () => T): T | CliError {
  try {
    return work();
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
}
