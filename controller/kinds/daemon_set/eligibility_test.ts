import t from "tap";
import type { PodTemplate } from "../../../crds/index.ts";
import type { Taint } from "../../../kube/index.ts";
import { plainNode } from "../../../testkit/controller/projection_builder.ts";
import { nodeEligibility } from "./eligibility.ts";

const spec = (more: object = {}): PodTemplate["spec"] => ({ containers: [], ...more });
const taint = (effect: string, key = "k"): Taint => ({ key, value: "", effect });
const eligibility = (pod: PodTemplate["spec"], ...taints: Taint[]) =>
  nodeEligibility(pod)(plainNode("n1", { taints }));

t.test("what keeps a pod away and what drives it out", async (t) => {
  t.equal(eligibility(spec()), "run");
  t.equal(eligibility(spec(), taint("NoSchedule")), "keep");
  t.equal(eligibility(spec(), taint("NoExecute")), "none");
  t.equal(eligibility(spec(), taint("NoSchedule"), taint("NoExecute")), "none");
  t.equal(eligibility(spec(), taint("PreferNoSchedule")), "run");
  t.equal(eligibility(spec({ tolerations: [{ key: "k", operator: "Exists" }] }), taint("NoExecute")), "run");
  t.equal(eligibility(spec({ nodeSelector: { a: "b" } })), "none");
  t.equal(eligibility(spec({ nodeName: "n2" })), "none");
});

t.test("a node's own troubles are no reason to be elsewhere", async (t) => {
  const troubles: [string, string][] = [
    ["not-ready", "NoExecute"],
    ["unreachable", "NoExecute"],
    ["disk-pressure", "NoSchedule"],
    ["memory-pressure", "NoSchedule"],
    ["pid-pressure", "NoSchedule"],
    ["unschedulable", "NoSchedule"],
  ];
  for (const [key, effect] of troubles)
    t.equal(eligibility(spec(), taint(effect, `node.kubernetes.io/${key}`)), "run", key);
  const network = taint("NoSchedule", "node.kubernetes.io/network-unavailable");
  t.equal(eligibility(spec(), network), "keep");
  t.equal(eligibility(spec({ hostNetwork: true }), network), "run");
});
