import fc from "fast-check";
import t from "tap";
import type { WorkloadSpreadSubset } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { type SpreadNode, subsetOfExisting } from "./adopt.ts";

const zoned = (zone: string) => ({
  matchExpressions: [{ key: "zone", operator: "In" as const, values: [zone] }],
});
const taint = { key: "pool", value: "spot", effect: "NoSchedule" };
const toleration = { key: "pool", operator: "Exists" as const };

function node(zone: string, taints: SpreadNode["taints"] = []): SpreadNode {
  return { name: `node-${zone}`, labels: { zone }, taints };
}

function pod(spec: JsonObject = {}): JsonObject {
  const containers = [{ name: "main", image: "a" }];
  return { metadata: { name: "p", labels: { app: "web" } }, spec: { containers, ...spec } };
}

type HasRoom = (subset: WorkloadSpreadSubset) => boolean;
const always: HasRoom = () => true;
const of = (subsets: readonly WorkloadSpreadSubset[], on: SpreadNode, existing = pod(), hasRoom = always) =>
  subsetOfExisting(existing, on, subsets, hasRoom);

t.test("the node must be one of the subset's, and one without a term has all", async (t) => {
  const subsets = [
    { name: "a", requiredNodeSelector: zoned("a") },
    { name: "b", requiredNodeSelector: zoned("b") },
  ];
  t.equal(of(subsets, node("a")), "a");
  t.equal(of(subsets, node("b")), "b");
  t.equal(of(subsets, node("c")), undefined);
  t.equal(of([...subsets, { name: "rest" }], node("c")), "rest");
  const named = { matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["node-c"] }] };
  t.equal(of([{ name: "a", requiredNodeSelector: named }], node("c")), "a");
  t.equal(of([], node("a")), undefined);
});

t.test("what the pod itself requires holds, too", async (t) => {
  const required = { nodeSelectorTerms: [zoned("b"), zoned("c")] };
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
  const demanding = pod({ affinity: { nodeAffinity } });
  t.equal(of([{ name: "any" }], node("c"), demanding), "any");
  t.equal(of([{ name: "any" }], node("a"), demanding), undefined);
});

t.test("taints are tolerated by the pod or by the subset", async (t) => {
  const tainted = node("a", [taint]);
  t.equal(of([{ name: "a" }], tainted), undefined);
  t.equal(of([{ name: "a" }, { name: "b", tolerations: [toleration] }], tainted), "b");
  t.equal(of([{ name: "a" }], tainted, pod({ tolerations: [{ ...toleration }] })), "a");
  const weighing = node("a", [{ ...taint, effect: "PreferNoSchedule" }]);
  t.equal(of([{ name: "a" }], weighing), undefined, "every taint counts");
});

t.test("preferences before patches, patches before room, and the earlier of equals", async (t) => {
  const patched = { name: "patched", patch: { metadata: { labels: { app: "web" } } } };
  const other = { name: "other", patch: { metadata: { labels: { app: "db" } } } };
  t.equal(of([other, patched], node("a")), "patched");
  const preferring = (name: string, weight: number) => ({
    name,
    patch: { metadata: { labels: { app: "db" } } },
    preferredNodeSelector: [{ weight, preference: zoned("a") }],
  });
  t.equal(of([patched, preferring("near", 1)], node("a")), "near");
  t.equal(of([patched, preferring("near", 1)], node("b")), "patched");
  t.equal(of([preferring("less", 1), preferring("more", 2)], node("a")), "more");
  const hasRoom: HasRoom = ({ name }) => name === "b";
  t.equal(of([{ name: "a" }, { name: "b" }], node("a"), pod(), hasRoom), "b");
  t.equal(
    of([{ name: "a" }, other], node("a"), pod(), ({ name }) => name === "other"),
    "a",
  );
  t.equal(of([{ name: "a" }, { name: "b" }], node("a")), "a");
});

t.test(
  "annotations of a patch say nothing of the pod, and a patch that does not fit is none of its",
  async (t) => {
    const annotated = { name: "annotated", patch: { metadata: { annotations: { note: "x" } } } };
    const wrong = { name: "wrong", patch: { spec: { containers: "none" } } };
    t.equal(of([wrong, annotated], node("a")), "annotated");
    t.equal(of([wrong], node("a")), "wrong", "it fits the node all the same");
  },
);

t.test("no pod and no node makes it throw; what it names is a subset", async () => {
  const subsets: WorkloadSpreadSubset[] = [
    { name: "a", requiredNodeSelector: zoned("a"), patch: { spec: { nodeName: "x" } } },
    { name: "b", tolerations: [toleration], preferredNodeSelector: [{ weight: 5, preference: zoned("b") }] },
  ];
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom("a", "b", "c"), (spec, zone) => {
      const found = subsetOfExisting({ metadata: {}, spec }, node(zone, [taint]), subsets, always);
      return found === undefined || subsets.some(({ name }) => name === found);
    }),
    { seed: 18, numRuns: 1000 },
  );
});
