import fc from "fast-check";
import t from "tap";
import {
  daemonTolerations,
  type LabeledNode,
  matchesNode,
  type NodeDemand,
  type NodeSelectorTerm,
  type Taint,
  type Toleration,
  tolerates,
  untoleratedTaint,
} from "./scheduling.ts";

const seed = 29;
const node: LabeledNode = { name: "node1", labels: { zone: "a", cores: "8" } };
const required = (...nodeSelectorTerms: NodeSelectorTerm[]): NodeDemand => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const expression = (key: string, operator: string, ...values: string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key, operator, values }],
});
const named = (operator: string): NodeSelectorTerm => ({
  matchFields: [{ key: "metadata.name", operator, values: ["node1"] }],
});

t.test("name, selector and affinity", async (t) => {
  const matches = (demand: NodeDemand) => matchesNode(demand, node);
  t.equal(matches({}), true);
  t.equal(matches({ nodeName: "node1" }), true);
  t.equal(matches({ nodeName: "node2" }), false);
  t.equal(matches({ nodeSelector: { zone: "a" } }), true);
  t.equal(matches({ nodeSelector: { zone: "b" } }), false);
  t.equal(matches(required()), false, "no term, no node");
  t.equal(matches(required({})), false, "an empty term matches nothing");
  t.equal(matches(required({}, expression("zone", "In", "a"))), true, "any term will do");
  t.equal(matches(required(named("In"))), true);
  t.equal(matches(required(named("NotIn"))), false);
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
    ["cores", "Lt", ["9", "10"], false],
    ["cores", "Lt", ["9.5"], false],
    ["zone", "Lt", ["9"], false],
    ["zone", "Like", ["a"], false],
  ];
  for (const [key, operator, values, expected] of cases) {
    const text = `${key} ${operator} ${values}`;
    t.equal(matches(required(expression(key, operator, ...values))), expected, text);
  }
});

t.test("property: In and NotIn, Exists and DoesNotExist are each other's opposite", async (t) => {
  const values = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 });
  const labels = fc.dictionary(fc.constantFrom("zone", "disk"), fc.constantFrom("a", "b", "c"));
  fc.assert(
    fc.property(labels, values, (labels, values) => {
      const asks = (operator: string, ...list: string[]) =>
        matchesNode(required(expression("zone", operator, ...list)), { name: "node1", labels });
      return asks("In", ...values) !== asks("NotIn", ...values) && asks("Exists") !== asks("DoesNotExist");
    }),
    { seed, numRuns: 200 },
  );
  t.pass("for all labels");
});

t.test("property: Gt and Lt order all integers of 64 bits, and nothing else", async (t) => {
  const asks = (value: string, operator: string, bound: string): boolean =>
    matchesNode(required(expression("n", operator, bound)), { name: "node1", labels: { n: value } });
  const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  fc.assert(
    fc.property(integer, integer, (value, bound) => {
      t.equal(asks(`${value}`, "Gt", `${bound}`), value > bound);
      t.equal(asks(`${value}`, "Lt", `${bound}`), value < bound);
    }),
    { seed, numRuns: 200 },
  );
  const noInteger = fc.oneof(
    fc.constantFrom("", " 1", "1.5", "0x10", "1e3", "--1"),
    fc.bigInt({ min: 2n ** 63n, max: 2n ** 70n }).map(String),
    fc.string(),
  );
  fc.assert(
    fc.property(
      noInteger.filter((text) => !/^[+-]?\d{1,18}$/.test(text)),
      fc.constantFrom("Gt", "Lt"),
      (text, operator) => !asks(text, operator, "5") && !asks("5", operator, text),
    ),
    { seed, numRuns: 200 },
  );
});

t.test("taints", async (t) => {
  const taint: Taint = { key: "k", value: "v", effect: "NoSchedule" };
  const taints: Taint[] = [{ key: "p", effect: "PreferNoSchedule" }, taint];
  const blocked = (...tolerations: Toleration[]) => untoleratedTaint(taints, tolerations)?.key;
  t.equal(blocked(), "k");
  t.equal(blocked({ key: "k", operator: "Exists" }), undefined);
  t.equal(blocked({ key: "k", value: "v" }), undefined);
  t.equal(blocked({ key: "k", value: "w" }), "k");
  t.equal(blocked({ key: "k", operator: "Exists", effect: "NoExecute" }), "k");
  t.equal(blocked({ operator: "Exists" }), undefined, "everything is tolerated");
  t.equal(blocked({ operator: "Equal", value: "v" }), "k");
  t.equal(blocked({ key: "k", operator: "Like", value: "v" }), "k");
  t.equal(untoleratedTaint(taints, undefined, ["NoExecute"]), undefined);
});

t.test(
  "property: a toleration says yes to its own taint, and to fewer taints the more it names",
  async (t) => {
    const word = fc.constantFrom("", "a", "b");
    const taint = fc.record({
      key: fc.constantFrom("a", "b"),
      value: word,
      effect: fc.constantFrom("x", "y"),
    });
    fc.assert(
      fc.property(taint, taint, word, (one, other, effect) => {
        t.ok(tolerates({ ...one, operator: "Equal" }, one));
        const equal = tolerates({ ...one, operator: "Equal", effect }, other);
        const exists = tolerates({ key: one.key, operator: "Exists", effect }, other);
        const any = tolerates({ operator: "Exists", effect }, other);
        t.ok((!equal || exists) && (!exists || any) && (!any || tolerates({ operator: "Exists" }, other)));
      }),
      { seed, numRuns: 300 },
    );
  },
);

t.test("tolerations of a daemon's template stay, those that are added are there once", async (t) => {
  const own = { key: "own", operator: "Exists" };
  const key = "node.kubernetes.io/not-ready";
  const same = { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
  const tolerations = daemonTolerations({ tolerations: [own, same] });
  t.equal(tolerations.length, 7);
  t.strictSame(tolerations[0], own);
  t.notOk(
    tolerations.some((one) => one.tolerationSeconds !== undefined),
    "no time limit is left",
  );
  t.equal(daemonTolerations({ hostNetwork: true }).length, 7);
});
