import fc from "fast-check";
import t from "tap";
import type { WorkloadSpreadSubset } from "../../../crds/index.ts";
import { cloneJson, type JsonObject } from "../../../kube/core/index.ts";
import { injectSubset, matchOf, withPatch } from "./inject.ts";

const zone = (value: string) => ({ key: "zone", operator: "In", values: [value] });
const match = { name: "ws", subset: "a" };

function inject(pod: JsonObject, subset: Partial<WorkloadSpreadSubset>): JsonObject {
  return injectSubset(pod, { name: "a", ...subset }, match);
}

t.test("a pod gets tolerations, terms, patch and annotation", async (t) => {
  const pod = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "i" }] } };
  const made = inject(pod, {
    tolerations: [{ key: "spot", operator: "Exists" }],
    requiredNodeSelector: { matchExpressions: [zone("a")] },
    preferredNodeSelector: [{ weight: 5, preference: { matchExpressions: [zone("b")] } }],
    patch: {
      metadata: { labels: { pool: "fixed" } },
      spec: { containers: [{ name: "app", env: [{ name: "POOL", value: "a" }] }] },
    },
  });
  t.strictSame(made, {
    metadata: {
      labels: { app: "web", pool: "fixed" },
      annotations: { "apps.kruise.io/matched-workloadspread": '{"name":"ws","subset":"a"}' },
    },
    spec: {
      containers: [{ name: "app", image: "i", env: [{ name: "POOL", value: "a" }] }],
      tolerations: [{ key: "spot", operator: "Exists" }],
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 5, preference: { matchExpressions: [zone("b")] } },
          ],
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [zone("a")] }],
          },
        },
      },
    },
  });
});

t.test("without any terms an empty node affinity is left", async (t) => {
  t.strictSame(inject({ spec: {} }, {})["spec"], { affinity: { nodeAffinity: {} } });
});

t.test("a required term holds together with each that is there", async (t) => {
  const terms = [
    { matchExpressions: [zone("x")] },
    { matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] },
  ];
  const pod = {
    spec: {
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
      },
    },
  };
  const made = inject(pod, { requiredNodeSelector: { matchExpressions: [zone("a")] } });
  t.match(made, {
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [zone("x"), zone("a")] },
              { matchExpressions: [zone("a")], matchFields: [{ key: "metadata.name" }] },
            ],
          },
        },
      },
    },
  });
});

t.test("the priority of another class is left to the API server", async (t) => {
  const pod = { spec: { priorityClassName: "low", priority: 1 } };
  t.strictSame(withPatch(pod, { name: "a", patch: { spec: { priorityClassName: "high" } } })["spec"], {
    priorityClassName: "high",
  });
  t.strictSame(withPatch(pod, { name: "a", patch: { metadata: { labels: { x: "y" } } } })["spec"], pod.spec);
});

t.test("a patch that does not fit is reported, and annotations are read without trust", async (t) => {
  t.throws(() => inject({ spec: {} }, { patch: { $patch: "odd" } }));
  t.strictSame(matchOf('{"name":"ws","subset":"a","uid":"u"}'), { name: "ws", subset: "a", uid: "u" });
  for (const text of [undefined, "", "null", "[]", "{", "7"])
    t.equal(matchOf(text), undefined, text ?? "none");
  t.strictSame(matchOf('{"name":1}'), { name: "", subset: "" });
});

t.test("subsets are not written to, and no pod makes the injection throw", async (t) => {
  const subset: WorkloadSpreadSubset = {
    name: "a",
    tolerations: [{ key: "spot", operator: "Exists" }],
    requiredNodeSelector: { matchExpressions: [zone("a")] },
    preferredNodeSelector: [{ weight: 5, preference: { matchExpressions: [zone("b")] } }],
    patch: { metadata: { labels: { pool: "fixed" } } },
  };
  const before = cloneJson(subset);
  const value = fc.jsonValue({ maxDepth: 3 });
  const nodeAffinity = fc.dictionary(
    fc.constantFrom(
      "requiredDuringSchedulingIgnoredDuringExecution",
      "preferredDuringSchedulingIgnoredDuringExecution",
    ),
    fc.oneof(value, fc.dictionary(fc.constant("nodeSelectorTerms"), value)),
  );
  const pod = fc.record({
    spec: fc.oneof(value, fc.record({ tolerations: value, affinity: fc.record({ nodeAffinity }) })),
  });
  const property = fc.property(pod, (pod) => {
    const made = injectSubset(JSON.parse(JSON.stringify(pod)), subset, match);
    return Object(made["metadata"]).labels.pool === "fixed";
  });
  fc.assert(property, { seed: 46, numRuns: 500 });
  t.strictSame(subset, before);
});
