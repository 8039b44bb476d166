/** Changes of claim templates while claims are resized. Spec: statefulset 6. */
import fc from "fast-check";
import t from "tap";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import type { StatefulSetSpec } from "./schema.ts";
import { type FoundStorageClass, validateClaimChange } from "./validate_claims.ts";

const classes: Readonly<Record<string, FoundStorageClass>> = {
  grows: { name: "grows", allowVolumeExpansion: true },
  fixed: { name: "fixed", allowVolumeExpansion: false },
};
const lookup = (name: string | undefined) => classes[name ?? ""];

function claim(name: string, storageClassName: string, storage: string): PersistentVolumeClaim {
  const spec = { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage } } };
  return { metadata: { name }, spec };
}

const onRollout = { volumeClaimUpdateStrategy: { type: "OnPodRollingUpdate" } };

function complaints(next: PersistentVolumeClaim[], old: PersistentVolumeClaim[]): string[] {
  const spec = (volumeClaimTemplates: PersistentVolumeClaim[]): StatefulSetSpec => ({
    selector: {},
    template: { spec: { containers: [] } },
    ...onRollout,
    volumeClaimTemplates,
  });
  return validateClaimChange(spec(next), spec(old), lookup).map(
    ({ path, detail }) =>
      `${path.replace(/\[\d+\]/, `[${next[Number(/\[(\d+)\]/.exec(path)?.[1])]?.metadata?.name}]`)}: ${detail}`,
  );
}

const template = fc.record({
  class: fc.constantFrom("grows", "fixed", "unknown"),
  size: fc.constantFrom("1Gi", "2Gi", "1024Mi"),
  nextClass: fc.constantFrom("grows", "fixed", "unknown"),
  nextSize: fc.constantFrom("1Gi", "2Gi", "1024Mi"),
});

t.test("templates are known by their names: their order decides nothing", (t) => {
  const names = ["data", "logs", "cache", "spare"];
  fc.assert(
    fc.property(
      fc.array(template, { minLength: 1, maxLength: 4 }),
      fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
      (templates, order) => {
        const old = templates.map((one, at) => claim(names[at] ?? "", one.class, one.size));
        const next = templates.map((one, at) => claim(names[at] ?? "", one.nextClass, one.nextSize));
        const moved = order.flatMap((at) => next[at] ?? []);
        t.same(complaints(moved, old).sort(), complaints(next, old).sort());
        // Written from the rule.
        const wanted = templates.filter(
          (one) =>
            one.class !== one.nextClass ||
            ((one.size === "2Gi") !== (one.nextSize === "2Gi") && one.class !== "grows"),
        );
        t.equal(complaints(moved, old).length, wanted.length);
        t.same(
          complaints(
            order.flatMap((at) => old[at] ?? []),
            old,
          ),
          [],
        );
      },
    ),
    { numRuns: 500, seed: 23 },
  );
  t.end();
});

t.test("a name that is new, and another number of templates, are refused", (t) => {
  const old = [claim("data", "grows", "1Gi"), claim("logs", "grows", "1Gi")];
  t.same(complaints([claim("data", "grows", "1Gi"), claim("more", "grows", "1Gi")], old), [
    "spec.volumeClaimTemplates[more].name: no claim template had this name: there were data, logs",
  ]);
  t.match(complaints([...old, claim("more", "grows", "1Gi")], old), [
    /number of claim templates cannot change from 2/,
  ]);
  t.end();
});
