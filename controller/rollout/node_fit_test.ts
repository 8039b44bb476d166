import fc from "fast-check";
import t from "tap";
import type { PodTemplate } from "../../crds/index.ts";
import { type FittingNode, nodeFit } from "./node_fit.ts";

const node = (more: Partial<FittingNode> = {}): FittingNode => ({
  name: "node1",
  labels: { zone: "a", cores: "8" },
  taints: [],
  ...more,
});
const spec = (more: object): PodTemplate["spec"] => ({ containers: [], ...more });
const required = (...nodeSelectorTerms: object[]) =>
  spec({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

t.test("name, selector and affinity", async (t) => {
  const matches = (pod: PodTemplate["spec"], on = node()) => nodeFit(pod).matches(on);
  t.equal(matches(spec({})), true);
  t.equal(matches(spec({ nodeName: "node1" })), true);
  t.equal(matches(spec({ nodeName: "node2" })), false);
  t.equal(matches(spec({ nodeSelector: { zone: "a" } })), true);
  t.equal(matches(spec({ nodeSelector: { zone: "b" } })), false);
  t.equal(matches(required()), false, "no term, no node");
  t.equal(matches(required({})), false, "an empty term matches nothing");
  t.equal(matches(required({}, expression("zone", "In", "a"))), true, "any term will do");
  t.equal(
    matches(required({ matchFields: [{ key: "metadata.name", operator: "In", values: ["node1"] }] })),
    true,
  );
  t.equal(
    matches(required({ matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["node1"] }] })),
    false,
  );
  const cases: [string, string, string[], boolean][] = [
    ["zone", "In", ["b", "a"], true],
    ["zone", "NotIn", ["a"], false],
    ["none", "NotIn", ["a"], true],
    ["zone", "Exists", [], true],
    ["none", "Exists", [], false],
    ["none", "DoesNotExist", [], true],
    ["cores", "Gt", ["7"], true],
    ["cores", "Gt", ["8"], false],
    ["cores", "Lt", ["9"], true],
    ["zone", "Lt", ["9"], false],
    ["zone", "Like", ["a"], false],
  ];
  for (const [key, operator, values, expected] of cases) {
    t.equal(
      matches(required(expression(key, operator, ...values))),
      expected,
      `${key} ${operator} ${values}`,
    );
  }
});

t.test("taints", async (t) => {
  const taint = { key: "k", value: "v", effect: "NoSchedule" };
  const on = node({ taints: [{ key: "p", value: "", effect: "PreferNoSchedule" }, taint] });
  const blocked = (...tolerations: object[]) =>
    nodeFit(spec({ tolerations })).untolerated(on, ["NoSchedule", "NoExecute"])?.key;
  t.equal(blocked(), "k");
  t.equal(blocked({ key: "k", operator: "Exists" }), undefined);
  t.equal(blocked({ key: "k", value: "v" }), undefined);
  t.equal(blocked({ key: "k", value: "w" }), "k");
  t.equal(blocked({ key: "k", operator: "Exists", effect: "NoExecute" }), "k");
  t.equal(blocked({ operator: "Exists" }), undefined, "everything is tolerated");
  t.equal(blocked({ operator: "Equal", value: "v" }), "k");
  t.equal(nodeFit(spec({})).untolerated(on, ["NoExecute"]), undefined);
});

t.test("property: In and NotIn, Exists and DoesNotExist are each other's opposite", async (t) => {
  const values = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 });
  const labels = fc.dictionary(fc.constantFrom("zone", "disk"), fc.constantFrom("a", "b", "c"));
  fc.assert(
    fc.property(labels, values, (labels, values) => {
      const asks = (operator: string, ...list: string[]) =>
        nodeFit(required(expression("zone", operator, ...list))).matches(node({ labels }));
      return asks("In", ...values) !== asks("NotIn", ...values) && asks("Exists") !== asks("DoesNotExist");
    }),
    { seed: 29, numRuns: 200 },
  );
  t.pass("for all labels");
});
